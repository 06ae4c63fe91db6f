/** The order in the form: checked against the rules of the market and previewed against the account. */
import * as Decimal from "../src/domain/Decimal.ts"
import * as OrderRules from "../src/domain/OrderRules.ts"
import type { Market } from "./Market.ts"
import { preview, type Preview, priceWithin, protectivePrice, tiersOf } from "./OrderPreview.ts"
import type { Session } from "./Session.ts"

/** Order types of the form, with the fields that are sent for each. */
export const kinds = {
  Limit: { order_type: "Limit", time_in_force: "GTC" },
  Market: { order_type: "Market", time_in_force: "IOC" },
  "Post only": { order_type: "Limit", time_in_force: "PostOnly" },
  IOC: { order_type: "Limit", time_in_force: "IOC" },
  FOK: { order_type: "Limit", time_in_force: "FOK" }
} as const
export type Kind = keyof typeof kinds

export interface Draft {
  readonly side: "Buy" | "Sell"
  readonly kind: Kind
  /** As typed; empty for a Market order. */
  readonly price: string
  readonly qty: string
  readonly reduceOnly: boolean
}

/** The error of a draft, or its preview; a preview is `undefined` until the account has loaded. */
export type DraftCheck = { readonly wrong: string } | { readonly preview: Preview | undefined }

/** The first rule that the draft breaks, with the API's message. */
const errorOf = ({ kind, price, qty, reduceOnly }: Draft, market: Market): string | undefined => {
  const instrument = market.instrument.value
  const rules = OrderRules.make({ ...instrument.price_filter, ...instrument.lot_size_filter })
  const ticks = kind === "Market" ? undefined : OrderRules.checkPrice(rules, price)
  if (typeof ticks === "object") return ticks.message
  const lots = OrderRules.checkQty(rules, qty, kind === "Market", false)
  if (typeof lots === "object") return lots.message
  return ticks === undefined || reduceOnly ? undefined : OrderRules.checkNotional(rules, ticks, lots)?.message
}

/** The expected price of an order: its limit, or the average price in the book. */
const priceOf = ({ kind, price, side }: Draft, market: Market, qty: bigint): bigint | undefined => {
  if (kind !== "Market") return Decimal.parse(price)
  const book = market.book.value
  const levels = side === "Buy" ? book?.asks() : book?.bids()
  return priceWithin(levels ?? [], qty, side, Decimal.parse(market.instrument.value.price_filter.tick_size))
}

/** Checks a draft; `undefined` while it is incomplete. */
export const checkDraft = (
  draft: Draft,
  market: Market,
  session: Session,
  leverage: string | undefined
): DraftCheck | undefined => {
  const { kind, reduceOnly, side } = draft
  if (draft.qty === "" || (kind !== "Market" && draft.price === "")) return undefined
  const wrong = errorOf(draft, market)
  if (wrong !== undefined) return { wrong }
  const instrument = market.instrument.value
  const qty = Decimal.parse(draft.qty)
  const price = priceOf(draft, market, qty)
  if (price === undefined) return { wrong: "the order book is not deep enough for this size" }
  const [balance, { ticker }] = [session.balance(), market]
  if (balance === undefined || ticker === undefined || leverage === undefined) return { preview: undefined }
  const { orders, positions } = session.account.value
  const mark = Decimal.parse(ticker.mark_price)
  const state = {
    available: Decimal.parse(balance.available_balance),
    wallet: Decimal.parse(balance.wallet_balance),
    positions: session.own(positions),
    orders: session.own(orders),
    leverage: Decimal.parse(leverage),
    mark
  }
  const tiers = tiersOf(market.tiers.filter((tier) => tier.symbol === instrument.symbol))
  const bound = kind === "Market" ? protectivePrice(instrument, mark, side) : price
  return { preview: preview(instrument, tiers, state, { side, price, bound, qty, reduceOnly }) }
}
