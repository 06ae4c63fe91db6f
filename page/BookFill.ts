/** What an order takes from the order book at once. Values are decimals scaled by 10^18. */
import * as Decimal from "../src/domain/Decimal.ts"
import type { Scaled } from "../src/domain/Decimal.ts"
import type { Side } from "../src/domain/Enumerations.ts"
import type { Level } from "../src/domain/Market.ts"

export interface BookFill {
  readonly qty: Scaled
  /** Σ price × quantity, scaled by 10^36: exact. */
  readonly product: bigint
  /** Price of the best and of the worst level that is taken; 0 where nothing is. */
  readonly best: Scaled
  readonly worst: Scaled
}

const NOTHING: BookFill = { qty: 0n, product: 0n, best: 0n, worst: 0n }

/** Takes up to `qty` from the levels of the other side, none of them worse than `bound`. */
export const fillOf = (levels: ReadonlyArray<Level>, qty: Scaled, side: Side, bound?: Scaled): BookFill => {
  let fill = NOTHING
  for (const [price, size] of levels) {
    const at = Decimal.parse(price)
    const isWorse = bound !== undefined && (side === "Buy" ? at > bound : at < bound)
    const taken = Decimal.min(qty - fill.qty, Decimal.parse(size))
    if (isWorse || taken <= 0n) break
    fill = {
      qty: fill.qty + taken,
      product: fill.product + taken * at,
      best: fill.qty === 0n ? at : fill.best,
      worst: at
    }
  }
  return fill
}

/** The average price of a fill, rounded to the tick against the taker; `undefined`: nothing is filled. */
export const averageOf = ({ product, qty }: BookFill, side: Side, tick: Scaled): Scaled | undefined =>
  qty === 0n ? undefined : Decimal.divide(product, qty * tick, side === "Buy" ? "up" : "down") * tick

/** How much worse the average price is than the best one, as a ratio of the best; not negative. */
export const slippageOf = ({ best, product, qty }: BookFill): Scaled =>
  qty === 0n ? 0n : Decimal.divide(Decimal.abs(product - qty * best) * Decimal.ONE, qty * best, "up")

/** How much can be bought for a value, or is sold for it, within the levels. */
export const qtyForValue = (levels: ReadonlyArray<Level>, value: Scaled): Scaled => {
  let left = value * Decimal.ONE
  let qty = 0n
  for (const [price, size] of levels) {
    const at = Decimal.parse(price)
    const whole = Decimal.parse(size)
    if (left <= whole * at) return qty + left / at
    left -= whole * at
    qty += whole
  }
  return qty
}
