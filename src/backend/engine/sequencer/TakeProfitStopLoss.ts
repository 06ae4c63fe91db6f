/**
 * Orders that wait, and the exits among them: take-profit and stop-loss legs, in pairs of which one ends the other.
 *
 * An exit of mode Full closes the whole position and has its size; a position has one pair of them. An exit of mode Partial
 * closes what its order opened. Exits end with their position.
 * Source: docs/contract/orders.md#take-profit-and-stop-loss.
 */
import { OrderCause } from "../../../proto/gateway/v1/sequencer.ts"
import {
  CancelType,
  CreateType,
  OrderStatus,
  OrderType,
  RejectReason,
  Side,
  StopOrderType,
  TimeInForce,
  TpslMode,
  TriggerDirection
} from "../../../proto/gateway/v1/types.ts"
import * as Accounts from "../referee/Accounts.ts"
import { emitPosition } from "../referee/PositionEvents.ts"
import type { MarketPosition } from "../State.ts"
import type { StepContext } from "../StepContext.ts"
import { type Kind, KINDS } from "./TpslLegs.ts"
import * as Matching from "./Matching.ts"
import { newOrder } from "./NewOrder.ts"
import type { Leg, Order, Tpsl } from "./Order.ts"
import * as TriggerQueues from "./TriggerQueues.ts"

const { TPSL_MODE_FULL: FULL, TPSL_MODE_PARTIAL: PARTIAL } = TpslMode
export const CLEAR = CancelType.CANCEL_TYPE_CANCEL_BY_TP_SL_TS_CLEAR

export const stopType = (mode: TpslMode, kind: Kind): StopOrderType =>
  kind === "takeProfit"
    ? mode === PARTIAL
      ? StopOrderType.STOP_ORDER_TYPE_PARTIAL_TAKE_PROFIT
      : StopOrderType.STOP_ORDER_TYPE_TAKE_PROFIT
    : mode === PARTIAL
      ? StopOrderType.STOP_ORDER_TYPE_PARTIAL_STOP_LOSS
      : StopOrderType.STOP_ORDER_TYPE_STOP_LOSS

const CREATED_BY: Readonly<Record<number, CreateType>> = {
  [StopOrderType.STOP_ORDER_TYPE_TAKE_PROFIT]: CreateType.CREATE_TYPE_CREATE_BY_TAKE_PROFIT,
  [StopOrderType.STOP_ORDER_TYPE_PARTIAL_TAKE_PROFIT]: CreateType.CREATE_TYPE_CREATE_BY_PARTIAL_TAKE_PROFIT,
  [StopOrderType.STOP_ORDER_TYPE_STOP_LOSS]: CreateType.CREATE_TYPE_CREATE_BY_STOP_LOSS,
  [StopOrderType.STOP_ORDER_TYPE_PARTIAL_STOP_LOSS]: CreateType.CREATE_TYPE_CREATE_BY_PARTIAL_STOP_LOSS
}

/** Whether an order is an exit rather than a conditional order of its own. */
export const isExit = ({ stopType }: Order): boolean =>
  stopType !== StopOrderType.STOP_ORDER_TYPE_UNSPECIFIED && stopType !== StopOrderType.STOP_ORDER_TYPE_STOP

const isTakeProfit = ({ stopType }: Order): boolean =>
  stopType === StopOrderType.STOP_ORDER_TYPE_TAKE_PROFIT ||
  stopType === StopOrderType.STOP_ORDER_TYPE_PARTIAL_TAKE_PROFIT

/** Lets an order wait for its trigger, and tells of it. */
export const wait = (turn: StepContext, order: Order): void => {
  order.status = OrderStatus.ORDER_STATUS_UNTRIGGERED
  order.holding.conditional.set(order.number, order)
  TriggerQueues.join(order)
  Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_ACCEPTED)
  if (isExit(order)) turn.exits.add(order.holding)
}

/** Takes an order out of the queues of those that wait; it stays open. */
export const stopWaiting = (turn: StepContext, order: Order): void => {
  TriggerQueues.leave(turn.state, order)
  order.holding.conditional.delete(order.number)
  if (isExit(order)) turn.exits.add(order.holding)
}

/** Ends an order that waits. */
export const deactivate = (turn: StepContext, order: Order, type: CancelType): void => {
  stopWaiting(turn, order)
  order.leaves = 0
  order.status = OrderStatus.ORDER_STATUS_DEACTIVATED
  order.cancelType = type
  order.rejectReason = RejectReason.REJECT_REASON_EC_NO_ERROR
  order.rejectMessage = undefined
  order.updatedMs = turn.at
  Matching.forget(turn, order)
  Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_CANCELED)
}

/** One exit of a pair has triggered: the other ends. */
export const endSibling = (turn: StepContext, order: Order): void => {
  const { sibling } = order
  if (sibling === undefined || !turn.state.orders.has(sibling)) return
  deactivate(
    turn,
    sibling,
    isTakeProfit(order)
      ? CancelType.CANCEL_TYPE_CANCEL_BY_OCO_SL_CANCELED_BY_TP_TRIGGERED
      : CancelType.CANCEL_TYPE_CANCEL_BY_OCO_TP_CANCELED_BY_SL_TRIGGERED
  )
}

const closingSide = (holding: MarketPosition): Side => (holding.lots > 0 ? Side.SIDE_SELL : Side.SIDE_BUY)

export const exitsOf = (holding: MarketPosition, chosen: (order: Order) => boolean = () => true): Array<Order> =>
  [...holding.conditional.values()].filter((order) => isExit(order) && chosen(order))

/** Exits of mode Full have the size of their position. */
const sizeOf = (holding: MarketPosition): number => Math.abs(holding.lots)

/** Makes one exit; the caller lets it wait. */
export const create = (
  turn: StepContext,
  holding: MarketPosition,
  mode: TpslMode,
  kind: Kind,
  leg: Leg,
  lots: number,
  parent: string | undefined
): Order => {
  const side = closingSide(holding)
  const { market } = holding
  const type = stopType(mode, kind)
  const up = (kind === "takeProfit") === (side === Side.SIDE_SELL)
  return newOrder(turn, holding, {
    side,
    type: OrderType.ORDER_TYPE_MARKET,
    timeInForce: TimeInForce.TIME_IN_FORCE_IOC,
    ticks: side === Side.SIDE_BUY ? market.bandBuyTicks : market.bandSellTicks,
    lots: mode === FULL ? sizeOf(holding) : lots,
    reduceOnly: true,
    closeOnTrigger: true,
    stopType: type,
    createType: CREATED_BY[type]!,
    parent,
    trigger: {
      ...leg,
      direction: up ? TriggerDirection.TRIGGER_DIRECTION_UP : TriggerDirection.TRIGGER_DIRECTION_DOWN
    }
  })
}

export const pair = (orders: ReadonlyArray<Order>): void => {
  const [one, other] = orders
  if (one !== undefined) one.sibling = other
  if (other !== undefined) other.sibling = one!
}

/** Whether an exit closes the whole position. */
export const isFull = ({ stopType }: Order): boolean =>
  stopType === StopOrderType.STOP_ORDER_TYPE_TAKE_PROFIT || stopType === StopOrderType.STOP_ORDER_TYPE_STOP_LOSS

const createPair = (
  turn: StepContext,
  holding: MarketPosition,
  tpsl: Tpsl,
  lots: number,
  parent: string | undefined
): void => {
  const made = KINDS.flatMap((kind) => {
    const leg = tpsl[kind]
    return leg === undefined ? [] : [create(turn, holding, tpsl.mode, kind, leg, lots, parent)]
  })
  pair(made)
  for (const order of made) wait(turn, order)
}

/** Changes the quantity of an exit that waits. */
const resize = (turn: StepContext, exit: Order, lots: number): void => {
  exit.lots = lots
  exit.leaves = lots
  exit.updatedMs = turn.at
  Matching.emitOrder(turn, exit, OrderCause.ORDER_CAUSE_AMENDED)
}

/** Attaches an order's exits to what its fills have opened since they were attached last. */
const attach = (turn: StepContext, order: Order): void => {
  const { holding, tpsl } = order
  if (tpsl === undefined) return
  const fresh = order.opened - order.attached
  const first = order.attached === 0
  order.attached = order.opened
  // what was opened may be closed again by the end of the step
  if (fresh === 0 || holding.lots === 0 || closingSide(holding) === order.side) return
  if (tpsl.mode === FULL) {
    if (!first) return
    for (const older of exitsOf(holding, isFull)) deactivate(turn, older, CLEAR)
    return createPair(turn, holding, tpsl, 0, order.id)
  }
  const living = exitsOf(holding, ({ parent }) => parent === order.id)
  if (living.length === 0) return createPair(turn, holding, tpsl, fresh, order.id)
  for (const exit of living) resize(turn, exit, exit.lots + fresh)
}

/** Gives an order other exits: those that it has attached are replaced, and what none guarded yet is guarded. */
export const replaceOf = (turn: StepContext, order: Order, tpsl: Tpsl | undefined): void => {
  let guarded = 0
  for (const exit of exitsOf(order.holding, ({ parent }) => parent === order.id)) {
    guarded = isFull(exit) ? order.opened : exit.lots
    deactivate(turn, exit, CLEAR)
  }
  // exits that ended by themselves are not set again for what they guarded
  if (order.attached > 0) order.opened = guarded + order.opened - order.attached
  order.attached = 0
  order.tpsl = tpsl
  if (tpsl !== undefined && order.opened > 0) turn.attach.add(order)
}

/** Ends the exits of a position that is gone. Its orders begin anew with what they open next. */
const endWithPosition = (turn: StepContext, holding: MarketPosition): void => {
  const stays = (opens: Side) => holding.lots !== 0 && opens !== closingSide(holding)
  if (holding.conditional.size > 0)
    for (const exit of exitsOf(holding, ({ side }) => !stays(Matching.opposite(side)))) deactivate(turn, exit, CLEAR)
  for (const order of holding.orders.values())
    if (!stays(order.side)) {
      order.opened = 0
      order.attached = 0
    }
}

/** Ends the exits of positions that are gone, attaches those of new fills, and brings whole ones to their position's size. */
export const settle = (turn: StepContext): void => {
  for (const holding of turn.ended) endWithPosition(turn, holding)
  turn.ended.clear()
  for (const order of turn.attach) attach(turn, order)
  turn.attach.clear()
  for (const holding of turn.holdings) {
    if (holding.conditional.size === 0) continue
    for (const exit of exitsOf(holding, isFull)) if (exit.lots !== sizeOf(holding)) resize(turn, exit, sizeOf(holding))
  }
}

/** Tells the positions whose exits changed. */
export const announce = (turn: StepContext): void => {
  for (const holding of turn.exits) emitPosition(turn, holding, Accounts.lazyTotals(holding.account))
}
