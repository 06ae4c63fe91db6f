/** Handlers of /authorize. Source: contract 3.2. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { parseAddress, rootOfParty } from "../../domain/Address.ts"
import { parseParty } from "../../domain/Identity.ts"
import { tightest } from "../../domain/RateHeaders.ts"
import { Accounts } from "../../services/Accounts.ts"
import { Authenticator } from "../../services/Authenticator.ts"
import { RateLimiter } from "../../services/RateLimiter.ts"
import { Refused } from "../../services/Refused.ts"
import { Api } from "../api/Api.ts"
import { CurrentCaller } from "../api/Security.ts"
import { limited, named } from "../Refusals.ts"
import { CurrentRequest } from "../RequestState.ts"
import { internal, ofReason } from "../WireError.ts"

/** A wallet by address, canonical or short, or by party id. */
const rootOf = (text: string): Effect.Effect<string, Refused> => {
  const root = text.includes("::")
    ? parseParty(text) === undefined
      ? undefined
      : rootOfParty(text)
    : parseAddress(text)
  return root === undefined ? Effect.fail(new Refused("InvalidField", { field: "root_address" })) : Effect.succeed(root)
}

export const layer = HttpApiBuilder.group(
  Api,
  "authorize",
  Effect.fnUntraced(function* (handlers) {
    const accounts = yield* Accounts
    const authenticator = yield* Authenticator
    const limiter = yield* RateLimiter

    const whitelisting = (text: string, write: (root: string) => ReturnType<typeof accounts.setWhitelisted>) =>
      Effect.flatMap(rootOf(text), (root_address) =>
        Effect.andThen(
          write(root_address),
          Effect.map(accounts.isWhitelisted(root_address), (whitelisted) => ({ root_address, whitelisted }))
        )
      )

    return handlers.handleAll({
      // authorize knows 200, 400, 429 and 500 only: a failed check is 400, a lost store or backend 500
      login: ({ payload }) =>
        Effect.flatMap(CurrentRequest, (state) =>
          authenticator.login({ ...payload, verifying_key: payload.verifying_key }, state.clientIp).pipe(
            Effect.catchTags({
              AuthRefused: ({ reason, facts }) =>
                Effect.fail(ofReason(reason, facts, { code: "BAD_REQUEST" }) as never),
              AuthLimited: ({ decision }) => Effect.fail(limited(state, decision) as never),
              AuthUnavailable: (error) =>
                Effect.andThen(Effect.logError("login failed", error), Effect.fail(internal as never))
            }),
            Effect.tap(() =>
              Effect.map(limiter.peek("authorize-ip", state.clientIp), (rate) => {
                state.rate = tightest([state.rate, rate])
              })
            )
          )
        ),
      logout: () =>
        Effect.flatMap(CurrentCaller, (caller) => authenticator.logout(caller)).pipe(
          Effect.as({ revoked: true as const }),
          named
        ),
      whitelist: ({ params }) =>
        named(whitelisting(params.root_address, (root) => accounts.setWhitelisted(root, true))),
      whitelisting: ({ params }) => named(whitelisting(params.root_address, () => Effect.void)),
      unwhitelist: ({ params }) =>
        named(whitelisting(params.root_address, (root) => accounts.setWhitelisted(root, false)))
    })
  })
)
