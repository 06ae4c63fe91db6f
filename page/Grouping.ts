/** Grouping of book levels: bids down and asks up to a multiple of a step, so that no price looks better than it is. */
import * as Decimal from "../src/domain/Decimal.ts"
import type { Level } from "../src/domain/Market.ts"
import type { Order } from "../src/domain/Order.ts"

/** Steps to choose from, as multiples of the market's tick. */
export const multiples = ["1", "10", "100", "1000"] as const
export type Multiple = (typeof multiples)[number]

/** The step as decimal text. */
export const stepOf = (tick: string, multiple: Multiple): string =>
  Decimal.format(Decimal.parse(tick) * BigInt(multiple))

/** The multiple of the step in which a price is shown. */
const groupOf = (price: string, step: string, isBid: boolean): string => {
  const size = Decimal.parse(step)
  return Decimal.format(Decimal.divide(Decimal.parse(price), size, isBid ? "down" : "up") * size)
}

/** Levels of one side, best first, with the sums of their groups. */
export const groupLevels = (levels: ReadonlyArray<Level>, step: string, isBid: boolean): ReadonlyArray<Level> => {
  const groups = new Map<string, bigint>()
  for (const [price, qty] of levels) {
    const group = groupOf(price, step, isBid)
    groups.set(group, (groups.get(group) ?? 0n) + Decimal.parse(qty))
  }
  return [...groups].map(([price, qty]) => [price, Decimal.format(qty)] as const)
}

/** The groups in which a user has orders. One that has not triggered is not in the book. */
export const ownGroups = (
  orders: ReadonlyArray<Pick<Order, "order_status" | "price" | "side" | "symbol">>,
  symbol: string,
  step: string
): ReadonlySet<string> =>
  new Set(
    orders
      .filter((order) => order.symbol === symbol && order.order_status !== "Untriggered")
      .map(({ price, side }) => groupOf(price, step, side === "Buy"))
  )
