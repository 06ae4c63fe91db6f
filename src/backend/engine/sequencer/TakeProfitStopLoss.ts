/**
 * Conditional orders, and the take-profit and stop-loss orders ("exits") among them. Exits form pairs in which the
 * trigger of one cancels the other.
 *
 * An exit of mode Full closes the whole position and has its size; a position has one pair of them. An exit of mode
 * Partial closes the lots that its order opened. Exits end with their position. Source:
 * docs/contract/orders.md#take-profit-and-stop-loss.
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
import * as Accounts from "../accounts/Accounts.ts"
import { emitPosition } from "../events/PositionEvents.ts"
import type { StepContext } from "../events/StepContext.ts"
import type { MarketPosition, Leg, Order, Tpsl } from "../state/State.ts"
import * as TriggerQueues from "../state/TriggerQueues.ts"
import { newOrder } from "./NewOrder.ts"
import * as OrderEvents from "./OrderEvents.ts"
import * as RestingOrder from "./RestingOrder.ts"
import { type Kind, KINDS } from "./TpslLegs.ts"

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

/** Whether an order is a take-profit or stop-loss rather than an independent conditional order. */
export const isExit = ({ stopType }: Order): boolean =>
  stopType !== StopOrderType.STOP_ORDER_TYPE_UNSPECIFIED && stopType !== StopOrderType.STOP_ORDER_TYPE_STOP

const isTakeProfit = ({ stopType }: Order): boolean =>
  stopType === StopOrderType.STOP_ORDER_TYPE_TAKE_PROFIT ||
  stopType === StopOrderType.STOP_ORDER_TYPE_PARTIAL_TAKE_PROFIT

/** Adds an order to the conditional orders and emits it. */
export const addConditional = (ctx: StepContext, order: Order): void => {
  order.status = OrderStatus.ORDER_STATUS_UNTRIGGERED
  order.holding.conditional.set(order.number, order)
  TriggerQueues.enqueue(order)
  OrderEvents.emitOrder(ctx, order, OrderCause.ORDER_CAUSE_ACCEPTED)
  if (isExit(order)) ctx.changedExits.add(order.holding)
}

/** Removes an order from the conditional orders; it stays open. */
export const removeConditional = (ctx: StepContext, order: Order): void => {
  TriggerQueues.dequeue(ctx.state, order)
  order.holding.conditional.delete(order.number)
  if (isExit(order)) ctx.changedExits.add(order.holding)
}

/** Deactivates an untriggered order. */
export const deactivate = (ctx: StepContext, order: Order, type: CancelType): void => {
  removeConditional(ctx, order)
  order.leaves = 0
  order.status = OrderStatus.ORDER_STATUS_DEACTIVATED
  order.cancelType = type
  order.rejectReason = RejectReason.REJECT_REASON_EC_NO_ERROR
  order.rejectMessage = undefined
  order.updatedMs = ctx.at
  RestingOrder.dropOrder(ctx, order)
  OrderEvents.emitOrder(ctx, order, OrderCause.ORDER_CAUSE_CANCELED)
}

/** Deactivates the other exit of a pair when one has triggered. */
export const endSibling = (ctx: StepContext, order: Order): void => {
  const { sibling } = order
  if (sibling === undefined || !ctx.state.orders.has(sibling)) return
  deactivate(
    ctx,
    sibling,
    isTakeProfit(order)
      ? CancelType.CANCEL_TYPE_CANCEL_BY_OCO_SL_CANCELED_BY_TP_TRIGGERED
      : CancelType.CANCEL_TYPE_CANCEL_BY_OCO_TP_CANCELED_BY_SL_TRIGGERED
  )
}

const closingSide = (holding: MarketPosition): Side => (holding.lots > 0 ? Side.SIDE_SELL : Side.SIDE_BUY)

export const exitsOf = (holding: MarketPosition, chosen: (order: Order) => boolean = () => true): Array<Order> =>
  [...holding.conditional.values()].filter((order) => isExit(order) && chosen(order))

/** The size of an exit of mode Full: that of its position. */
const sizeOf = (holding: MarketPosition): number => Math.abs(holding.lots)

/** Creates one exit; the caller adds it to the conditional orders. */
export const createExit = (
  ctx: StepContext,
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
  return newOrder(ctx, holding, {
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

export const linkSiblings = (orders: ReadonlyArray<Order>): void => {
  const [one, other] = orders
  if (one !== undefined) one.sibling = other
  if (other !== undefined) other.sibling = one!
}

/** Whether an exit closes the whole position. */
export const isFull = ({ stopType }: Order): boolean =>
  stopType === StopOrderType.STOP_ORDER_TYPE_TAKE_PROFIT || stopType === StopOrderType.STOP_ORDER_TYPE_STOP_LOSS

const createPair = (
  ctx: StepContext,
  holding: MarketPosition,
  tpsl: Tpsl,
  lots: number,
  parent: string | undefined
): void => {
  const made = KINDS.flatMap((kind) => {
    const leg = tpsl[kind]
    return leg === undefined ? [] : [createExit(ctx, holding, tpsl.mode, kind, leg, lots, parent)]
  })
  linkSiblings(made)
  for (const order of made) addConditional(ctx, order)
}

/** Changes the quantity of an untriggered exit. */
const resize = (ctx: StepContext, exit: Order, lots: number): void => {
  exit.lots = lots
  exit.leaves = lots
  exit.updatedMs = ctx.at
  OrderEvents.emitOrder(ctx, exit, OrderCause.ORDER_CAUSE_AMENDED)
}

/** Attaches an order's exits to the lots that its fills opened since the last attachment. */
const attachExits = (ctx: StepContext, order: Order): void => {
  const { holding, tpsl } = order
  if (tpsl === undefined) return
  const newlyOpened = order.opened - order.attached
  const first = order.attached === 0
  order.attached = order.opened
  // the step may have closed again what the fill opened
  if (newlyOpened === 0 || holding.lots === 0 || closingSide(holding) === order.side) return
  if (tpsl.mode === FULL) {
    if (!first) return
    for (const older of exitsOf(holding, isFull)) deactivate(ctx, older, CLEAR)
    return createPair(ctx, holding, tpsl, 0, order.id)
  }
  const existing = exitsOf(holding, ({ parent }) => parent === order.id)
  if (existing.length === 0) return createPair(ctx, holding, tpsl, newlyOpened, order.id)
  for (const exit of existing) resize(ctx, exit, exit.lots + newlyOpened)
}

/** Replaces the exits of an order, the attached ones included, and attaches exits to lots without one. */
export const replaceExits = (ctx: StepContext, order: Order, tpsl: Tpsl | undefined): void => {
  let guarded = 0
  for (const exit of exitsOf(order.holding, ({ parent }) => parent === order.id)) {
    guarded = isFull(exit) ? order.opened : exit.lots
    deactivate(ctx, exit, CLEAR)
  }
  // lots whose exits have already ended get no new ones
  if (order.attached > 0) order.opened = guarded + order.opened - order.attached
  order.attached = 0
  order.tpsl = tpsl
  if (tpsl !== undefined && order.opened > 0) ctx.exitAttachments.add(order)
}

/**
 * Marks the end of a position, at the fill that closes or reverses it: a later fill of the same step can open the next one.
 * Its exits end, its fills attach none any more, and its open orders count their opened lots from 0 again.
 */
export const endWithPosition = (ctx: StepContext, holding: MarketPosition): void => {
  if (holding.conditional.size > 0) for (const exit of exitsOf(holding)) ctx.endedExits.add(exit)
  for (const order of ctx.exitAttachments) if (order.holding === holding) ctx.exitAttachments.delete(order)
  for (const order of holding.orders.values()) {
    order.opened = 0
    order.attached = 0
  }
}

/** Deactivates the exits of closed positions, attaches those of new fills, and resizes Full exits to their position. */
export const settleExits = (ctx: StepContext): void => {
  for (const exit of ctx.endedExits) if (ctx.state.orders.has(exit)) deactivate(ctx, exit, CLEAR)
  ctx.endedExits.clear()
  for (const order of ctx.exitAttachments) attachExits(ctx, order)
  ctx.exitAttachments.clear()
  for (const holding of ctx.changedPositions) {
    if (holding.conditional.size === 0) continue
    for (const exit of exitsOf(holding, isFull)) if (exit.lots !== sizeOf(holding)) resize(ctx, exit, sizeOf(holding))
  }
}

/** Emits the positions whose exits changed. */
export const emitChangedExits = (ctx: StepContext): void => {
  for (const holding of ctx.changedExits) emitPosition(ctx, holding, Accounts.lazyTotals(holding.account))
}
