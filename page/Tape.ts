/** The tape: recent trades, newest first. */
import type { PublicTrade } from "../src/domain/Market.ts"
import { h, place, rows, setClass, setText } from "./Dom.ts"
import * as Format from "./Format.ts"
import { drawn } from "./Frame.ts"
import type { Market } from "./Market.ts"

/** Trades shown. */
const SHOWN = 30

const row = () => {
  const [price, qty, time] = [h("td", { class: "price" }), h("td"), h("td", { class: "dim" })]
  return { price, qty, time, element: h("tr", {}, price, qty, time) }
}

export const mount = (market: Market): void => {
  const body = h("tbody")
  const empty = h("p", { class: "empty" }, "No trades yet.")
  const head = h("thead", {}, h("tr", {}, h("th", {}, "Price"), h("th", {}, "Size"), h("th", {}, "Time")))
  place("tape").append(
    h("h2", {}, "Trades"),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Recent trades" },
      h("table", {}, head, body),
      empty
    )
  )
  const show = rows(
    body,
    (trade: PublicTrade) => trade.trade_id,
    () => {
      const cells = row()
      return {
        element: cells.element,
        show: (trade: PublicTrade) => {
          const { lot_size_filter, price_filter } = market.instrument.value
          setClass(cells.price, "up", trade.side === "Buy")
          setClass(cells.price, "down", trade.side === "Sell")
          setText(cells.price, Format.grouped(trade.price, Format.placesOf(price_filter.tick_size)))
          setText(cells.qty, Format.grouped(trade.qty, Format.placesOf(lot_size_filter.qty_step)))
          setText(cells.time, `${Format.clock(trade.timestamp)}${trade.is_liquidation ? " liq." : ""}`)
        }
      }
    }
  )
  drawn([market.trades], () => {
    const trades = market.trades.value.slice(0, SHOWN)
    show(trades)
    empty.hidden = trades.length > 0
  })
}
