/**
 * The checks of an order that need only its instrument.
 *
 * The gateway answers a violation with 400 before it forwards a command. A sequencer repeats the checks, because it
 * does not trust gateways. A violation is a plain value: violations are frequent and must be cheap.
 * Source: docs/contract/conventions.md#errors, #decimals, docs/contract/orders.md#new-order, #order-semantics.
 */
import * as Decimal from "./Decimal.ts"
import * as Grid from "./Grid.ts"

export type ViolationReason =
  | "MissingField"
  | "InvalidField"
  | "InvalidDecimal"
  | "TooManyDecimals"
  | "NotMultipleOfStep"
  | "NotMultipleOfTick"
  | "OutOfRange"

/**
 * Why an order is refused: the reason of docs/contract/conventions.md#reasons, the offending field and the violated
 * bounds.
 */
export interface Violation {
  readonly reason: ViolationReason
  readonly field: string
  readonly message: string
  /** The accepted values as a noun phrase, if the bounds do not state them. */
  readonly accepted?: string
  /** Decimals as text; times as integers. */
  readonly min?: Decimal.Decimal | number
  readonly max?: Decimal.Decimal | number
  readonly step?: Decimal.Decimal
  /** The accepted values next to the given one, in ascending order: two, or one beyond a bound. */
  readonly nearest?: ReadonlyArray<Decimal.Decimal>
}

/** The limits of an instrument for its orders. */
export interface InstrumentText {
  readonly tick_size: string
  readonly min_price: string
  readonly max_price: string
  readonly qty_step: string
  readonly min_order_qty: string
  readonly max_order_qty: string
  readonly max_mkt_order_qty: string
  readonly min_notional_value: string
}

/** The limits in integers. */
export interface OrderRules {
  readonly price: Grid.Grid
  readonly qty: Grid.Grid
  readonly minTicks: number
  readonly maxTicks: number
  readonly minLots: number
  readonly maxLots: number
  readonly maxMarketLots: number
  /** value of one lot at a price of one tick */
  readonly unit: Decimal.Scaled
  readonly minNotional: Decimal.Scaled
  /** below this count of ticks × lots the notional is too small */
  readonly minUnits: number
}

/** Prepares the rules of an instrument. */
export const make = (instrument: InstrumentText): OrderRules => {
  const price = Grid.fromText(instrument.tick_size)
  const qty = Grid.fromText(instrument.qty_step)
  const unit = Decimal.mul(price.step, qty.step, "toward-zero")
  if (unit * Decimal.ONE !== price.step * qty.step) throw new RangeError("tick_size × qty_step has over 18 places")
  const minNotional = Decimal.parse(instrument.min_notional_value)
  return {
    price,
    qty,
    minTicks: Grid.ceil(price, Decimal.parse(instrument.min_price)),
    maxTicks: Grid.floor(price, Decimal.parse(instrument.max_price)),
    minLots: Grid.ceil(qty, Decimal.parse(instrument.min_order_qty)),
    maxLots: Grid.floor(qty, Decimal.parse(instrument.max_order_qty)),
    maxMarketLots: Grid.floor(qty, Decimal.parse(instrument.max_mkt_order_qty)),
    unit,
    minNotional,
    minUnits: Number(Decimal.divide(minNotional, unit, "up"))
  }
}

/** The fields of an order that the checks need, independent of its representation. */
export interface OrderShape {
  readonly qty: string
  /** ignored for Market */
  readonly price?: string | undefined
  readonly market: boolean
  readonly time_in_force: "GTC" | "GTT" | "IOC" | "FOK"
  readonly post_only: boolean
  readonly reduce_only: boolean
  readonly close_on_trigger: boolean
  readonly order_link_id?: string | undefined
}

/** A valid order in integers. `ticks` is 0 for Market, `lots` 0 for the whole position. */
export interface OrderCounts {
  readonly ticks: number
  readonly lots: number
}

const DECIMAL = /^(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{1,18})?$/u
const TOO_LONG = /^(?:0|[1-9][0-9]{0,19})\.[0-9]{19,}$/u
const LINK = /^[A-Za-z0-9_-]{1,36}$/u

const notDecimal = (field: string, text: string): Violation =>
  TOO_LONG.test(text)
    ? { reason: "TooManyDecimals", field, message: `${field} has more than 18 decimal places` }
    : {
        reason: "InvalidDecimal",
        field,
        message: text.startsWith("-") ? `${field} must not be negative` : `${field} is not a decimal string`
      }

/** Whether a text is a client's order id: 1 to 36 of letters, digits, `_` and `-`. */
export const isOrderLinkId = (text: string): boolean => LINK.test(text)

/** Reads a limit price as ticks. */
export const checkPrice = (rules: OrderRules, text: string, field = "price"): number | Violation => {
  if (!DECIMAL.test(text)) return notDecimal(field, text)
  const ticks = Grid.read(rules.price, text)
  if (ticks === undefined)
    return Decimal.parse(text) % rules.price.step === 0n
      ? outOfPrices(rules, field)
      : offGrid("NotMultipleOfTick", field, "tick", rules.price, text, rules.minTicks, rules.maxTicks)
  return ticks < rules.minTicks || ticks > rules.maxTicks ? outOfPrices(rules, field) : ticks
}

/** The violation of a value between two steps, with the accepted values next to it. */
const offGrid = (
  reason: "NotMultipleOfTick" | "NotMultipleOfStep",
  field: string,
  word: string,
  grid: Grid.Grid,
  text: string,
  min: number,
  max: number
): Violation => {
  const below = Decimal.parse(text) / grid.step
  const accepted = (count: bigint) => Math.min(Math.max(Number(count), min), max)
  const nearest = [...new Set([accepted(below), accepted(below + 1n)])].map((count) => Grid.text(grid, count))
  const step = Grid.text(grid, 1)
  return { reason, field, message: `${field} is not a multiple of the ${word} ${step}`, step, nearest }
}

const outOfPrices = (rules: OrderRules, field: string): Violation => {
  const min = Grid.text(rules.price, rules.minTicks)
  const max = Grid.text(rules.price, rules.maxTicks)
  return { reason: "OutOfRange", field, message: `${field} must lie between ${min} and ${max}`, min, max }
}

/** Reads a quantity as lots. `zero`: 0 is allowed and means the whole position. */
export const checkQty = (
  rules: OrderRules,
  text: string,
  market: boolean,
  zero: boolean,
  field = "qty"
): number | Violation => {
  if (!DECIMAL.test(text)) return notDecimal(field, text)
  const lots = Grid.read(rules.qty, text)
  const limit = market ? rules.maxMarketLots : rules.maxLots
  if (lots === 0 && zero) return 0
  if (lots !== undefined && lots >= rules.minLots && lots <= limit) return lots
  if (lots === undefined && Decimal.parse(text) % rules.qty.step !== 0n)
    return offGrid("NotMultipleOfStep", field, "step", rules.qty, text, rules.minLots, limit)
  const min = Grid.text(rules.qty, rules.minLots)
  const max = Grid.text(rules.qty, limit)
  return { reason: "OutOfRange", field, message: `${field} must lie between ${min} and ${max}`, min, max }
}

/** Checks ticks × lots against the smallest notional; reduce-only orders have none. */
export const checkNotional = (rules: OrderRules, ticks: number, lots: number): Violation | undefined => {
  if (ticks * lots >= rules.minUnits) return undefined
  const min = Decimal.format(rules.minNotional)
  return {
    reason: "OutOfRange",
    field: "qty",
    message: `qty × price must be at least ${min}`,
    accepted: `a value with qty × price of at least ${min}`,
    min
  }
}

/**
 * Checks a new order. For Market the notional needs the last mark price (`markTicks`); without one the sequencer
 * checks it.
 */
export const checkOrder = (rules: OrderRules, order: OrderShape, markTicks?: number): OrderCounts | Violation => {
  const { market } = order
  if (market && order.time_in_force !== "IOC")
    return {
      reason: "InvalidField",
      field: "time_in_force",
      message: "a Market order is IOC",
      accepted: "IOC for a Market order"
    }
  if (order.post_only && (market || order.time_in_force === "IOC" || order.time_in_force === "FOK"))
    return {
      reason: "InvalidField",
      field: "post_only",
      message: "post_only needs a Limit order that may rest",
      accepted: "true for a Limit order that may rest only"
    }
  if (order.order_link_id !== undefined && !LINK.test(order.order_link_id))
    return {
      reason: "InvalidField",
      field: "order_link_id",
      message: "order_link_id is 1 to 36 letters, digits, _ and -",
      accepted: "1 to 36 letters, digits, _ and -"
    }
  const lots = checkQty(rules, order.qty, market, order.reduce_only && order.close_on_trigger)
  if (typeof lots !== "number") return lots
  let ticks = 0
  if (!market) {
    if (order.price === undefined || order.price === "")
      return {
        reason: "MissingField",
        field: "price",
        message: "a Limit order needs a price",
        accepted: "the price of a Limit order"
      }
    const price = checkPrice(rules, order.price)
    if (typeof price !== "number") return price
    ticks = price
  }
  const reference = market ? markTicks : ticks
  if (!order.reduce_only && reference !== undefined) {
    const violation = checkNotional(rules, reference, lots)
    if (violation !== undefined) return violation
  }
  return { ticks, lots }
}

/** Whether a result of this module is a violation. */
export const isViolation = (result: OrderCounts | Violation): result is Violation => "reason" in result
