/** Market and candle interval in the page's address, so that a link and a reload show them again; a new tab starts with the last ones. */
import type { Interval } from "../src/domain/Enumerations.ts"
import { drawn } from "./Frame.ts"
import { intervals, type Market } from "./Market.ts"

const LAST = "trading-gateway/view"

interface View {
  readonly symbol: string | undefined
  readonly interval: Interval
}

/** Market and interval of a query; an unknown interval is that of one minute. */
const viewOf = (query: string): View => {
  const search = new URLSearchParams(query)
  const interval = intervals.find((each) => each === search.get("interval"))
  return { symbol: search.get("market") ?? undefined, interval: interval ?? "1" }
}

/** View of the address, or the last one. */
export const firstView = (): View =>
  viewOf(location.search === "" ? (localStorage.getItem(LAST) ?? "") : location.search)

/** Keeps the address and the last view up to date. */
export const mount = (market: Market): void =>
  drawn([market.instrument, market.interval], () => {
    const query = `?${new URLSearchParams({ market: market.symbol, interval: market.interval.value }).toString()}`
    localStorage.setItem(LAST, query)
    if (query !== location.search) history.replaceState(null, "", query)
  })
