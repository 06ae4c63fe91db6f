/** Handlers of /authorize. Source: contract 3.2. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Admission } from "../../services/Admission.ts"
import { Authenticator } from "../../services/Authenticator.ts"
import { Api } from "../api/Api.ts"
import { CurrentCaller } from "../api/Security.ts"
import { limited, named } from "../Refusals.ts"
import { CurrentRequest } from "../RequestState.ts"
import { internal, ofReason } from "../WireError.ts"
import { rootOf } from "./Wallet.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "authorize",
  Effect.fnUntraced(function* (handlers) {
    const admission = yield* Admission
    const authenticator = yield* Authenticator

    const whitelisting = (text: string, write: (root: string) => ReturnType<typeof admission.setWhitelisted>) =>
      Effect.flatMap(rootOf(text), (root_address) =>
        Effect.andThen(
          write(root_address),
          Effect.map(admission.isWhitelisted(root_address), (whitelisted) => ({ root_address, whitelisted }))
        )
      )

    return handlers.handleAll({
      // authorize knows 200, 400, 429 and 500 only: a failed check is 400, a lost store or backend 500
      login: ({ payload }) =>
        Effect.flatMap(CurrentRequest, (state) =>
          authenticator.login({ ...payload, verifying_key: payload.verifying_key }).pipe(
            Effect.catchTags({
              AuthRefused: ({ reason, facts, text }) =>
                Effect.fail(
                  ofReason(reason, facts, {
                    code: "BAD_REQUEST",
                    ...(text === undefined ? {} : { message: text })
                  }) as never
                ),
              AuthLimited: ({ decision }) => Effect.fail(limited(state, decision) as never),
              AuthUnavailable: (error) =>
                Effect.andThen(
                  Effect.annotateLogs(Effect.logError("login failed", error), "request_id", state.id),
                  Effect.fail(internal as never)
                )
            })
          )
        ),
      logout: () =>
        Effect.flatMap(CurrentCaller, (caller) => authenticator.logout(caller)).pipe(
          Effect.as({ revoked: true as const }),
          named
        ),
      whitelist: ({ params }) =>
        named(whitelisting(params.root_address, (root) => admission.setWhitelisted(root, true))),
      whitelisting: ({ params }) => named(whitelisting(params.root_address, () => Effect.void)),
      unwhitelist: ({ params }) =>
        named(whitelisting(params.root_address, (root) => admission.setWhitelisted(root, false)))
    })
  })
)
