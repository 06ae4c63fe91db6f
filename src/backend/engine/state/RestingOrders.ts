/** The resting orders of a market in the order of their priority. */
import { Side } from "../../../proto/gateway/v1/types.ts"
import * as OrderBook from "../book/OrderBook.ts"
import type { MarketState, Order, State } from "./State.ts"

/** Resting orders of a market: bids before asks, each side by priority. */
export const restingOrders = (state: State, { book }: MarketState): ReadonlyArray<Order> => {
  const orders: Array<Order> = []
  for (const side of [Side.SIDE_BUY, Side.SIDE_SELL] as const)
    for (let slot = book.first(side); slot !== OrderBook.NONE; slot = book.after(slot))
      orders.push(state.orders.at(slot))
  return orders
}
