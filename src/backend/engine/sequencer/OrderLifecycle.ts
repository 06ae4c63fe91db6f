/**
 * The lifecycle of an order: checks, matching, rest in the book or cancellation; before it the wait for a trigger,
 * after it the expiry.
 */
import { OrderCause } from "../../../proto/gateway/v1/sequencer.ts"
import {
  CancelType,
  OrderStatus,
  OrderType,
  RejectReason,
  Side,
  StopOrderType,
  TimeInForce,
  TriggerDirection
} from "../../../proto/gateway/v1/types.ts"
import * as Accounts from "../accounts/Accounts.ts"
import type { StepContext } from "../events/StepContext.ts"
import type { Slices } from "../state/Slices.ts"
import type { MarketState, Order, Trigger } from "../state/State.ts"
import * as TriggerQueues from "../state/TriggerQueues.ts"
import * as FillOrKill from "./FillOrKill.ts"
import * as Matching from "./Matching.ts"
import * as OrderEvents from "./OrderEvents.ts"
import { checkOrder, triggerMetRejection, mayRest, openOrderLimit, type OrderRejection } from "./PreTradeChecks.ts"
import * as RestingOrder from "./RestingOrder.ts"
import * as TakeProfitStopLoss from "./TakeProfitStopLoss.ts"

/** Adds the remainder of a matched order to the book or cancels it, and emits the canceled orders. */
export const restOrCancel = (ctx: StepContext, order: Order, ended: Array<Order>): void => {
  const open =
    order.status === OrderStatus.ORDER_STATUS_NEW || order.status === OrderStatus.ORDER_STATUS_PARTIALLY_FILLED
  if (open && mayRest(order)) RestingOrder.addToBook(ctx, order)
  else if (open) {
    const none = order.filled === 0
    RestingOrder.cancel(
      ctx,
      order,
      CancelType.CANCEL_TYPE_CANCEL_BY_TIME_IN_FORCE,
      none ? RejectReason.REJECT_REASON_EC_NO_IMMEDIATE_QTY_TO_FILL : RejectReason.REJECT_REASON_EC_NO_ERROR,
      none ? "nothing could be filled at once" : undefined
    )
    ended.push(order)
  }
  OrderEvents.emitCanceled(ctx, ended)
}

const reject = (ctx: StepContext, order: Order, refused: OrderRejection): void => {
  order.status = OrderStatus.ORDER_STATUS_REJECTED
  order.leaves = 0
  order.rejectReason = refused.reason
  order.rejectMessage = refused.message
  RestingOrder.dropOrder(ctx, order)
  OrderEvents.emitOrder(ctx, order, OrderCause.ORDER_CAUSE_REJECTED)
}

/** Runs the checks of an order and matches it. The order has its number; every outcome is an event. */
export const processOrder = (ctx: StepContext, order: Order): void => {
  const refused = checkOrder(ctx, order)
  if (refused !== undefined) return reject(ctx, order, refused)
  if (order.expireMs !== undefined && order.announcedStatus === OrderStatus.ORDER_STATUS_UNSPECIFIED)
    TriggerQueues.enqueueExpiry(ctx.state, order)
  OrderEvents.emitOrder(ctx, order, OrderCause.ORDER_CAUSE_ACCEPTED)
  if (order.timeInForce === TimeInForce.TIME_IN_FORCE_FOK) {
    const refusal = FillOrKill.checkFillOrKill(ctx, order)
    if (refusal !== undefined) {
      RestingOrder.cancel(ctx, order, refusal.cancelType, refusal.reason, refusal.message)
      OrderEvents.emitCanceled(ctx, [order])
      return
    }
  }
  const ended = Matching.match(ctx, order)
  restOrCancel(ctx, order, ended)
  if (order.resting && order.filled === 0) OrderEvents.noteMarginChange(ctx, order)
}

/** The trigger of a conditional order. Without a direction, the current reference price decides it. */
const triggerOf = (market: MarketState, { by, direction, ticks }: Trigger): Trigger => {
  if (direction !== TriggerDirection.TRIGGER_DIRECTION_UNSPECIFIED) return { by, direction, ticks }
  return {
    by,
    ticks,
    direction:
      ticks < TriggerQueues.reference(market, by)
        ? TriggerDirection.TRIGGER_DIRECTION_DOWN
        : TriggerDirection.TRIGGER_DIRECTION_UP
  }
}

/** Accepts a new conditional order, or rejects it. It reserves no margin. */
export const acceptConditional = (ctx: StepContext, order: Order): void => {
  const { market, conditional } = order.holding
  const most = market.market.max_conditional_orders
  const waiting = [...conditional.values()].filter(({ stopType }) => stopType === StopOrderType.STOP_ORDER_TYPE_STOP)
  order.trigger = triggerOf(market, order.trigger!)
  if (TriggerQueues.isMet(market, order.trigger)) return reject(ctx, order, triggerMetRejection)
  if (waiting.length >= most)
    return reject(ctx, order, {
      reason: RejectReason.REJECT_REASON_EC_REACH_MAX_ORDER_NUM,
      message: `at most ${most} conditional orders may wait`
    })
  const tooMany = openOrderLimit(ctx.state, order)
  if (tooMany !== undefined) return reject(ctx, order, tooMany)
  if (order.expireMs !== undefined) TriggerQueues.enqueueExpiry(ctx.state, order)
  TakeProfitStopLoss.addConditional(ctx, order)
}

/**
 * Activates a conditional order whose trigger price is reached, in its own step. Source:
 * docs/contract/orders.md#transitions-on-a-trigger, docs/contract/exchange.md#trigger-order.
 */
export const triggerOrder = (ctx: StepContext, order: Order): void => {
  const { holding, side } = order
  const { market } = holding
  TakeProfitStopLoss.removeConditional(ctx, order)
  order.status = OrderStatus.ORDER_STATUS_TRIGGERED
  order.updatedMs = ctx.at
  OrderEvents.emitOrder(ctx, order, OrderCause.ORDER_CAUSE_TRIGGERED)
  TakeProfitStopLoss.endSibling(ctx, order)
  // a reduce-only order reserves no margin, so that missing margin cannot block it
  if (order.closeOnTrigger) order.reduceOnly = true
  if (order.lots === 0) order.lots = Accounts.closableLots(holding.lots, side)
  order.leaves = order.lots
  if (order.type === OrderType.ORDER_TYPE_MARKET)
    order.ticks = side === Side.SIDE_BUY ? market.bandBuyTicks : market.bandSellTicks
  order.status = OrderStatus.ORDER_STATUS_NEW
  processOrder(ctx, order)
}

/** Expires GTT orders. */
export const expireOrders = function* (ctx: StepContext): Slices {
  while (true) {
    const order = TriggerQueues.nextExpired(ctx.state, ctx.at)
    if (order === undefined) return
    yield
    if (order.status === OrderStatus.ORDER_STATUS_UNTRIGGERED) TakeProfitStopLoss.removeConditional(ctx, order)
    else {
      RestingOrder.release(ctx, order)
      OrderEvents.noteMarginChange(ctx, order)
    }
    order.leaves = 0
    order.status = OrderStatus.ORDER_STATUS_EXPIRED
    order.cancelType = CancelType.CANCEL_TYPE_CANCEL_BY_EXPIRY
    order.rejectReason = RejectReason.REJECT_REASON_EC_NO_ERROR
    order.rejectMessage = undefined
    order.updatedMs = ctx.at
    RestingOrder.dropOrder(ctx, order)
    OrderEvents.emitOrder(ctx, order, OrderCause.ORDER_CAUSE_EXPIRED)
  }
}
