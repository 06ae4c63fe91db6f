/** The command to amend an order, and which amendments keep its priority. Source: contract 2.3 row 18, 2.4, 9.3. */
import * as OrderRules from "../../domain/OrderRules.ts"
import { type AmendOrder, type Command, type CommandResult, OrderCause } from "../../proto/gateway/v1/sequencer.ts"
import { OrderStatus, OrderType, RejectReason, StopOrderType } from "../../proto/gateway/v1/types.ts"
import * as Records from "../Records.ts"
import * as Accounts from "../referee/Accounts.ts"
import { acknowledge, Code, invalid, invalidField, refuse, type Turn } from "../Turn.ts"
import * as Matching from "./Matching.ts"
import * as Exits from "./Exits.ts"
import type { Order, Tpsl, Trigger } from "./Order.ts"
import * as Queues from "./Queues.ts"
import { alreadyMet, bind, crossing, outOfBand, type Refused } from "./Admission.ts"
import { conclude } from "./Course.ts"
import { find, frozen, noAccount, noSymbol, ownAccount } from "./Named.ts"

/** Row 18: the order stays as it is and says why. */
const refuseAmend = (turn: Turn, order: Order, { reason, message }: Refused): void => {
  order.rejectReason = reason
  order.rejectMessage = message
  Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_AMEND_REFUSED)
}

const accept = (turn: Turn, order: Order): void => {
  order.version++
  order.rejectReason = RejectReason.REJECT_REASON_EC_NO_ERROR
  order.rejectMessage = undefined
  order.updatedMs = turn.at
}

const amendTo = (turn: Turn, order: Order, ticks: number, lots: number, tpsl: Tpsl | undefined): void => {
  const { holding, side } = order
  const { market } = holding
  if (lots <= order.filled)
    return refuseAmend(turn, order, {
      reason: RejectReason.REJECT_REASON_EC_INVALID_QTY,
      message: "qty must exceed what is already filled"
    })
  if (ticks !== order.ticks) {
    const band = outOfBand(market, side, ticks)
    if (band !== undefined) return refuseAmend(turn, order, band)
    if (order.postOnly && Matching.crosses(holding, side, ticks)) return refuseAmend(turn, order, crossing)
  }
  const leaves = lots - order.filled
  if (!order.reduceOnly) {
    const refused = bind(holding, (sign) => {
      Accounts.bindOrder(holding, side, ticks, sign * leaves)
      Accounts.bindOrder(holding, side, order.ticks, -sign * order.leaves)
    })
    if (refused !== undefined) return refuseAmend(turn, order, refused)
  }
  accept(turn, order)
  if (tpsl !== order.tpsl) Exits.replaceOf(turn, order, tpsl)
  if (ticks === order.ticks && lots === order.lots)
    return Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_AMENDED)
  if (ticks === order.ticks && lots < order.lots) {
    Matching.shrink(turn, order, order.lots - lots)
    Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_AMENDED)
    return Matching.touchMargins(turn, order)
  }
  Matching.lift(turn, order)
  order.ticks = ticks
  order.lots = lots
  order.leaves = leaves
  Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_AMENDED)
  const before = order.filled
  const ended = Matching.match(turn, order)
  conclude(turn, order, ended)
  if (order.resting && order.filled === before) Matching.touchMargins(turn, order)
}

/** Amends an open order to a price, a total quantity and exits; equal ones change nothing. */
export const amendOrder = (turn: Turn, order: Order, ticks: number, lots: number, tpsl: Tpsl | undefined): void => {
  if (ticks !== order.ticks || lots !== order.lots || tpsl !== order.tpsl) amendTo(turn, order, ticks, lots, tpsl)
}

/** Amends an order that waits for its trigger. */
const amendWaiting = (
  turn: Turn,
  order: Order,
  ticks: number,
  lots: number,
  tpsl: Tpsl | undefined,
  triggerTicks: number
): void => {
  const trigger = order.trigger!
  if (ticks === order.ticks && lots === order.lots && tpsl === order.tpsl && triggerTicks === trigger.ticks) return
  if (lots !== order.lots && order.lots === 0)
    return refuseAmend(turn, order, {
      reason: RejectReason.REJECT_REASON_EC_INVALID_QTY,
      message: "the order closes the whole position"
    })
  const next: Trigger = { ...trigger, ticks: triggerTicks }
  if (Queues.isMet(order.holding.market, next)) return refuseAmend(turn, order, alreadyMet)
  Queues.leave(order)
  order.trigger = next
  Queues.join(order)
  order.ticks = ticks
  order.lots = lots
  order.leaves = lots
  order.tpsl = tpsl
  accept(turn, order)
  Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_AMENDED)
  if (order.stopType !== StopOrderType.STOP_ORDER_TYPE_STOP) turn.exits.add(order.holding)
}

export const amend = (turn: Turn, command: Command, request: AmendOrder): CommandResult => {
  const { state } = turn
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
  const lots = request.qty === undefined ? order.lots : OrderRules.checkQty(market.rules, request.qty, isMarket, false)
  if (typeof lots !== "number") return invalid(command, lots)
  if (!order.reduceOnly && lots !== 0) {
    const notional = OrderRules.checkNotional(market.rules, isMarket ? market.markTicks : ticks, lots)
    if (notional !== undefined) return invalid(command, notional)
  }
  const tpsl = request.tpsl === undefined ? order.tpsl : Exits.amended(market, order.tpsl, request.tpsl)
  if (tpsl !== undefined && "reason" in tpsl) return invalid(command, tpsl)
  if (tpsl !== undefined && tpsl !== order.tpsl && !isMarket) {
    const wrong = Exits.checkSides(tpsl, order.side, ticks, "the order's price")
    if (wrong !== undefined) return invalid(command, wrong)
  }
  if (order.status === OrderStatus.ORDER_STATUS_UNTRIGGERED) {
    const trigger =
      request.trigger_price === undefined
        ? order.trigger!.ticks
        : OrderRules.checkPrice(market.rules, request.trigger_price, "trigger.trigger_price")
    if (typeof trigger !== "number") return invalid(command, trigger)
    amendWaiting(turn, order, ticks, lots, tpsl, trigger)
  } else {
    if (request.trigger_price !== undefined)
      return invalidField(command, "trigger", "the order does not wait for a trigger")
    amendOrder(turn, order, ticks, lots, tpsl)
  }
  return acknowledge(turn, command, [Records.orderRef(order)], { version: order.version })
}
