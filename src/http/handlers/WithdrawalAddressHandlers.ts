/**
 * Handlers of /account/withdrawal-addresses. Source: docs/contract/rest-account.md,
 * docs/contract/conventions.md#addresses.
 */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { WithdrawalAddresses } from "../../services/trading/WithdrawalAddresses.ts"
import { Api } from "../api/Api.ts"
import { CurrentCaller } from "../api/Security.ts"
import { named } from "../ErrorMapping.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "withdrawal_address",
  Effect.fnUntraced(function* (handlers) {
    const addresses = yield* WithdrawalAddresses
    return handlers.handleAll({
      addresses: () => Effect.flatMap(CurrentCaller, (caller) => named(addresses.rules(caller))),
      add: ({ payload }) => Effect.flatMap(CurrentCaller, (caller) => named(addresses.add(caller, payload))),
      restrict: ({ payload }) =>
        Effect.flatMap(CurrentCaller, (caller) => named(addresses.restrict(caller, payload.only_listed))),
      remove: ({ params }) =>
        Effect.flatMap(CurrentCaller, (caller) =>
          Effect.map(named(addresses.remove(caller, params.destination)), (destination) => ({
            destination,
            deleted: true as const
          }))
        )
    })
  })
)
