/** The ticker, and the countdown to the next funding. */
import type { Ticker } from "../src/domain/Market.ts"
import { fact, h, place, setClass, setText } from "./Dom.ts"
import * as Format from "./Format.ts"
import { drawn, onFrame } from "./Frame.ts"
import type { Market } from "./Market.ts"

/** Time between updates of the countdown and of the age of the last trade, in ms. */
const COUNTDOWN_MS = 1_000
/** Age up to which the last price has the colour of its side, in ms. */
const FRESH_MS = 60_000

const figures: ReadonlyArray<readonly [label: string, hint: string, of: (ticker: Ticker, places: number) => string]> = [
  ["Index", "Price of the underlying", (t, places) => Format.grouped(t.index_price, places)],
  ["24 h", "Price change in 24 hours", (t) => Format.percent(t.price_24h_pcnt, 2)],
  ["High", "24-hour high", (t, places) => Format.grouped(t.high_price_24h, places)],
  ["Low", "24-hour low", (t, places) => Format.grouped(t.low_price_24h, places)],
  ["Turnover", "24-hour turnover in USDC", (t) => Format.grouped(t.turnover_24h, 0)],
  ["Open interest", "In the base asset", (t) => Format.grouped(t.open_interest, 3)]
]

export const mount = (market: Market): void => {
  const bar = place("ticker")
  const mark = fact("Mark", "Price for margin, PnL and liquidation")
  mark.element.classList.add("mark")
  const last = fact("Last", "Price of the last trade, and its age")
  last.element.classList.add("last")
  const cells = figures.map(([label, hint, of]) => ({ ...fact(label, hint), of }))
  const change = cells[figures.findIndex(([label]) => label === "24 h")]!.value
  const funding = fact("Funding", "Predicted rate (if positive, longs pay shorts) and time to the next funding")
  bar.append(mark.element, last.element, ...cells.map(({ element }) => element), funding.element)
  const [lastPrice, lastAge] = [h("span"), h("small", { class: "dim" })]
  last.value.replaceChildren(lastPrice, " ", lastAge)
  let before = ""

  const places = (): number => Format.placesOf(market.instrument.value.price_filter.tick_size)

  /** The last price has its age beside it, so that an old one does not look current. */
  const drawLast = (): void => {
    const trade = market.trades.value[0]
    const age_ms = trade === undefined ? undefined : market.now() - trade.timestamp
    const isFresh = age_ms !== undefined && age_ms <= FRESH_MS
    setText(lastPrice, trade === undefined ? "–" : Format.grouped(trade.price, places()))
    setText(lastAge, age_ms === undefined ? "no trade yet" : Format.ago(age_ms))
    setClass(lastPrice, "up", isFresh && trade?.side === "Buy")
    setClass(lastPrice, "down", isFresh && trade?.side === "Sell")
    setClass(lastPrice, "dim", !isFresh)
  }
  const drawFunding = (): void => {
    const { ticker } = market
    const left = ticker === undefined ? "–" : Format.span(ticker.next_funding_time_ms - market.now())
    setText(funding.value, ticker === undefined ? "–" : `${Format.percent(ticker.funding_rate, 4)} in ${left}`)
  }
  drawn([market.tickers, market.instrument], () => {
    const { ticker } = market
    for (const { of, value } of cells) setText(value, ticker === undefined ? "–" : of(ticker, places()))
    const price = ticker === undefined ? "–" : Format.grouped(ticker.mark_price, places())
    setText(mark.value, price)
    const shown = change.textContent ?? ""
    setClass(change, "down", Format.isNegative(shown))
    setClass(change, "up", !Format.isNegative(shown) && /[1-9]/u.test(shown))
    if (price !== before) document.title = `${price} ${market.symbol} · Gateway`
    before = price
    drawFunding()
  })
  drawn([market.trades, market.instrument], drawLast)
  setInterval(() => {
    onFrame(drawLast)
    onFrame(drawFunding)
  }, COUNTDOWN_MS)
}
