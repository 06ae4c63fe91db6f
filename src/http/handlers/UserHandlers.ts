/** Handlers of /user. Source: docs/contract/rest-user.md. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Accounts } from "../../services/identity/Accounts.ts"
import type { ApiKeyChange } from "../../services/identity/ApiKeyRules.ts"
import { ApiKeys } from "../../services/identity/ApiKeys.ts"
import { AuthRefused } from "../../services/identity/AuthErrors.ts"
import { PortfolioQueries } from "../../services/read-model/PortfolioQueries.ts"
import { SubAccounts } from "../../services/identity/SubAccounts.ts"
import { Api } from "../api/Api.ts"
import { CurrentCaller } from "../api/Security.ts"
import type { ChangeApiKeyBody } from "../api/UserApi.ts"
import { named, refusalOf } from "../ErrorMapping.ts"
import { CurrentRequest } from "../RequestState.ts"
import { asBadRequest } from "../WireError.ts"
import * as PortfolioJson from "./PortfolioJson.ts"

const changeOf = (body: ChangeApiKeyBody): ApiKeyChange => ({
  label: body.label,
  scopes: body.scopes,
  sub_account_addresses: body.sub_account_addresses,
  ip_allowlist: body.ip_allowlist,
  expires_time: body.expires_time,
  require_body_hash: body.require_body_hash
})

// the user of a good credential is on record; a database restored from an older copy may have lost it
const unknownUser = new AuthRefused({ reason: "InvalidToken", details: {} })

export const layer = HttpApiBuilder.group(
  Api,
  "user",
  Effect.fnUntraced(function* (handlers) {
    const accounts = yield* Accounts
    const apiKeys = yield* ApiKeys
    const holdings = yield* PortfolioQueries
    const subAccounts = yield* SubAccounts

    const me = Effect.gen(function* () {
      const caller = yield* CurrentCaller
      const user = yield* accounts.user(caller.user_id)
      if (user === undefined) return yield* unknownUser
      const { party_id, ...known } = user
      return {
        ...known,
        ...(party_id === undefined ? {} : { party_id }),
        whitelisted: yield* accounts.isWhitelisted(user.root_address),
        scopes: [...caller.scopes]
      }
    })

    return handlers.handleAll({
      me: () => named(me),
      portfolio: () =>
        Effect.flatMap(CurrentCaller, (caller) =>
          Effect.map(named(holdings.portfolio(caller)), (portfolio) =>
            HttpServerResponse.text(PortfolioJson.encode(portfolio, caller.root_address), {
              contentType: "application/json"
            })
          )
        ),
      subAccounts: () =>
        Effect.flatMap(CurrentCaller, (caller) => named(subAccounts.list(caller))).pipe(
          Effect.map((list) => ({ list }))
        ),
      createSubAccount: ({ payload }) =>
        Effect.flatMap(CurrentCaller, (caller) => named(subAccounts.create(caller, payload.label))),
      changeSubAccount: ({ params, payload }) =>
        Effect.flatMap(CurrentCaller, (caller) =>
          named(subAccounts.change(caller, params.sub_account_address, payload))
        ),
      deleteSubAccount: ({ params: { sub_account_address } }) =>
        Effect.flatMap(CurrentCaller, (caller) => named(subAccounts.remove(caller, sub_account_address))).pipe(
          Effect.as({ sub_account_address, deleted: true as const })
        ),
      apiKeys: () =>
        Effect.flatMap(CurrentCaller, (caller) => named(apiKeys.list(caller.user_id))).pipe(
          Effect.map((list) => ({ list }))
        ),
      createApiKey: ({ payload }) =>
        Effect.flatMap(CurrentCaller, (caller) =>
          Effect.flatMap(CurrentRequest, (state) =>
            apiKeys
              .create(caller.user_id, { ...changeOf(payload), public_key: payload.public_key, scopes: payload.scopes })
              .pipe(
                Effect.mapError((failure) =>
                  // a bad key in a registration is a bad field, not a bad credential
                  failure._tag === "ApiKeyRefused" && failure.reason === "InvalidPublicKey"
                    ? asBadRequest(refusalOf(failure, state))
                    : refusalOf(failure, state)
                )
              )
          )
        ),
      changeApiKey: ({ params, payload }) =>
        Effect.flatMap(CurrentCaller, (caller) =>
          named(apiKeys.update(caller.user_id, params.api_key_id, changeOf(payload)))
        ),
      revokeApiKey: ({ params: { api_key_id } }) =>
        Effect.flatMap(CurrentCaller, (caller) => named(apiKeys.revoke(caller.user_id, api_key_id))).pipe(
          Effect.as({ api_key_id, revoked: true as const })
        )
    })
  })
)
