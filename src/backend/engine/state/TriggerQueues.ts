/**
 * Queues of conditional orders by trigger price, of triggered orders by acceptance, and of GTT orders by expiry. Equal
 * keys are in the order of acceptance. All are derived from the orders.
 */
import { OrderStatus, TriggerBy, TriggerDirection } from "../../../proto/gateway/v1/types.ts"
import type { Heap } from "./Heap.ts"
import type { Slices } from "./Slices.ts"
import type { MarketState, State, Order, Trigger } from "./State.ts"

const REFERENCES = 3
const DIRECTIONS = 2
/** Queues of a market: one for each reference price and direction. */
export const TRIGGER_QUEUES = REFERENCES * DIRECTIONS

const isUp = (trigger: Trigger): boolean => trigger.direction === TriggerDirection.TRIGGER_DIRECTION_UP

/** Resolves the reference price: unspecified means the last price. */
export const triggerBy = (by: TriggerBy): TriggerBy =>
  by === TriggerBy.TRIGGER_BY_INDEX_PRICE || by === TriggerBy.TRIGGER_BY_MARK_PRICE
    ? by
    : TriggerBy.TRIGGER_BY_LAST_PRICE

/** A reference price in ticks. Before the first trade the mark replaces the last price. */
export const reference = (market: MarketState, by: TriggerBy): number =>
  by === TriggerBy.TRIGGER_BY_INDEX_PRICE
    ? market.indexTicks
    : by === TriggerBy.TRIGGER_BY_MARK_PRICE
      ? market.markTicks
      : (market.lastTicks ?? market.markTicks)

export const isMet = (market: MarketState, trigger: Trigger): boolean => {
  const price = reference(market, trigger.by)
  return isUp(trigger) ? price >= trigger.ticks : price <= trigger.ticks
}

const queueOf = (order: Order): Heap<Order> => {
  const { by, direction } = order.trigger!
  return order.holding.market.triggers[
    (by - TriggerBy.TRIGGER_BY_LAST_PRICE) * DIRECTIONS + (direction - TriggerDirection.TRIGGER_DIRECTION_UP)
  ]!
}

/** Adds an order to the queue of its trigger: the trigger that the price reaches first is first. */
export const enqueue = (order: Order): void => {
  const { ticks } = order.trigger!
  queueOf(order).set(order, isUp(order.trigger!) ? ticks : -ticks, order.number)
}

/** Removes an order from its trigger queue, or from the triggered orders. */
export const dequeue = (state: State, order: Order): void => {
  if (!queueOf(order).remove(order) && !state.met.remove(order)) throw new Error(`order ${order.id} is not queued`)
}

/**
 * Moves the orders whose trigger price is reached at the end of a step to the triggered orders. They activate even if
 * the reference price moves back. Source: docs/contract/exchange.md#trigger-order.
 */
export const collectTriggered = function* (state: State): Slices {
  for (const market of state.markets)
    for (const queue of market.triggers)
      for (let next = queue.first(); next !== undefined && isMet(market, next.trigger!); next = queue.first()) {
        yield
        queue.remove(next)
        state.met.set(next, next.number)
      }
}

/** The triggered order that was accepted first. */
export const nextTriggered = (state: State): Order | undefined => state.met.first()

/** Adds a GTT order to the expiry queue. */
export const enqueueExpiry = (state: State, order: Order): void => {
  state.expiries.set(order, order.expireMs!, order.number)
}

/** Removes a closed order from the expiry queue, if present. */
export const dequeueExpiry = (state: State, order: Order): void => {
  state.expiries.remove(order)
}

/** The next expired order. */
export const nextExpired = (state: State, at: number): Order | undefined =>
  (state.expiries.firstKey() ?? Infinity) <= at ? state.expiries.first() : undefined

/** Queues an open order of a state between two inputs, when no order is triggered. */
export const restore = (state: State, order: Order): void => {
  if (order.status === OrderStatus.ORDER_STATUS_UNTRIGGERED) enqueue(order)
  if (order.expireMs !== undefined) enqueueExpiry(state, order)
}
