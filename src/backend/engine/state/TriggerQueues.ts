/**
 * Queues of conditional orders by trigger price, and of GTT orders by expiry. Each is a sorted array whose last element
 * is the next; derived from the orders.
 */
import { TriggerBy, TriggerDirection } from "../../../proto/gateway/v1/types.ts"
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

const queueOf = (order: Order): Array<Order> => {
  const { by, direction } = order.trigger!
  return order.holding.market.triggers[
    (by - TriggerBy.TRIGGER_BY_LAST_PRICE) * DIRECTIONS + (direction - TriggerDirection.TRIGGER_DIRECTION_UP)
  ]!
}

/** Binary search for the insertion index of `order`; `key` descends towards the end, ties by order number. */
const insertionIndex = (queue: ReadonlyArray<Order>, order: Order, key: (order: Order) => number): number => {
  const own = key(order)
  let low = 0
  let high = queue.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const other = queue[middle]!
    const others = key(other)
    if (others > own || (others === own && other.number > order.number)) low = middle + 1
    else high = middle
  }
  return low
}

const triggerKey = ({ trigger }: Order): number => (isUp(trigger!) ? trigger!.ticks : -trigger!.ticks)

/** Adds an order to the queue of its trigger. */
export const enqueue = (order: Order): void => {
  const queue = queueOf(order)
  queue.splice(insertionIndex(queue, order, triggerKey), 0, order)
}

/** Removes an order from a queue, if present. */
const remove = (queue: Array<Order>, order: Order, key: (order: Order) => number): boolean => {
  const index = insertionIndex(queue, order, key)
  if (queue[index] !== order) return false
  queue.splice(index, 1)
  return true
}

const acceptance = ({ number }: Order): number => number

/** Removes an order from its trigger queue, or from the triggered orders. */
export const dequeue = (state: State, order: Order): void => {
  if (!remove(queueOf(order), order, triggerKey) && !remove(state.met, order, acceptance))
    throw new Error(`order ${order.id} is not queued`)
}

/**
 * Moves the orders whose trigger price is reached at the end of a step to the triggered orders. They activate even if
 * the reference price moves back. Source: docs/contract/exchange.md#trigger-order.
 */
export const collectTriggered = (state: State): void => {
  for (const market of state.markets)
    for (const queue of market.triggers)
      while (queue.length > 0 && isMet(market, queue.at(-1)!.trigger!)) {
        const order = queue.pop()!
        state.met.splice(insertionIndex(state.met, order, acceptance), 0, order)
      }
}

/** The triggered order that was accepted first. */
export const nextTriggered = (state: State): Order | undefined => state.met.at(-1)

const expiryKey = ({ expireMs }: Order): number => expireMs!

/** Adds a GTT order to the expiry queue. */
export const enqueueExpiry = (state: State, order: Order): void => {
  state.expiries.splice(insertionIndex(state.expiries, order, expiryKey), 0, order)
}

/** Removes a closed order from the expiry queue, if present. */
export const dequeueExpiry = (state: State, order: Order): void => {
  remove(state.expiries, order, expiryKey)
}

/** The next expired order. */
export const nextExpired = (state: State, at: number): Order | undefined => {
  const order = state.expiries.at(-1)
  return order !== undefined && order.expireMs! <= at ? order : undefined
}
