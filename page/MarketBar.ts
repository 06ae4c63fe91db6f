/** The market selector: a filter by name, favourites first. */
import type { Instrument } from "../src/domain/Market.ts"
import { h, place, rows, setAttribute, setClass, setText } from "./Dom.ts"
import * as Format from "./Format.ts"
import { drawn, Live } from "./Frame.ts"
import type { Market } from "./Market.ts"

const FAVOURITES = "trading-gateway/favourites"

/** Markets whose name contains the text, favourites first, each group in the given order. */
export const found = <A extends { readonly symbol: string }>(
  markets: ReadonlyArray<A>,
  text: string,
  favourites: ReadonlySet<string>
): ReadonlyArray<A> => {
  const matching = markets.filter(({ symbol }) => symbol.includes(text.trim().toUpperCase()))
  const isFavourite = ({ symbol }: A): boolean => favourites.has(symbol)
  return [...matching.filter(isFavourite), ...matching.filter((each) => !isFavourite(each))]
}

export const mount = (market: Market): void => {
  const text = new Live("")
  const favourites = new Live<ReadonlySet<string>>(
    new Set((localStorage.getItem(FAVOURITES) ?? "").split(",").filter((symbol) => symbol !== ""))
  )
  const toggle = (symbol: string): void => {
    const next = new Set(favourites.value)
    if (!next.delete(symbol)) next.add(symbol)
    localStorage.setItem(FAVOURITES, [...next].join(","))
    favourites.set(next)
  }
  const search = h("input", {
    id: "market-search",
    type: "search",
    placeholder: "Search",
    autocomplete: "off",
    spellcheck: "false",
    "aria-label": "Search markets: Enter selects the first"
  })
  const list = h("div", { class: "market-list" })
  const shown = (): ReadonlyArray<Instrument> => found(market.instruments, text.value, favourites.value)
  search.addEventListener("input", () => text.set(search.value))
  search.addEventListener("keydown", ({ key }) => {
    const first = shown()[0]
    if (key === "Enter" && first !== undefined) market.choose(first)
    if (key !== "Enter" && key !== "Escape") return
    search.value = ""
    text.set("")
  })
  place("markets").append(search, list)

  const show = rows(
    list,
    ({ symbol }: Instrument) => symbol,
    (instrument) => {
      const { symbol } = instrument
      const price = h("span", { class: "number" })
      const places = Format.placesOf(instrument.price_filter.tick_size)
      const star = h(
        "button",
        { type: "button", class: "star", "aria-label": `Favourite: ${symbol}`, onclick: () => toggle(symbol) },
        "★"
      )
      const choice = h(
        "button",
        { type: "button", class: "market", onclick: () => market.choose(instrument) },
        h("span", {}, symbol),
        price
      )
      return {
        element: h("div", { class: "market-choice" }, star, choice),
        show: () => {
          const ticker = market.tickers.value.get(symbol)
          setText(price, ticker === undefined ? "–" : Format.grouped(ticker.mark_price, places))
          setClass(price, "down", ticker !== undefined && Format.isNegative(ticker.price_24h_pcnt))
          setAttribute(choice, "aria-pressed", String(market.symbol === symbol))
          setAttribute(star, "aria-pressed", String(favourites.value.has(symbol)))
        }
      }
    }
  )
  drawn([market.tickers, market.instrument, text, favourites], () => show(shown()))
  // on a narrow screen the list scrolls
  drawn([market.instrument], () =>
    list.querySelector('[aria-pressed="true"].market')?.scrollIntoView({ block: "nearest", inline: "nearest" })
  )
}
