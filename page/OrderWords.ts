/** Orders in the words of a trader. */
import type { CancelType, TriggerBy } from "../src/domain/Enumerations.ts"
import type { Order } from "../src/domain/Order.ts"

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
  CancelByTimeInForce: "the book had nothing more at this price",
  CancelByExpiry: "it expired",
  CancelByCannotAffordOrderCost: "its margin was needed to close a position",
  CancelByOcoTpCanceledBySlTriggered: "the stop loss triggered",
  CancelByOcoSlCanceledByTpTriggered: "the take profit triggered"
}

/** Why an order was canceled; empty: no reason is known. */
export const cancelReason = ({ cancel_type }: Order): string =>
  cancel_type === undefined ? "" : (reasons[cancel_type] ?? "")

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
