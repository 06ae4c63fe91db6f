/**
 * The command to amend an order, with the rules for keeping its priority. Source:
 * docs/contract/orders.md#transitions-on-an-amend, #amends, docs/contract/exchange.md#matching.
 */
import * as Grid from "../../../domain/Grid.ts"
import * as OrderRules from "../../../domain/OrderRules.ts"
import {
  type AmendOrder,
  type Command,
  type CommandResult,
  type CommandStatus,
  OrderCause
} from "../../../proto/gateway/v1/sequencer.ts"
import { OrderStatus, OrderType, RejectReason, StopOrderType } from "../../../proto/gateway/v1/types.ts"
import * as Accounts from "../accounts/Accounts.ts"
import { acknowledge, Code, invalid, invalidField, refuse } from "../events/CommandResults.ts"
import * as Records from "../events/Records.ts"
import type { StepContext } from "../events/StepContext.ts"
import type { Order, Tpsl, Trigger } from "../state/State.ts"
import * as TriggerQueues from "../state/TriggerQueues.ts"
import { find, frozen, noAccount, noSymbol, ownAccount } from "./Lookup.ts"
import * as Matching from "./Matching.ts"
import * as OrderEvents from "./OrderEvents.ts"
import { restOrCancel } from "./OrderLifecycle.ts"
import {
  triggerMetRejection,
  reserveMargin,
  crosses,
  postOnlyRejection,
  priceBandRejection,
  type OrderRejection
} from "./PreTradeChecks.ts"
import * as RestingOrder from "./RestingOrder.ts"
import * as TakeProfitStopLoss from "./TakeProfitStopLoss.ts"
import * as TpslLegs from "./TpslLegs.ts"
import * as TpslPairs from "./TpslPairs.ts"

/**
 * The refusal in the acknowledgement for each reject reason of row 18: code, reason and field. Source:
 * docs/contract/orders.md#refused-amends.
 */
const REFUSALS: { readonly [R in RejectReason]?: readonly [code: number, reason: string, field?: string] } = {
  [RejectReason.REJECT_REASON_EC_INVALID_QTY]: [Code.INVALID_ARGUMENT, "InvalidQty", "qty"],
  [RejectReason.REJECT_REASON_EC_REACH_RISK_PRICE_LIMIT]: [Code.INVALID_ARGUMENT, "OutOfRange", "price"],
  [RejectReason.REJECT_REASON_EC_REACH_RISK_LIMIT]: [Code.INVALID_ARGUMENT, "OutOfRange", "qty"],
  [RejectReason.REJECT_REASON_EC_INSUFFICIENT_BALANCE]: [Code.FAILED_PRECONDITION, "InsufficientBalance"],
  [RejectReason.REJECT_REASON_EC_POST_ONLY_WILL_TAKE_LIQUIDITY]: [
    Code.FAILED_PRECONDITION,
    "PostOnlyWouldTake",
    "price"
  ],
  [RejectReason.REJECT_REASON_EC_TRIGGER_ALREADY_MET]: [
    Code.FAILED_PRECONDITION,
    "TriggerAlreadyMet",
    "trigger.trigger_price"
  ]
}

const refusalOf = ({ command_id }: Command, { facts, message, reason }: OrderRejection): CommandStatus => {
  const refusal = REFUSALS[reason]
  if (refusal === undefined) throw new Error(`reject reason ${reason} of an amend has no refusal`)
  const [code, word, field] = refusal
  return { command_id, code, reason: word, message, metadata: { ...(field === undefined ? {} : { field }), ...facts } }
}

/** Row 18: keeps the order unchanged and emits the reject reason. */
const refuseAmend = (ctx: StepContext, order: Order, refused: OrderRejection): OrderRejection => {
  order.rejectReason = refused.reason
  order.rejectMessage = refused.message
  OrderEvents.emitOrder(ctx, order, OrderCause.ORDER_CAUSE_AMEND_REFUSED)
  return refused
}

const accept = (ctx: StepContext, order: Order): void => {
  order.version++
  order.rejectReason = RejectReason.REJECT_REASON_EC_NO_ERROR
  order.rejectMessage = undefined
  order.updatedMs = ctx.at
}

const amendTo = (
  ctx: StepContext,
  order: Order,
  ticks: number,
  lots: number,
  tpsl: Tpsl | undefined
): OrderRejection | undefined => {
  const { holding, side } = order
  const { market } = holding
  const text = (lots: number) => Grid.text(market.rules.qty, lots)
  if (lots <= order.filled)
    return refuseAmend(ctx, order, {
      reason: RejectReason.REJECT_REASON_EC_INVALID_QTY,
      message: `qty ${text(lots)} must exceed ${text(order.filled)}, which is filled already`,
      facts: { cum_exec_qty: text(order.filled) }
    })
  if (ticks !== order.ticks) {
    const band = priceBandRejection(market, side, ticks)
    if (band !== undefined) return refuseAmend(ctx, order, band)
    if (order.postOnly && crosses(holding, side, ticks)) return refuseAmend(ctx, order, postOnlyRejection)
  }
  const leaves = lots - order.filled
  if (!order.reduceOnly) {
    const refused = reserveMargin(holding, (sign) => {
      Accounts.reserveOrder(holding, side, ticks, sign * leaves)
      Accounts.reserveOrder(holding, side, order.ticks, -sign * order.leaves)
    })
    if (refused !== undefined) return refuseAmend(ctx, order, refused)
  }
  accept(ctx, order)
  if (tpsl !== order.tpsl) TakeProfitStopLoss.replaceExits(ctx, order, tpsl)
  if (ticks === order.ticks && lots === order.lots) {
    OrderEvents.emitOrder(ctx, order, OrderCause.ORDER_CAUSE_AMENDED)
    return undefined
  }
  if (ticks === order.ticks && lots < order.lots) {
    RestingOrder.reduceQuantity(ctx, order, order.lots - lots)
    OrderEvents.emitOrder(ctx, order, OrderCause.ORDER_CAUSE_AMENDED)
    OrderEvents.noteMarginChange(ctx, order)
    return undefined
  }
  RestingOrder.removeFromBook(ctx, order)
  order.ticks = ticks
  order.lots = lots
  order.leaves = leaves
  OrderEvents.emitOrder(ctx, order, OrderCause.ORDER_CAUSE_AMENDED)
  const before = order.filled
  const ended = Matching.match(ctx, order)
  restOrCancel(ctx, order, ended)
  if (order.resting && order.filled === before) OrderEvents.noteMarginChange(ctx, order)
  return undefined
}

/**
 * Amends an open order to a price, a total quantity and exits; equal values change nothing. Returns the rejection, if
 * any.
 */
export const amendOrder = (
  ctx: StepContext,
  order: Order,
  ticks: number,
  lots: number,
  tpsl: Tpsl | undefined
): OrderRejection | undefined =>
  ticks !== order.ticks || lots !== order.lots || tpsl !== order.tpsl
    ? amendTo(ctx, order, ticks, lots, tpsl)
    : undefined

/** Amends an untriggered conditional order. */
const amendWaiting = (
  ctx: StepContext,
  order: Order,
  ticks: number,
  lots: number,
  tpsl: Tpsl | undefined,
  triggerTicks: number
): OrderRejection | undefined => {
  const trigger = order.trigger!
  if (ticks === order.ticks && lots === order.lots && tpsl === order.tpsl && triggerTicks === trigger.ticks)
    return undefined
  if (
    lots !== order.lots &&
    (order.lots === 0 || (TakeProfitStopLoss.isExit(order) && TakeProfitStopLoss.isFull(order)))
  )
    return refuseAmend(ctx, order, {
      reason: RejectReason.REJECT_REASON_EC_INVALID_QTY,
      message: "the order closes the whole position"
    })
  const next: Trigger = { ...trigger, ticks: triggerTicks }
  if (TriggerQueues.isMet(order.holding.market, next)) return refuseAmend(ctx, order, triggerMetRejection)
  TriggerQueues.dequeue(ctx.state, order)
  order.trigger = next
  TriggerQueues.enqueue(order)
  order.ticks = ticks
  order.lots = lots
  order.leaves = lots
  order.tpsl = tpsl
  accept(ctx, order)
  OrderEvents.emitOrder(ctx, order, OrderCause.ORDER_CAUSE_AMENDED)
  if (order.stopType !== StopOrderType.STOP_ORDER_TYPE_STOP) ctx.changedExits.add(order.holding)
  return undefined
}

export const amend = (ctx: StepContext, command: Command, request: AmendOrder): CommandResult => {
  const { state } = ctx
  const market = state.marketOf.get(request.symbol)
  if (market === undefined) return noSymbol(command, request.symbol)
  const account = ownAccount(state, command)
  if (account === undefined) return noAccount(command)
  if (account.frozen) return frozen(command)
  if ([request.price, request.qty, request.trigger_price, request.tpsl].every((part) => part === undefined))
    return refuse(command, Code.INVALID_ARGUMENT, "MissingField", "price, qty, trigger or tpsl must be given", {
      field: "price"
    })
  const found = find(state, command, account, market, request.order)
  if ("refusal" in found) return found.refusal
  const { order } = found
  if (request.expected_version !== 0 && request.expected_version !== order.version)
    return refuse(command, Code.ABORTED, "OrderVersionMismatch", `the order's version is ${order.version}`, {
      version: String(order.version)
    })
  const isMarket = order.type === OrderType.ORDER_TYPE_MARKET
  const ticks =
    request.price === undefined || isMarket ? order.ticks : OrderRules.checkPrice(market.rules, request.price)
  if (typeof ticks !== "number") return invalid(command, ticks)
  const lots =
    request.qty === undefined ? order.lots : OrderRules.checkQty(market.rules, request.qty, isMarket, order.lots === 0)
  if (typeof lots !== "number") return invalid(command, lots)
  if (!order.reduceOnly && (ticks !== order.ticks || lots !== order.lots)) {
    const notional = OrderRules.checkNotional(market.rules, isMarket ? market.markTicks : ticks, lots)
    if (notional !== undefined)
      return invalid(command, lots === order.lots ? { ...notional, field: "price" } : notional)
  }
  const tpsl = request.tpsl === undefined ? order.tpsl : TpslLegs.amended(market, order.tpsl, request.tpsl)
  if (tpsl !== undefined && "reason" in tpsl) return invalid(command, tpsl)
  // a price beyond the order's own legs would close at once, at a loss, what it opens
  if (tpsl !== undefined && (tpsl !== order.tpsl || ticks !== order.ticks) && !isMarket) {
    const wrong = TpslLegs.checkSides(tpsl, order.side, ticks, "the order's price")
    if (wrong !== undefined) return invalid(command, wrong)
  }
  if (tpsl !== undefined && tpsl !== order.tpsl) {
    const others = ({ id, parent }: Order) => id !== order.id && parent !== order.id
    const full = TpslPairs.refuseExtraPair(command, "tpsl", order.holding, order.side, tpsl.mode, others)
    if (full !== undefined) return full
  }
  let refused: OrderRejection | undefined
  if (order.status === OrderStatus.ORDER_STATUS_UNTRIGGERED) {
    const trigger =
      request.trigger_price === undefined
        ? order.trigger!.ticks
        : OrderRules.checkPrice(market.rules, request.trigger_price, "trigger.trigger_price")
    if (typeof trigger !== "number") return invalid(command, trigger)
    refused = amendWaiting(ctx, order, ticks, lots, tpsl, trigger)
  } else {
    if (request.trigger_price !== undefined)
      return invalidField(command, "trigger", "the order does not wait for a trigger")
    refused = amendOrder(ctx, order, ticks, lots, tpsl)
  }
  return acknowledge(ctx, command, [Records.orderRef(order)], {
    version: order.version,
    ...(refused === undefined ? {} : { refusal: refusalOf(command, refused) })
  })
}
