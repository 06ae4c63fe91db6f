/**
 * Who waits: conditional orders for their price, GTT orders for their end. Sorted arrays whose last element is the next,
 * derived from the orders and kept beside them.
 */
import { TriggerBy, TriggerDirection } from "../../../proto/gateway/v1/types.ts"
import type { MarketState, State } from "../State.ts"
import type { Order, Trigger } from "./Order.ts"

const REFERENCES = 3
const DIRECTIONS = 2
/** Queues of a market: one a reference price and direction. */
export const TRIGGER_QUEUES = REFERENCES * DIRECTIONS

const isUp = (trigger: Trigger): boolean => trigger.direction === TriggerDirection.TRIGGER_DIRECTION_UP

/** Unspecified means the last price. */
export const triggerBy = (by: TriggerBy): TriggerBy =>
  by === TriggerBy.TRIGGER_BY_INDEX_PRICE || by === TriggerBy.TRIGGER_BY_MARK_PRICE
    ? by
    : TriggerBy.TRIGGER_BY_LAST_PRICE

/** A reference price in ticks; before the first trade the mark stands for the last price. */
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

/** Index of the first element that `order` does not come behind; `key` falls towards the end. */
const place = (queue: ReadonlyArray<Order>, order: Order, key: (order: Order) => number): number => {
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

/** Lets an order wait for its trigger. */
export const join = (order: Order): void => {
  const queue = queueOf(order)
  queue.splice(place(queue, order, triggerKey), 0, order)
}

/** Takes an order out, if it is in. */
const remove = (queue: Array<Order>, order: Order, key: (order: Order) => number): boolean => {
  const index = place(queue, order, key)
  if (queue[index] !== order) return false
  queue.splice(index, 1)
  return true
}

const acceptance = ({ number }: Order): number => number

/** Takes an order out that waits for its trigger, or for its firing. */
export const leave = (state: State, order: Order): void => {
  if (!remove(queueOf(order), order, triggerKey) && !remove(state.met, order, acceptance))
    throw new Error(`order ${order.id} does not wait`)
}

/**
 * Decides, at the end of a step, which orders it has met: they fire, wherever the references go until their turn.
 * Source: docs/contract/exchange.md#trigger-order.
 */
export const decideMet = (state: State): void => {
  for (const market of state.markets)
    for (const queue of market.triggers)
      while (queue.length > 0 && isMet(market, queue.at(-1)!.trigger!)) {
        const order = queue.pop()!
        state.met.splice(place(state.met, order, acceptance), 0, order)
      }
}

/** Of the orders that are met, the one accepted first. */
export const nextMet = (state: State): Order | undefined => state.met.at(-1)

const expiryKey = ({ expireMs }: Order): number => expireMs!

/** Lets an order end at its time. */
export const awaitExpiry = (state: State, order: Order): void => {
  state.expiries.splice(place(state.expiries, order, expiryKey), 0, order)
}

/** Takes a closed order out, if it was in. */
export const forgetExpiry = (state: State, order: Order): void => {
  remove(state.expiries, order, expiryKey)
}

/** The next order whose time is over. */
export const nextExpired = (state: State, at: number): Order | undefined => {
  const order = state.expiries.at(-1)
  return order !== undefined && order.expireMs! <= at ? order : undefined
}
