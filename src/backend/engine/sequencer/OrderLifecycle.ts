/** The course of an order: through its checks into the book, or to its end; waiting for its trigger before, expiring after. */
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
import * as Accounts from "../referee/Accounts.ts"
import type { MarketState } from "../State.ts"
import type { StepContext } from "../StepContext.ts"
import * as Matching from "./Matching.ts"
import * as TakeProfitStopLoss from "./TakeProfitStopLoss.ts"
import type { Order, Trigger } from "./Order.ts"
import * as TriggerQueues from "./TriggerQueues.ts"
import { admit, alreadyMet, mayRest, noRoom, type OrderRejection } from "./PreTradeChecks.ts"

/** The rest of a matched order: into the book, or to its end. Announces what ended. */
export const conclude = (turn: StepContext, order: Order, ended: Array<Order>): void => {
  const open =
    order.status === OrderStatus.ORDER_STATUS_NEW || order.status === OrderStatus.ORDER_STATUS_PARTIALLY_FILLED
  if (open && mayRest(order)) Matching.rest(turn, order)
  else if (open) {
    const none = order.filled === 0
    Matching.cancel(
      turn,
      order,
      CancelType.CANCEL_TYPE_CANCEL_BY_TIME_IN_FORCE,
      none ? RejectReason.REJECT_REASON_EC_NO_IMMEDIATE_QTY_TO_FILL : RejectReason.REJECT_REASON_EC_NO_ERROR,
      none ? "nothing could be filled at once" : undefined
    )
    ended.push(order)
  }
  Matching.emitCanceled(turn, ended)
}

const reject = (turn: StepContext, order: Order, refused: OrderRejection): void => {
  order.status = OrderStatus.ORDER_STATUS_REJECTED
  order.leaves = 0
  order.rejectReason = refused.reason
  order.rejectMessage = refused.message
  Matching.forget(turn, order)
  Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_REJECTED)
}

/** Runs an order through its checks and the book. It has its number; whatever happens is an event. */
export const run = (turn: StepContext, order: Order): void => {
  const refused = admit(turn, order)
  if (refused !== undefined) return reject(turn, order, refused)
  if (order.expireMs !== undefined && order.told === OrderStatus.ORDER_STATUS_UNSPECIFIED)
    TriggerQueues.awaitExpiry(turn.state, order)
  Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_ACCEPTED)
  if (order.timeInForce === TimeInForce.TIME_IN_FORCE_FOK) {
    const refusal = Matching.judgeWhole(turn, order)
    if (refusal !== undefined) {
      Matching.cancel(turn, order, refusal.cancelType, refusal.reason, refusal.message)
      Matching.emitCanceled(turn, [order])
      return
    }
  }
  const ended = Matching.match(turn, order)
  conclude(turn, order, ended)
  if (order.resting && order.filled === 0) Matching.touchMargins(turn, order)
}

/** What a conditional order waits for, its direction derived from the reference of now where none is given. */
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

/** Lets a new conditional order wait, or rejects it. It binds nothing. */
export const wait = (turn: StepContext, order: Order): void => {
  const { market, conditional } = order.holding
  const most = market.market.max_conditional_orders
  const waiting = [...conditional.values()].filter(({ stopType }) => stopType === StopOrderType.STOP_ORDER_TYPE_STOP)
  order.trigger = triggerOf(market, order.trigger!)
  if (TriggerQueues.isMet(market, order.trigger)) return reject(turn, order, alreadyMet)
  if (waiting.length >= most)
    return reject(turn, order, {
      reason: RejectReason.REJECT_REASON_EC_REACH_MAX_ORDER_NUM,
      message: `at most ${most} conditional orders may wait`
    })
  const crowded = noRoom(turn.state, order)
  if (crowded !== undefined) return reject(turn, order, crowded)
  if (order.expireMs !== undefined) TriggerQueues.awaitExpiry(turn.state, order)
  TakeProfitStopLoss.wait(turn, order)
}

/**
 * A trigger price is met: the order becomes one like others, in a step of its own.
 * Source: docs/contract/orders.md#transitions-on-a-trigger, docs/contract/exchange.md#trigger-order.
 */
export const fire = (turn: StepContext, order: Order): void => {
  const { holding, side } = order
  const { market } = holding
  TakeProfitStopLoss.stopWaiting(turn, order)
  order.status = OrderStatus.ORDER_STATUS_TRIGGERED
  order.updatedMs = turn.at
  Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_TRIGGERED)
  TakeProfitStopLoss.endSibling(turn, order)
  // it binds no margin then, so that margin cannot block it
  if (order.closeOnTrigger) order.reduceOnly = true
  if (order.lots === 0) order.lots = Accounts.closable(holding.lots, side)
  order.leaves = order.lots
  if (order.type === OrderType.ORDER_TYPE_MARKET)
    order.ticks = side === Side.SIDE_BUY ? market.bandBuyTicks : market.bandSellTicks
  order.status = OrderStatus.ORDER_STATUS_NEW
  run(turn, order)
}

/** Ends the orders whose time is over. */
export const expire = (turn: StepContext): void => {
  while (true) {
    const order = TriggerQueues.nextExpired(turn.state, turn.at)
    if (order === undefined) return
    if (order.status === OrderStatus.ORDER_STATUS_UNTRIGGERED) TakeProfitStopLoss.stopWaiting(turn, order)
    else {
      Matching.release(turn, order)
      Matching.touchMargins(turn, order)
    }
    order.leaves = 0
    order.status = OrderStatus.ORDER_STATUS_EXPIRED
    order.cancelType = CancelType.CANCEL_TYPE_CANCEL_BY_EXPIRY
    order.rejectReason = RejectReason.REJECT_REASON_EC_NO_ERROR
    order.rejectMessage = undefined
    order.updatedMs = turn.at
    Matching.forget(turn, order)
    Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_EXPIRED)
  }
}
