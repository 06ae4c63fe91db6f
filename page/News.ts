/** What became of one's orders, in words. */
import type { FeedEvent } from "../src/client/FeedEvent.ts"
import type { Order } from "../src/domain/Order.ts"
import { note, type Tone } from "./Notes.ts"

/** What an order's new status says; `undefined`: nothing that needs telling. */
export const newsOf = (order: Order): { readonly tone: Tone; readonly text: string } | undefined => {
  const { avg_price, cum_exec_qty, order_status, price, qty, reject_message, reject_reason, side, symbol } = order
  const verb = side === "Buy" ? "buy" : "sell"
  const done = side === "Buy" ? "Bought" : "Sold"
  switch (order_status) {
    case "New":
      return order.order_type === "Market"
        ? undefined
        : { tone: "plain", text: `In the book: ${verb} ${qty} ${symbol} at ${price}` }
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

/** Tells of every order that an event changed, a snapshot being no news, and that one was signed out. */
export const tell = (event: FeedEvent): void => {
  if (event.kind === "state" && event.state.type === "ended") note("bad", `Signed out: ${event.state.reason}`)
  if (event.kind !== "order" || event.data.type !== "update") return
  for (const order of event.data.list) {
    const news = newsOf(order)
    if (news !== undefined) note(news.tone, news.text)
  }
}
