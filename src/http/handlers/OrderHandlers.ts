/** Handlers of /order. Source: contract 3.4. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Lists } from "../../services/Lists.ts"
import { Orders } from "../../services/Orders.ts"
import { Api } from "../api/Api.ts"
import { CurrentCaller } from "../api/Security.ts"
import { named } from "../Refusals.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "order",
  Effect.fnUntraced(function* (handlers) {
    const lists = yield* Lists
    const orders = yield* Orders
    return handlers.handleAll({
      create: ({ payload }) => Effect.flatMap(CurrentCaller, (caller) => named(orders.create(caller, payload))),
      amend: ({ payload }) => Effect.flatMap(CurrentCaller, (caller) => named(orders.amend(caller, payload))),
      cancel: ({ payload }) => Effect.flatMap(CurrentCaller, (caller) => named(orders.cancel(caller, payload))),
      cancelAll: ({ payload }) =>
        Effect.flatMap(CurrentCaller, (caller) => named(orders.cancelAll(caller, payload))).pipe(
          Effect.map((list) => ({ list }))
        ),
      realtime: ({ query }) => Effect.flatMap(CurrentCaller, (caller) => named(lists.openOrders(caller, query))),
      history: ({ query }) => Effect.flatMap(CurrentCaller, (caller) => named(lists.orders(caller, query)))
    })
  })
)
