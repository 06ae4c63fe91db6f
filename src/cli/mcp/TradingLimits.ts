/** What a program may trade over MCP. The limits hold in this process, before a request is sent. */
import { Effect } from "effect"
import type { Client } from "../../client/index.ts"
import * as Decimal from "../../domain/Decimal.ts"
import { mul } from "../../domain/Scaled.ts"

export interface TradingLimits {
  readonly symbols: ReadonlySet<string>
  /** Largest value of one order, in the quote asset. */
  readonly maxOrder: Decimal.Scaled
  /** Largest value of all positions and open orders together, in the quote asset. */
  readonly maxTotal: Decimal.Scaled
}

export interface Exposure {
  readonly positions: ReadonlyArray<{ readonly position_value: string }>
  readonly orders: ReadonlyArray<{ readonly leaves_value: string; readonly reduce_only: boolean }>
}

/** Open orders that a check of the limits reads. */
export const OPEN_ORDERS_PAGE = 200

/**
 * Positions and open orders of a sub-account; `undefined`: it has more than {@link OPEN_ORDERS_PAGE} open orders. Orders are
 * read first: what fills between the two reads counts twice, not never. Fails as the two requests do.
 */
export const exposureOf = Effect.fnUntraced(function* (
  { order, position }: Pick<Client.Client, "order" | "position">,
  sub_account_address: string
) {
  const orders = yield* order.realtime({ query: { sub_account_address, limit: OPEN_ORDERS_PAGE } })
  const positions = yield* position.list({ query: { sub_account_address } })
  return orders.next_page_cursor === "" ? { positions: positions.list, orders: orders.list } : undefined
})

export interface NewOrder {
  readonly symbol: string
  readonly qty: string
  readonly price: string
  readonly reduce_only?: boolean
}

const sum = (values: ReadonlyArray<string>): Decimal.Scaled =>
  values.reduce((total, value) => total + Decimal.parse(value), 0n)

/** The limit that an order exceeds, as a sentence; `undefined`: none. An order that only reduces may exceed the total. */
export const exceeded = (limits: TradingLimits, order: NewOrder, exposure: Exposure): string | undefined => {
  if (!limits.symbols.has(order.symbol))
    return `symbol is ${order.symbol}; this server may trade ${[...limits.symbols].join(", ")}`
  const value = mul(Decimal.parse(order.qty), Decimal.parse(order.price), "up")
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
