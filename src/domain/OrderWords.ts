/** Orders in the words of a trader, for the market page and the command line. */
import * as Decimal from "./Decimal.ts"
import type { CancelType, TriggerBy } from "./Enumerations.ts"
import type { Order } from "./Order.ts"

const legs = {
  TakeProfit: "Take profit",
  StopLoss: "Stop loss",
  PartialTakeProfit: "Take profit, part",
  PartialStopLoss: "Stop loss, part",
  Stop: ""
} as const

/** Whether an order is a take-profit or stop-loss of a position. */
export const isExit = ({ stop_order_type }: Order): boolean =>
  stop_order_type !== undefined && stop_order_type !== "Stop"

/** Kind of an order: `Limit, post only`, `Conditional Market`, `Stop loss`. */
export const kindOf = (order: Order): string => {
  const { create_type, order_type, post_only, reduce_only, stop_order_type, time_in_force } = order
  if (create_type === "CreateByLiq" || create_type === "CreateByTakeOverPassThrough") return "Liquidation"
  if (create_type === "CreateByAdlPassThrough") return "Auto-deleveraging"
  const leg = stop_order_type === undefined ? "" : legs[stop_order_type]
  if (leg !== "") return leg
  const notes = [
    ...(post_only ? ["post only"] : []),
    ...(order_type === "Limit" && time_in_force !== "GTC" ? [time_in_force] : []),
    ...(reduce_only ? ["reduce only"] : [])
  ]
  const kind = order.trigger === undefined ? order_type : `Conditional ${order_type}`
  return [kind, ...notes].join(", ")
}

const references: Record<TriggerBy, string> = { MarkPrice: "mark", LastPrice: "last", IndexPrice: "index" }

/** What an order waits for: `mark ≥ 61,000.0`. */
export const triggerOf = ({ trigger }: Order, price: (text: string) => string): string =>
  trigger === undefined
    ? ""
    : `${references[trigger.trigger_by]} ${trigger.trigger_direction === "Up" ? "≥" : "≤"} ${price(trigger.trigger_price)}`

const reasons: Record<CancelType, string> = {
  CancelByUser: "by you",
  CancelByReduceOnly: "there was nothing left to reduce",
  CancelAllBeforeLiq: "before the liquidation",
  CancelAllBeforeAdl: "before auto-deleveraging",
  CancelByAdmin: "by the exchange",
  CancelBySettle: "the market was settled",
  CancelByTpSlTsClear: "the position was closed",
  CancelBySmp: "it would have traded with your own order",
  CancelByDcp: "the connection was lost (dead-man's switch)",
  CancelByTimeInForce: "the book had nothing more at its price",
  CancelByExpiry: "it expired",
  CancelByCannotAffordOrderCost: "the account could not afford the fill",
  CancelByOcoTpCanceledBySlTriggered: "the stop loss triggered",
  CancelByOcoSlCanceledByTpTriggered: "the take profit triggered"
}

/** Why an order was canceled; empty: no reason is known. */
export const cancelReason = ({ cancel_type, order_type, side, time_in_force }: Order): string => {
  if (cancel_type === undefined) return ""
  if (cancel_type === "CancelByTimeInForce" && time_in_force === "FOK") return "the book could not fill all of it"
  if (cancel_type === "CancelByTimeInForce" && order_type === "Market")
    return `the book had no more ${side === "Buy" ? "asks" : "bids"} within the price band`
  return reasons[cancel_type] ?? ""
}

/** Status of an order: `Open`, `Partly filled, then canceled`. */
export const statusOf = (order: Order): string => {
  switch (order.order_status) {
    case "New":
      return "Open"
    case "PartiallyFilled":
      return "Partly filled"
    case "Untriggered":
      return "Waits for its trigger"
    case "CancelRequested":
      return "Canceling"
    case "PartiallyFilledCanceled":
      return "Partly filled, rest canceled"
    case "Deactivated":
      return "Canceled"
    default:
      return order.order_status
  }
}

export type Tone = "good" | "bad" | "plain" | "warn"

export interface Outcome {
  readonly tone: Tone
  readonly text: string
}

/** Formats prices and quantities, with the digits of their market. */
export interface Digits {
  readonly price: (symbol: string, text: string) => string
  readonly qty: (symbol: string, text: string) => string
}

/** {@link Digits}, and a format of profit and loss. */
export interface Figures extends Digits {
  readonly gain: (text: string) => string
}

/** Whether an order can only reduce a position. */
export const isClosing = ({ close_on_trigger, reduce_only }: Order): boolean => reduce_only || close_on_trigger

/** `Bought 0.200`, `Sold 0.200 of 0.500`, `Closed 0.500`. */
const doneText = (order: Order, { gain, price, qty }: Figures): string => {
  const { avg_price, cum_exec_qty, qty: whole, side, symbol } = order
  const done = isClosing(order) ? "Closed" : side === "Buy" ? "Bought" : "Sold"
  const amount = cum_exec_qty === whole ? qty(symbol, whole) : `${qty(symbol, cum_exec_qty)} of ${qty(symbol, whole)}`
  const pnl = order.closed_pnl === undefined ? "" : `, PnL ${gain(order.closed_pnl)}`
  const leg = isExit(order) ? `${kindOf(order)}: ` : ""
  return `${leg}${done} ${amount} ${symbol} at ${price(symbol, avg_price)}${pnl}`
}

/** What was wanted: `buy 0.100 BTC-USDC at 59,000.0`. */
const wantedText = ({ order_type, price, qty, side, symbol }: Order, digits: Figures): string =>
  `${side === "Buy" ? "buy" : "sell"} ${digits.qty(symbol, qty)} ${symbol}${
    order_type === "Market" ? "" : ` at ${digits.price(symbol, price)}`
  }`

const restOf = (order: Order, { qty }: Figures): string => {
  const rest = qty(order.symbol, Decimal.format(Decimal.parse(order.qty) - Decimal.parse(order.cum_exec_qty)))
  return `${rest} was not ${isClosing(order) ? "closed" : "filled"}`
}

const because = (order: Order): string => {
  const reason = cancelReason(order)
  return reason === "" || order.cancel_type === "CancelByUser" ? "" : `: ${reason}`
}

/** What became of an order, for its owner; `undefined`: its status says nothing new. */
export const outcomeOf = (order: Order, digits: Figures): Outcome | undefined => {
  const outcome = (tone: Tone, text: string): Outcome => ({ tone, text })
  const price = (text: string): string => digits.price(order.symbol, text)
  switch (order.order_status) {
    case "New":
      if (order.reject_reason !== undefined && order.reject_reason !== "EcNoError") return undefined
      return order.order_type === "Market" ? undefined : outcome("plain", `Open: ${wantedText(order, digits)}`)
    case "Untriggered":
      return isExit(order)
        ? undefined
        : outcome("plain", `Waiting: ${wantedText(order, digits)} when ${triggerOf(order, price)}`)
    case "PartiallyFilled":
    case "Filled":
      return outcome("good", doneText(order, digits))
    case "PartiallyFilledCanceled":
      return outcome(
        order.cancel_type === "CancelByUser" ? "plain" : "warn",
        `${doneText(order, digits)}; ${restOf(order, digits)}${because(order)}`
      )
    case "Rejected":
      return outcome(
        "bad",
        `Rejected: ${wantedText(order, digits)}: ${order.reject_message ?? order.reject_reason ?? ""}`
      )
    case "Canceled": {
      const tone = order.cancel_type === "CancelByUser" ? "plain" : "warn"
      return outcome(tone, `Canceled: ${wantedText(order, digits)}${because(order)}`)
    }
    case "Expired":
      return outcome(
        "plain",
        order.cum_exec_qty === "0"
          ? `Expired: ${wantedText(order, digits)}`
          : `${doneText(order, digits)}; ${restOf(order, digits)}: it expired`
      )
    case "Deactivated":
      return isExit(order) ? undefined : outcome("plain", `Canceled: ${wantedText(order, digits)}${because(order)}`)
    default:
      return undefined
  }
}
