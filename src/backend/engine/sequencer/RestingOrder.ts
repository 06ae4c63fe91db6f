/** Orders in the book: adding, reducing and removing them, with the margin that they reserve. */
import { OrderCause } from "../../../proto/gateway/v1/sequencer.ts"
import { CancelType, OrderStatus, RejectReason, Side } from "../../../proto/gateway/v1/types.ts"
import * as Accounts from "../accounts/Accounts.ts"
import type { StepContext } from "../events/StepContext.ts"
import { isPoolPosition } from "../state/MarketPosition.ts"
import { retainClosedOrder } from "../state/Retention.ts"
import type { MarketPosition, Order } from "../state/State.ts"
import * as TriggerQueues from "../state/TriggerQueues.ts"
import * as OrderEvents from "./OrderEvents.ts"

/** Adds an order to the book and to the account's open orders. */
export const addToBook = (ctx: StepContext, order: Order): void => {
  const { holding } = order
  holding.market.book.add(order.slot, order.side, order.ticks, order.leaves)
  order.resting = true
  ctx.changedMarkets.add(holding.market)
  if (order.reduceOnly) {
    Accounts.countReduceOnly(holding, order.side, order.leaves)
    ctx.changedPositions.add(holding)
  }
  holding.orders.set(order.number, order)
}

/** Removes an order from the book; it stays open. */
export const removeFromBook = (ctx: StepContext, order: Order): void => {
  if (!order.resting) return
  if (order.reduceOnly) Accounts.countReduceOnly(order.holding, order.side, -order.leaves)
  order.holding.market.book.remove(order.slot)
  order.resting = false
  ctx.changedMarkets.add(order.holding.market)
}

/**
 * Reduces the quantity of a resting order, which keeps its priority. The caller releases the margin of an opening
 * order.
 */
export const reduceQuantity = (ctx: StepContext, order: Order, lots: number): void => {
  const { holding } = order
  holding.market.book.reduce(order.slot, lots)
  ctx.changedMarkets.add(holding.market)
  if (order.reduceOnly) Accounts.countReduceOnly(holding, order.side, -lots)
  order.lots -= lots
  order.leaves -= lots
}

/** Removes a closed order from the state; its final status is retained. */
export const dropOrder = (ctx: StepContext, order: Order): void => {
  ctx.state.orders.drop(order)
  order.holding.orders.delete(order.number)
  if (order.expireMs !== undefined) TriggerQueues.dequeueExpiry(ctx.state, order)
  if (isPoolPosition(order.holding)) return
  retainClosedOrder(ctx.state, order)
}

/** Removes an order from the book and releases its margin. */
export const release = (ctx: StepContext, order: Order): void => {
  if (!order.reduceOnly) Accounts.reserveOrder(order.holding, order.side, order.ticks, -order.leaves)
  removeFromBook(ctx, order)
}

/** Cancels an order. The caller emits its event. */
export const cancel = (
  ctx: StepContext,
  order: Order,
  cancelType: CancelType,
  reason: RejectReason = RejectReason.REJECT_REASON_EC_NO_ERROR,
  message?: string
): void => {
  release(ctx, order)
  order.leaves = 0
  order.status =
    order.filled > 0 ? OrderStatus.ORDER_STATUS_PARTIALLY_FILLED_CANCELED : OrderStatus.ORDER_STATUS_CANCELED
  order.cancelType = cancelType
  order.rejectReason = reason
  order.rejectMessage = message
  order.updatedMs = ctx.at
  dropOrder(ctx, order)
}

/**
 * Reduces or cancels reduce-only orders that would close more than the position, newest first. Source:
 * docs/contract/exchange.md#reduce-only-trimming.
 */
export const trimReduceOnly = (ctx: StepContext, holding: MarketPosition): void => {
  for (const side of [Side.SIDE_BUY, Side.SIDE_SELL] as const) {
    const resting = side === Side.SIDE_BUY ? holding.reduceBuyLots : holding.reduceSellLots
    let excess = resting - Accounts.closableLots(holding.lots, side)
    if (excess <= 0) continue
    const newestFirst = [...holding.orders.values()]
      .filter((order) => order.reduceOnly && order.side === side)
      .reverse()
    const ended: Array<Order> = []
    for (const order of newestFirst) {
      if (excess <= 0) break
      if (order.leaves <= excess) {
        excess -= order.leaves
        cancel(ctx, order, CancelType.CANCEL_TYPE_CANCEL_BY_REDUCE_ONLY)
        ended.push(order)
      } else {
        reduceQuantity(ctx, order, excess)
        excess = 0
        order.updatedMs = ctx.at
        OrderEvents.emitOrder(ctx, order, OrderCause.ORDER_CAUSE_AMENDED)
      }
    }
    OrderEvents.emitCanceled(ctx, ended)
  }
}
