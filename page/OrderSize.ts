/** Sizes of the order form: in the quote asset, and as a share of what is available. Values are decimals scaled by 10^18. */
import * as Decimal from "../src/domain/Decimal.ts"
import type { Scaled } from "../src/domain/Decimal.ts"
import type * as Margin from "../src/domain/Margin.ts"
import type { Instrument } from "../src/domain/Market.ts"
import { type AccountState, type OrderInput, preview, signedSize } from "./OrderPreview.ts"

/** A quantity down to the step of the market. */
export const toLots = (instrument: Instrument, qty: Scaled): Scaled =>
  Decimal.toStep(qty, Decimal.parse(instrument.lot_size_filter.qty_step), "down")

/** The part of the position that an order of this side can close. */
export const closable = ({ positions }: AccountState, symbol: string, side: "Buy" | "Sell"): Scaled => {
  const position = signedSize(positions.find((each) => each.symbol === symbol))
  return side === "Buy" ? Decimal.max(0n, -position) : Decimal.max(0n, position)
}

/** The largest quantity, to the step, that the account can pay for; of a reduce-only order what it can close. */
export const largestQty = (
  instrument: Instrument,
  tiers: Margin.RiskTiers,
  state: AccountState,
  order: Omit<OrderInput, "qty" | "taken">,
  isMarket: boolean
): Scaled => {
  const { lot_size_filter, symbol } = instrument
  const step = Decimal.parse(lot_size_filter.qty_step)
  const limit = Decimal.parse(isMarket ? lot_size_filter.max_mkt_order_qty : lot_size_filter.max_order_qty)
  if (order.reduceOnly) return Decimal.min(limit, closable(state, symbol, order.side))
  const fits = (lots: bigint): boolean => {
    const { isAffordable, isWithinRiskLimit } = preview(instrument, tiers, state, {
      ...order,
      qty: lots * step,
      taken: 0n
    })
    return isAffordable && isWithinRiskLimit
  }
  // margin never falls as the quantity grows, so bisection finds the last one that fits
  let [low, high] = [0n, limit / step]
  while (low < high) {
    const middle = (low + high + 1n) / 2n
    if (fits(middle)) low = middle
    else high = middle - 1n
  }
  return low * step
}

/** A share of a quantity in percent, down to the step. */
export const shareOf = (instrument: Instrument, whole: Scaled, percent: number): Scaled =>
  toLots(instrument, (whole * BigInt(percent)) / 100n)

/** The share that a quantity is of a whole, in whole percent, at most 100. */
export const percentOf = (qty: Scaled, whole: Scaled): number =>
  whole === 0n ? 0 : Number(Decimal.min(100n, (qty * 100n) / whole))
