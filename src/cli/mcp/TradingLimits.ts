/** What a program may trade over MCP. The limits hold in this process, before a request is sent. */
import { Effect } from "effect"
import type { Client } from "../../client/index.ts"
import * as Decimal from "../../domain/Decimal.ts"
import type { Side } from "../../domain/Enumerations.ts"
import { mul } from "../../domain/Scaled.ts"

export interface TradingLimits {
  readonly symbols: ReadonlySet<string>
  /** Largest value of one order, in the quote asset. */
  readonly maxOrder: Decimal.Scaled
  /** Largest value of all positions and open orders together, in the quote asset. */
  readonly maxTotal: Decimal.Scaled
}

export interface NewOrder {
  readonly symbol: string
  readonly side: Side
  readonly qty: string
  readonly price: string
  readonly reduce_only?: boolean
}

/** What a check of the limits reads. */
export interface Exposure {
  readonly positions: ReadonlyArray<{ readonly position_value: string }>
  readonly orders: ReadonlyArray<{ readonly leaves_value: string; readonly reduce_only: boolean }>
  /** Best bid of the market of a sale; `undefined`: there is none, or the order buys. */
  readonly bid: string | undefined
}

/** Positions, and open orders, that a check of the limits reads. */
export const PAGE = 200

/**
 * Positions and open orders of a sub-account; `undefined`: it has more than {@link PAGE} of either. Orders are read first: what fills
 * between the two reads counts twice, not never. Fails as the requests do.
 */
export const exposureOf = Effect.fnUntraced(function* (
  { market, order: orders, position: positions }: Pick<Client.Client, "market" | "order" | "position">,
  sub_account_address: string,
  { side, symbol }: Pick<NewOrder, "side" | "symbol">
) {
  const query = { sub_account_address, limit: PAGE }
  const open = yield* orders.realtime({ query })
  const held = yield* positions.list({ query })
  if (open.next_page_cursor !== "" || held.next_page_cursor !== "") return undefined
  const bids = side === "Sell" ? (yield* market.orderbook({ query: { symbol, depth: 1 } })).bids : []
  return { positions: held.list, orders: open.list, bid: bids[0]?.[0] }
})

/** Why a market may not be traded; `undefined`: it may. */
export const wrongMarket = ({ symbols }: TradingLimits, symbol: string): string | undefined =>
  symbols.has(symbol) ? undefined : `symbol is ${symbol}; this server may trade ${[...symbols].join(", ")}`

/** What an order can trade. The price of a sale is its lowest one: it sells at the bids above it. */
const valueOf = ({ price, qty }: NewOrder, { bid }: Exposure): Decimal.Scaled =>
  mul(Decimal.parse(qty), Decimal.max(Decimal.parse(price), Decimal.parse(bid ?? "0")), "up")

const sum = (values: ReadonlyArray<string>): Decimal.Scaled =>
  values.reduce((total, value) => total + Decimal.parse(value), 0n)

/** The value that an order exceeds, as a sentence; `undefined`: none. An order that only reduces may exceed the total. */
export const exceeded = (limits: TradingLimits, order: NewOrder, exposure: Exposure): string | undefined => {
  const value = valueOf(order, exposure)
  if (value > limits.maxOrder)
    return `the order's value is ${Decimal.format(value)}; at most ${Decimal.format(limits.maxOrder)} is allowed`
  if (order.reduce_only === true) return undefined
  const held = sum([
    ...exposure.positions.map(({ position_value }) => position_value),
    ...exposure.orders.filter(({ reduce_only }) => !reduce_only).map(({ leaves_value }) => leaves_value)
  ])
  return held + value <= limits.maxTotal
    ? undefined
    : `positions and open orders are worth ${Decimal.format(held)}, and ${Decimal.format(held + value)} with this order; at most ${Decimal.format(limits.maxTotal)} is allowed`
}
