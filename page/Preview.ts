/**
 * What an order would ask of the account, before it is sent: by the same exact formulas as the exchange (`domain/Margin.ts`), on what
 * the feeds tell. A preview, not a promise: the order's turn decides. Values are decimals scaled by 10^18.
 */
import * as Decimal from "../src/domain/Decimal.ts"
import type { Scaled } from "../src/domain/Decimal.ts"
import * as Margin from "../src/domain/Margin.ts"
import type { Instrument, Level, RiskTier } from "../src/domain/Market.ts"
import type { Order } from "../src/domain/Order.ts"
import type { Position } from "../src/domain/Position.ts"

export interface Asked {
  readonly side: "Buy" | "Sell"
  /** What it is expected to cost. */
  readonly price: Scaled
  /** What it may cost at most: the limit, or the protective price of a Market order. Margin is bound at this price. */
  readonly bound: Scaled
  readonly qty: Scaled
  readonly reduceOnly: boolean
}

/** What the account is now. */
export interface Standing {
  /** Available for new orders. */
  readonly available: Scaled
  readonly wallet: Scaled
  /** All open positions of the account. */
  readonly positions: ReadonlyArray<Position>
  /** All open orders of the account. */
  readonly orders: ReadonlyArray<Order>
  /** Leverage that is set in the market of the order. */
  readonly leverage: Scaled
  readonly mark: Scaled
}

export interface Preview {
  /** Quantity × price. */
  readonly value: Scaled
  /** Fee if it takes, at the taker's rate. */
  readonly fee: Scaled
  /** How much more margin the open orders of the market would bind; negative where the order makes room. */
  readonly margin: Scaled
  readonly availableAfter: Scaled
  /** Leverage in effect, which the risk tier may hold below the one that is set. */
  readonly leverage: Scaled
  /** Mark at which the position would be liquidated if the order were filled whole; `undefined`: none within the market's prices. */
  readonly liquidation: Scaled | undefined
  readonly isAffordable: boolean
}

export const tiersOf = (rows: ReadonlyArray<RiskTier>): Margin.RiskTiers =>
  rows.map((row) => ({
    limit: Decimal.parse(row.risk_limit_value),
    initialRate: Decimal.parse(row.initial_margin_rate),
    maintenanceRate: Decimal.parse(row.maintenance_margin_rate),
    deduction: Decimal.parse(row.mm_deduction)
  }))

/** Open orders that bind margin: neither those that only reduce nor those that still wait for their trigger. */
const openOrders = (orders: ReadonlyArray<Order>, symbol: string): Margin.OpenOrders => {
  const sums = { ...Margin.NO_ORDERS }
  for (const order of orders) {
    if (order.symbol !== symbol || order.reduce_only || order.order_status === "Untriggered") continue
    const [size, value] = [Decimal.parse(order.leaves_qty), Decimal.parse(order.leaves_value)]
    if (order.side === "Buy") Object.assign(sums, { buySize: sums.buySize + size, buyValue: sums.buyValue + value })
    else Object.assign(sums, { sellSize: sums.sellSize + size, sellValue: sums.sellValue + value })
  }
  return sums
}

const withOrder = (orders: Margin.OpenOrders, { bound, qty, side }: Asked): Margin.OpenOrders => {
  const value = Decimal.mul(qty, bound, "up")
  return side === "Buy"
    ? { ...orders, buySize: orders.buySize + qty, buyValue: orders.buyValue + value }
    : { ...orders, sellSize: orders.sellSize + qty, sellValue: orders.sellValue + value }
}

const signedSize = (position: Position | undefined): Scaled => {
  if (position === undefined) return 0n
  const size = Decimal.parse(position.size)
  return position.side === "Sell" ? -size : size
}

const sumOf = (positions: ReadonlyArray<Position>, of: (position: Position) => string): Scaled =>
  positions.reduce((sum, position) => sum + Decimal.parse(of(position)), 0n)

/** The mark at which the account could not carry the position any more, had the order been filled whole. */
const liquidationAfter = (
  instrument: Instrument,
  tiers: Margin.RiskTiers,
  standing: Standing,
  held: Position | undefined,
  asked: Asked,
  fee: Scaled
): Scaled | undefined => {
  const position = signedSize(held)
  const entryValue = held === undefined ? 0n : Decimal.mul(Decimal.parse(held.avg_price), Decimal.abs(position), "down")
  const settled = Margin.settle(
    { position, entryValue, openFee: 0n, isolatedMargin: 0n },
    { size: asked.side === "Buy" ? asked.qty : -asked.qty, value: Decimal.mul(asked.qty, asked.price, "up"), fee }
  )
  const others = standing.positions.filter((each) => each !== held && each.margin_mode === "Cross")
  const cushion =
    standing.wallet +
    settled.wallet +
    sumOf(others, (each) => each.unrealised_pnl) -
    sumOf(others, (each) => each.position_mm)
  const limits = {
    tick: Decimal.parse(instrument.price_filter.tick_size),
    min: Decimal.parse(instrument.price_filter.min_price),
    max: Decimal.parse(instrument.price_filter.max_price)
  }
  return Margin.liquidationPrice(tiers, limits, settled.entry.position, settled.entry.entryValue, cushion)
}

export const preview = (instrument: Instrument, tiers: Margin.RiskTiers, standing: Standing, asked: Asked): Preview => {
  const held = standing.positions.find((each) => each.symbol === instrument.symbol)
  const position = signedSize(held)
  const before = openOrders(standing.orders, instrument.symbol)
  const takerFee = Decimal.parse(instrument.taker_fee_rate)
  const figuresOf = (orders: Margin.OpenOrders): Margin.Figures =>
    Margin.figures(tiers, takerFee, {
      position,
      entryValue: 0n,
      value: Decimal.mul(Decimal.abs(position), standing.mark, "up"),
      leverage: standing.leverage,
      orders
    })
  const [now, then] = [figuresOf(before), figuresOf(asked.reduceOnly ? before : withOrder(before, asked))]
  // a larger exposure may lie in a tier that asks more of the position too
  const margin = then.orderMargin + then.initialMargin - now.orderMargin - now.initialMargin
  const value = Decimal.mul(asked.qty, asked.price, "up")
  const fee = Decimal.mul(value, takerFee, "up")
  return {
    value,
    fee,
    margin,
    availableAfter: standing.available - margin,
    leverage: Margin.effectiveLeverage(standing.leverage, tiers[then.exposureTier]!),
    liquidation: liquidationAfter(instrument, tiers, standing, held, asked, fee),
    isAffordable: margin <= 0n || margin <= standing.available
  }
}

/** Protective price of a Market order: mark × (1 ± band), rounded inward to the tick. Source: docs/contract/orders.md#market-orders. */
export const protectivePrice = (
  { price_band, price_filter }: Instrument,
  mark: Scaled,
  side: "Buy" | "Sell"
): Scaled => {
  const [band, tick] = [Decimal.parse(price_band), Decimal.parse(price_filter.tick_size)]
  const factor = side === "Buy" ? Decimal.ONE + band : Decimal.ONE - band
  return Decimal.divide(mark * factor, Decimal.ONE * tick, side === "Buy" ? "down" : "up") * tick
}

/** The average price that a quantity would find in levels, to the tick against the taker; `undefined`: they do not hold it. */
export const priceWithin = (
  levels: ReadonlyArray<Level>,
  qty: Scaled,
  side: "Buy" | "Sell",
  tick: Scaled
): Scaled | undefined => {
  if (qty <= 0n) return undefined
  let left = qty
  let product = 0n
  for (const [price, size] of levels) {
    const taken = Decimal.min(left, Decimal.parse(size))
    product += taken * Decimal.parse(price)
    left -= taken
    if (left === 0n) return Decimal.divide(product, qty * tick, side === "Buy" ? "up" : "down") * tick
  }
  return undefined
}
