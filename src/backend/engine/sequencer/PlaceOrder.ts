/**
 * The command to place an order: validates its fields, then processes the order. Source:
 * docs/contract/orders.md#new-order, #order-semantics.
 */
import * as OrderRules from "../../../domain/OrderRules.ts"
import type { Command, CommandResult, PlaceOrder } from "../../../proto/gateway/v1/sequencer.ts"
import {
  CreateType,
  OrderType,
  Side,
  SmpType,
  StopOrderType,
  TimeInForce,
  type Trigger as TriggerRequest
} from "../../../proto/gateway/v1/types.ts"
import * as Accounts from "../accounts/Accounts.ts"
import { acknowledge, Code, invalid, invalidField, refuse } from "../events/CommandResults.ts"
import * as Records from "../events/Records.ts"
import type { StepContext } from "../events/StepContext.ts"
import { positionOf } from "../state/MarketPosition.ts"
import { findLink } from "../state/Retention.ts"
import type { MarketState, Trigger } from "../state/State.ts"
import * as TriggerQueues from "../state/TriggerQueues.ts"
import { frozen, noAccount, noSymbol, ownAccount } from "./Lookup.ts"
import { newOrder } from "./NewOrder.ts"
import { processOrder, acceptConditional } from "./OrderLifecycle.ts"
import * as TpslLegs from "./TpslLegs.ts"
import * as TpslPairs from "./TpslPairs.ts"

/** Longest lifetime of a GTT order, in ms. */
const EXPIRY_MAX_MS = 90 * 86_400_000

const TIME_IN_FORCE = {
  [TimeInForce.TIME_IN_FORCE_GTC]: "GTC",
  [TimeInForce.TIME_IN_FORCE_GTT]: "GTT",
  [TimeInForce.TIME_IN_FORCE_IOC]: "IOC",
  [TimeInForce.TIME_IN_FORCE_FOK]: "FOK"
} as const

const checkExpiry = (
  command: Command,
  timeInForce: TimeInForce,
  expireMs: number | undefined,
  at: number
): CommandResult | undefined => {
  if (timeInForce !== TimeInForce.TIME_IN_FORCE_GTT)
    return expireMs === undefined
      ? undefined
      : invalidField(command, "expire_time", "expire_time needs time_in_force GTT")
  if (expireMs === undefined)
    return refuse(command, Code.INVALID_ARGUMENT, "MissingField", "GTT needs expire_time", { field: "expire_time" })
  if (expireMs > at && expireMs <= at + EXPIRY_MAX_MS) return undefined
  return refuse(command, Code.INVALID_ARGUMENT, "OutOfRange", "expire_time must lie within the next 90 days", {
    field: "expire_time",
    min: String(at + 1),
    max: String(at + EXPIRY_MAX_MS)
  })
}

const readTrigger = (market: MarketState, request: TriggerRequest): Trigger | OrderRules.Violation => {
  const ticks = OrderRules.checkPrice(market.rules, request.trigger_price, "trigger.trigger_price")
  if (typeof ticks !== "number") return ticks
  return { by: TriggerQueues.triggerBy(request.trigger_by), direction: request.trigger_direction, ticks }
}

export const place = (ctx: StepContext, command: Command, request: PlaceOrder): CommandResult => {
  const { state } = ctx
  const market = state.marketOf.get(request.symbol)
  if (market === undefined) return noSymbol(command, request.symbol)
  const account = ownAccount(state, command)
  if (account === undefined) return noAccount(command)
  if (account.frozen) return frozen(command)
  const { status } = market.market
  if (status === "PreLaunch" || status === "Closed")
    return invalidField(command, "symbol", `${request.symbol} is not open for trading`)
  const { side } = request
  if (side !== Side.SIDE_BUY && side !== Side.SIDE_SELL) return invalidField(command, "side", "side is Buy or Sell")
  const type = request.order_type
  const isMarket = type === OrderType.ORDER_TYPE_MARKET
  if (!isMarket && type !== OrderType.ORDER_TYPE_LIMIT)
    return invalidField(command, "order_type", "order_type is Limit or Market")
  const timeInForce =
    request.time_in_force === TimeInForce.TIME_IN_FORCE_UNSPECIFIED
      ? isMarket
        ? TimeInForce.TIME_IN_FORCE_IOC
        : TimeInForce.TIME_IN_FORCE_GTC
      : request.time_in_force
  if (timeInForce === TimeInForce.UNRECOGNIZED || !(timeInForce in TIME_IN_FORCE))
    return invalidField(command, "time_in_force", "unknown time_in_force")
  const expiry = checkExpiry(command, timeInForce, request.expire_time_ms, ctx.at)
  if (expiry !== undefined) return expiry
  const counts = OrderRules.checkOrder(
    market.rules,
    {
      qty: request.qty,
      price: request.price,
      market: isMarket,
      time_in_force: TIME_IN_FORCE[timeInForce],
      post_only: request.post_only,
      reduce_only: request.reduce_only,
      close_on_trigger: request.close_on_trigger,
      order_link_id: request.order_link_id
    },
    market.markTicks
  )
  if (OrderRules.isViolation(counts)) return invalid(command, counts)
  const link = request.order_link_id
  const first = link === undefined ? undefined : findLink(state, account, link)
  if (first !== undefined)
    return refuse(command, Code.ALREADY_EXISTS, "DuplicateOrderLinkId", `order_link_id ${link} is used`, {
      order_id: first
    })
  const trigger = request.trigger === undefined ? undefined : readTrigger(market, request.trigger)
  if (trigger !== undefined && "reason" in trigger) return invalid(command, trigger)
  const tpsl = request.tpsl === undefined ? undefined : TpslLegs.read(market, request.tpsl)
  if (tpsl !== undefined && "reason" in tpsl) return invalid(command, tpsl)
  if (tpsl !== undefined && !isMarket) {
    const wrong = TpslLegs.checkSides(tpsl, side, counts.ticks, "the order's price")
    if (wrong !== undefined) return invalid(command, wrong)
  }
  const holding = positionOf(account, market)
  if (tpsl !== undefined) {
    const full = TpslPairs.refuseExtraPair(command, "tpsl", holding, side, tpsl.mode)
    if (full !== undefined) return full
  }
  const order = newOrder(ctx, holding, {
    link,
    side,
    type,
    timeInForce,
    postOnly: request.post_only,
    reduceOnly: request.reduce_only,
    closeOnTrigger: request.close_on_trigger,
    smp: request.smp_type <= 0 ? SmpType.SMP_TYPE_CANCEL_TAKER : request.smp_type,
    ticks: isMarket ? (side === Side.SIDE_BUY ? market.bandBuyTicks : market.bandSellTicks) : counts.ticks,
    // 0 means the whole position; of a conditional order, the position at its trigger
    lots: counts.lots === 0 && trigger === undefined ? Accounts.closableLots(holding.lots, side) : counts.lots,
    expireMs: request.expire_time_ms,
    trigger,
    tpsl,
    ...(trigger === undefined
      ? {}
      : {
          createType: CreateType.CREATE_TYPE_CREATE_BY_STOP_ORDER,
          stopType: StopOrderType.STOP_ORDER_TYPE_STOP
        })
  })
  if (trigger === undefined) processOrder(ctx, order)
  else acceptConditional(ctx, order)
  return acknowledge(ctx, command, [Records.orderRef(order)])
}
