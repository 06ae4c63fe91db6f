/**
 * Converts an order request to a command: applies defaults, and makes every check that needs only the instrument and
 * the time.
 * Source: docs/contract/orders.md#new-order, #order-semantics.
 */
import type { OrderType, Side, SmpType, TimeInForce, TpslMode, TriggerBy, TriggerDirection } from "./Enumerations.ts"
import type { AmendOrder, Exit, Exits, NewOrder, NewTrigger } from "./Order.ts"
import * as OrderRules from "./OrderRules.ts"
import { DAY_MS, SECOND_MS } from "./Time.ts"

/** Shortest and longest time until a GTT order expires, from now. */
export const EXPIRY_MS_MIN = SECOND_MS
export const EXPIRY_MS_MAX = 90 * DAY_MS

/** Most orders in one batch. Source: docs/contract/rest-trading.md#batches. */
export const BATCH_ORDERS_MAX = 20

/** One exit: a market order at a trigger price, by default triggered by the last price. */
export interface LegRequest {
  readonly market: { readonly trigger_price: string; readonly trigger_by?: TriggerBy }
}
export interface TpslRequest {
  readonly mode?: TpslMode
  readonly take_profit?: LegRequest
  readonly stop_loss?: LegRequest
}

/** An order request. */
export interface OrderRequest {
  readonly sub_account_address: string
  readonly symbol: string
  readonly side: Side
  readonly order_type: OrderType
  readonly qty: string
  readonly price?: string
  /** `PostOnly` is short for `GTC` with `post_only`. */
  readonly time_in_force?: TimeInForce | "PostOnly"
  readonly expire_time?: number
  readonly post_only?: boolean
  readonly reduce_only?: boolean
  readonly close_on_trigger?: boolean
  readonly order_link_id?: string
  readonly trigger?: {
    readonly trigger_price: string
    readonly trigger_by?: TriggerBy
    readonly trigger_direction?: TriggerDirection
  }
  readonly tpsl?: TpslRequest
  readonly smp_type?: SmpType
}

export interface OrderNameRequest {
  readonly sub_account_address: string
  readonly symbol: string
  readonly order_id?: string
  readonly order_link_id?: string
}

export interface AmendRequest extends OrderNameRequest {
  readonly price?: string
  readonly qty?: string
  readonly trigger?: { readonly trigger_price: string }
  readonly tpsl?: TpslRequest
  readonly order_iv?: number
}

type Violation = OrderRules.Violation

/** Whether the result is a violation. */
export const isViolation = (made: object): made is Violation => "reason" in made

const exitsOf = ({ mode, take_profit, stop_loss }: TpslRequest, by: TriggerBy | undefined): Exits => {
  const exitOf = (leg: LegRequest | undefined): Exit | undefined =>
    leg && { trigger_price: leg.market.trigger_price, trigger_by: leg.market.trigger_by ?? by }
  return { mode, take_profit: exitOf(take_profit), stop_loss: exitOf(stop_loss) }
}

const isZero = (text: string): boolean => /^0(?:\.0+)?$/u.test(text)

const legs = ["take_profit", "stop_loss"] as const

/** Checks that exits are multiples of the tick, and on the correct side of `reference` (in ticks) if it is given. */
const checkExits = (
  rules: OrderRules.OrderRules,
  exits: Exits,
  side: Side | undefined,
  reference: number | undefined,
  removable: boolean
): Violation | undefined => {
  for (const leg of legs) {
    const exit = exits[leg]
    if (exit === undefined || (removable && isZero(exit.trigger_price))) continue
    const field = `tpsl.${leg}.market.trigger_price`
    const ticks = OrderRules.checkPrice(rules, exit.trigger_price, field)
    if (typeof ticks !== "number") return ticks
    if (reference === undefined) continue
    const above = (leg === "take_profit") === (side === "Buy")
    if (above ? ticks <= reference : ticks >= reference) {
      const way = above ? "above" : "below"
      const message = `${leg} must lie ${way} the order's price`
      return { reason: "OutOfRange", field, message, accepted: `a price ${way} the order's price` }
    }
  }
  return undefined
}

const checkExpiry = (time_in_force: TimeInForce, expire_time: number | undefined, now: number) => {
  const field = "expire_time"
  if (time_in_force !== "GTT")
    return expire_time === undefined
      ? undefined
      : ({
          reason: "InvalidField",
          field,
          message: "expire_time needs time_in_force GTT",
          accepted: "no value without time_in_force GTT"
        } as const)
  if (expire_time === undefined)
    return {
      reason: "MissingField",
      field,
      message: "GTT needs expire_time",
      accepted: "Unix time in milliseconds with time_in_force GTT"
    } as const
  const min = now + EXPIRY_MS_MIN
  const max = now + EXPIRY_MS_MAX
  return expire_time >= min && expire_time <= max
    ? undefined
    : ({
        reason: "OutOfRange",
        field,
        message: "expire_time lies 1 second to 90 days ahead",
        accepted: `a time 1 second to 90 days ahead, from ${min} to ${max}`,
        min,
        max
      } as const)
}

/**
 * Converts a request to a new order. `now` returns Unix ms. The minimum value of a Market order depends on the mark
 * price at execution, so the sequencer checks it.
 */
export const newOrder = (
  rules: OrderRules.OrderRules,
  request: OrderRequest,
  now: () => number
): NewOrder | Violation => {
  const market = request.order_type === "Market"
  const postOnly = request.time_in_force === "PostOnly"
  const time_in_force = postOnly
    ? "GTC"
    : ((request.time_in_force as TimeInForce | undefined) ?? (market ? "IOC" : "GTC"))
  const trigger: NewTrigger | undefined = request.trigger && {
    trigger_price: request.trigger.trigger_price,
    trigger_by: request.trigger.trigger_by ?? "LastPrice",
    trigger_direction: request.trigger.trigger_direction
  }
  const tpsl = request.tpsl && exitsOf(request.tpsl, "LastPrice")
  const order: NewOrder = {
    symbol: request.symbol,
    side: request.side,
    order_type: request.order_type,
    qty: request.qty,
    price: market ? undefined : request.price,
    time_in_force,
    expire_time: request.expire_time,
    post_only: postOnly || request.post_only === true,
    reduce_only: request.reduce_only === true,
    close_on_trigger: request.close_on_trigger === true,
    order_link_id: request.order_link_id,
    trigger,
    tpsl,
    smp_type: request.smp_type ?? "CancelTaker"
  }
  const counts = OrderRules.checkOrder(rules, { ...order, market })
  if (OrderRules.isViolation(counts)) return counts
  if (time_in_force === "GTT" || request.expire_time !== undefined) {
    const expiry = checkExpiry(time_in_force, request.expire_time, now())
    if (expiry !== undefined) return expiry
  }
  if (trigger !== undefined) {
    const ticks = OrderRules.checkPrice(rules, trigger.trigger_price, "trigger.trigger_price")
    if (typeof ticks !== "number") return ticks
  }
  if (tpsl !== undefined) {
    if (tpsl.take_profit === undefined && tpsl.stop_loss === undefined)
      return {
        reason: "MissingField",
        field: "tpsl.take_profit",
        message: "tpsl needs take_profit or stop_loss",
        accepted: "take_profit or stop_loss in tpsl"
      }
    const wrong = checkExits(rules, tpsl, request.side, market ? undefined : counts.ticks, false)
    if (wrong !== undefined) return wrong
  }
  return order
}

/**
 * Converts a request to an amend. The sequencer makes the checks that depend on the order itself: 0 is the price of a
 * Market order, and the quantity of one that closes the whole position.
 */
export const amendment = (rules: OrderRules.OrderRules, request: AmendRequest): AmendOrder | Violation => {
  const { symbol, order_id, order_link_id, price, qty, trigger } = request
  if (price !== undefined && !isZero(price)) {
    const ticks = OrderRules.checkPrice(rules, price)
    if (typeof ticks !== "number") return ticks
  }
  if (qty !== undefined) {
    const lots = OrderRules.checkQty(rules, qty, false, true)
    if (typeof lots !== "number") return lots
  }
  if (trigger !== undefined) {
    const ticks = OrderRules.checkPrice(rules, trigger.trigger_price, "trigger.trigger_price")
    if (typeof ticks !== "number") return ticks
  }
  const tpsl = request.tpsl && exitsOf(request.tpsl, undefined)
  if (tpsl !== undefined) {
    const wrong = checkExits(rules, tpsl, undefined, undefined, true)
    if (wrong !== undefined) return wrong
  }
  return {
    symbol,
    order: { order_id, order_link_id },
    price,
    qty,
    trigger_price: trigger?.trigger_price,
    tpsl,
    order_iv: request.order_iv ?? 0
  }
}
