/** What the tables and dialogs of the account share: formats by market, the newest marks, and buttons with requests. */
import { h } from "./Dom.ts"
import * as Format from "./Format.ts"
import { Live } from "./Frame.ts"
import type { Market } from "./Market.ts"
import type { Session } from "./Session.ts"
import type { Tone } from "./Table.ts"
import { whileBusy } from "./Toasts.ts"

export interface AccountView {
  readonly market: Market
  readonly session: Session
  /** Whether positions and open orders of other markets are left out. */
  readonly onlyHere: Live<boolean>
  /** A price with the digits of its market; `–` for none. */
  readonly price: (symbol: string, text: string) => string
  readonly qty: (symbol: string, text: string) => string
  readonly markOf: (symbol: string) => string | undefined
}

export const accountView = (market: Market, session: Session): AccountView => {
  const places = (symbol: string): { readonly price: number; readonly qty: number } => {
    const found = market.instruments.find((each) => each.symbol === symbol)
    if (found === undefined) return { price: 2, qty: 3 }
    return {
      price: Format.placesOf(found.price_filter.tick_size),
      qty: Format.placesOf(found.lot_size_filter.qty_step)
    }
  }
  return {
    market,
    session,
    onlyHere: new Live(false),
    price: (symbol, text) => (text === "" || text === "0" ? "–" : Format.grouped(text, places(symbol).price)),
    qty: (symbol, text) => Format.grouped(text, places(symbol).qty),
    markOf: (symbol) => market.tickers.value.get(symbol)?.mark_price
  }
}

/** A button of a row; `name` is for screen readers. */
export const rowButton = (label: string, name: string, act: () => Promise<void>): HTMLButtonElement => {
  const made: HTMLButtonElement = h(
    "button",
    { type: "button", class: "quiet", "aria-label": name, onclick: () => whileBusy(made, act) },
    label
  )
  return made
}

export const bySide = ({ side }: { readonly side: string }): Tone => (side === "Buy" ? "up" : "down")

/** The colour of a profit or loss; none for zero. */
export const byGain = (text: string): Tone | undefined =>
  /^-?0?(?:\.0*)?$/u.test(text) ? undefined : Format.isNegative(text) ? "down" : "up"
