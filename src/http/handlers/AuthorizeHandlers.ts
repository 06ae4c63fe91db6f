/** Handlers of /authorize. Source: docs/contract/rest-access.md. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { LaunchAccess } from "../../services/identity/LaunchAccess.ts"
import { Authenticator } from "../../services/identity/Authenticator.ts"
import { Api } from "../api/Api.ts"
import { CurrentCaller } from "../api/Security.ts"
import { limited, named, refusalOf } from "../ErrorMapping.ts"
import { CurrentRequest } from "../RequestState.ts"
import { asBadRequest, internal } from "../WireError.ts"
import { auditing } from "./Audited.ts"
import { rootOf } from "./Wallet.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "authorize",
  Effect.fnUntraced(function* (handlers) {
    const admission = yield* LaunchAccess
    const audited = yield* auditing
    const authenticator = yield* Authenticator

    const whitelistedOf = (root_address: string) =>
      Effect.map(admission.isWhitelisted(root_address), (whitelisted) => ({ root_address, whitelisted }))
    const whitelist = (action: string, text: string, whitelisted: boolean) =>
      Effect.flatMap(rootOf(text), (root_address) => {
        const before = Effect.map(admission.isWhitelisted(root_address), (was) => ({ whitelisted: was }))
        const effect = Effect.andThen(admission.setWhitelisted(root_address, whitelisted), whitelistedOf(root_address))
        return audited(
          action,
          root_address
        )({
          before,
          effect,
          after: (now) => ({ whitelisted: now.whitelisted })
        })
      })

    return handlers.handleAll({
      // authorize answers 200, 400, 429 or 500 only: a failed check is 400, a lost store or backend 500
      login: ({ payload }) =>
        Effect.flatMap(CurrentRequest, (state) =>
          authenticator.login({ ...payload, verifying_key: payload.verifying_key }).pipe(
            Effect.catchTags({
              AuthRefused: (refused) => Effect.fail(asBadRequest(refusalOf(refused, state))),
              AuthLimited: ({ rate }) => Effect.fail(limited(state, rate)),
              AuthUnavailable: (error) =>
                Effect.andThen(
                  Effect.annotateLogs(Effect.logError("login failed", error), "request_id", state.id),
                  Effect.fail(internal)
                )
            })
          )
        ),
      logout: () =>
        Effect.flatMap(CurrentCaller, (caller) => authenticator.logout(caller)).pipe(
          Effect.as({ revoked: true as const }),
          named
        ),
      whitelist: ({ params }) => named(whitelist("whitelistWallet", params.root_address, true)),
      whitelisting: ({ params }) => named(Effect.flatMap(rootOf(params.root_address), whitelistedOf)),
      unwhitelist: ({ params }) => named(whitelist("unwhitelistWallet", params.root_address, false))
    })
  })
)
