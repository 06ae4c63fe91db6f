/** Handlers of /order. Source: docs/contract/rest-trading.md#order-endpoints. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { DeadMansSwitch } from "../../services/trading/DeadMansSwitch.ts"
import { HistoryQueries } from "../../services/read-model/HistoryQueries.ts"
import { Orders } from "../../services/trading/Orders.ts"
import { RateLimiter } from "../../services/operations/RateLimiter.ts"
import { Api } from "../api/Api.ts"
import { CurrentCaller } from "../api/Security.ts"
import type { AmendOrderBody, CancelOrderBody, CreateOrderBody } from "../api/OrderBodies.ts"
import { named } from "../ErrorMapping.ts"
import * as Batches from "./Batches.ts"
import { joined } from "./PreEncodedList.ts"

/** Handlers of the commands on one order. HttpApi and the fast path share them. */
export const commands = (orders: Orders["Service"]) => ({
  create: ({ payload }: { readonly payload: CreateOrderBody }) =>
    Effect.flatMap(CurrentCaller, (caller) => named(orders.create(caller, payload))),
  amend: ({ payload }: { readonly payload: AmendOrderBody }) =>
    Effect.flatMap(CurrentCaller, (caller) => named(orders.amend(caller, payload))),
  cancel: ({ payload }: { readonly payload: CancelOrderBody }) =>
    Effect.flatMap(CurrentCaller, (caller) => named(orders.cancel(caller, payload)))
})

export const layer = HttpApiBuilder.group(
  Api,
  "order",
  Effect.fnUntraced(function* (handlers) {
    const deadMan = yield* DeadMansSwitch
    const limiter = yield* RateLimiter
    const lists = yield* HistoryQueries
    const orders = yield* Orders
    return handlers.handleAll({
      ...commands(orders),
      cancelAll: ({ payload }) =>
        Effect.flatMap(CurrentCaller, (caller) => named(orders.cancelAll(caller, payload))).pipe(
          Effect.map((list) => ({ list }))
        ),
      createBatch: ({ payload }) => Batches.answer(limiter, "requests", payload.orders, orders.createBatch),
      cancelBatch: ({ payload }) => Batches.answer(limiter, "cancels", payload.orders, orders.cancelBatch),
      switches: () =>
        Effect.flatMap(CurrentCaller, (caller) => named(deadMan.list(caller))).pipe(Effect.map((list) => ({ list }))),
      setSwitch: ({ payload }) => Effect.flatMap(CurrentCaller, (caller) => named(deadMan.set(caller, payload))),
      realtime: ({ query }) =>
        Effect.flatMap(CurrentCaller, (caller) => named(lists.openOrders(caller, query))).pipe(Effect.map(joined)),
      history: ({ query }) =>
        Effect.flatMap(CurrentCaller, (caller) => named(lists.orders(caller, query))).pipe(Effect.map(joined))
    })
  })
)
