/**
 * Batches of orders: how many requests they count as, and the result of each order.
 * Source: docs/contract/rest-trading.md#batches.
 */
import { Effect, Result } from "effect"
import type { Caller } from "../../domain/User.ts"
import type { BatchOutcome } from "../../services/trading/Orders.ts"
import { type Counted, type RateLimiter, slotsOf } from "../../services/operations/RateLimiter.ts"
import { CurrentCaller } from "../api/Security.ts"
import { limited, refusalOf } from "../ErrorMapping.ts"
import { CurrentRequest, type RequestState } from "../RequestState.ts"

/** So many orders of a batch count as one request. */
const ORDERS_PER_REQUEST = 5

interface Named {
  readonly order_link_id?: string
}

/** The result of each order, in the order of the request. A refused order keeps the `order_link_id` of its request. */
const resultsOf = (orders: ReadonlyArray<Named>, outcome: BatchOutcome, state: RequestState) => ({
  list: outcome.map((result, i) => {
    if (Result.isSuccess(result)) return { code: "OK", message: "", ...result.success }
    const { code, details, message } = refusalOf(result.failure, state, (field) =>
      state.valueOf(`orders.${i}.${field}`)
    )
    const { order_link_id = "" } = orders[i]!
    return {
      code,
      message,
      order_link_id,
      ...(details === undefined ? {} : { details })
    }
  })
})

/** Counts the batch beyond the one request that the checks have counted, runs it, and returns the result of each order. */
export const answer = <A extends Named>(
  limiter: typeof RateLimiter.Service,
  counts: Counted,
  orders: ReadonlyArray<A>,
  run: (caller: Caller, orders: ReadonlyArray<A>) => Effect.Effect<BatchOutcome>
) =>
  Effect.gen(function* () {
    const caller = yield* CurrentCaller
    const state = yield* CurrentRequest
    const more = Math.ceil(orders.length / ORDERS_PER_REQUEST) - 1
    if (more > 0) {
      const rate = yield* limiter.takeAll(slotsOf(caller, counts), more)
      if (rate !== undefined) {
        state.rate = rate
        if (!rate.allowed) return yield* Effect.fail(limited(state, rate))
      }
    }
    const outcome = yield* run(caller, orders)
    const fault = outcome.find((result) => Result.isFailure(result) && result.failure._tag === "SequencerFault")
    if (fault !== undefined) yield* Effect.logError("backend fault", fault)
    return resultsOf(orders, outcome, state)
  })
