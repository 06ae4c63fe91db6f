/** Toasts about the user's orders. */
import type { FeedEvent } from "../src/client/FeedEvent.ts"
import type { Order } from "../src/domain/Order.ts"
import { toast, type Tone } from "./Toasts.ts"

/** The toast for an order's new status; `undefined`: none. */
export const toastOf = (order: Order): { readonly tone: Tone; readonly text: string } | undefined => {
  const { avg_price, cum_exec_qty, order_status, price, qty, reject_message, reject_reason, side, symbol } = order
  const verb = side === "Buy" ? "buy" : "sell"
  const done = side === "Buy" ? "Bought" : "Sold"
  switch (order_status) {
    case "New":
      return order.order_type === "Market"
        ? undefined
        : { tone: "plain", text: `Order open: ${verb} ${qty} ${symbol} at ${price}` }
    case "PartiallyFilled":
      return { tone: "good", text: `${done} ${cum_exec_qty} of ${qty} ${symbol} at ${avg_price}` }
    case "Filled":
      return { tone: "good", text: `${done} ${cum_exec_qty} ${symbol} at ${avg_price}` }
    case "Rejected":
      return { tone: "bad", text: `Rejected: ${reject_message ?? reject_reason ?? "no reason given"}` }
    case "Canceled":
    case "PartiallyFilledCanceled":
    case "Expired":
    case "Deactivated":
      return { tone: "plain", text: `${order_status === "Expired" ? "Expired" : "Canceled"}: ${verb} ${qty} ${symbol}` }
    default:
      return undefined
  }
}

/** Shows a toast for each changed order and for the end of the session. Snapshots show none. */
export const onEvent = (event: FeedEvent): void => {
  if (event.kind === "state" && event.state.type === "ended") toast("bad", `Signed out: ${event.state.reason}`)
  if (event.kind !== "order" || event.data.type !== "update") return
  for (const order of event.data.list) {
    const shown = toastOf(order)
    if (shown !== undefined) toast(shown.tone, shown.text)
  }
}
