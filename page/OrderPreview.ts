/**
 * The preview of an order: cost, margin and liquidation price, from the exchange's own formulas (`domain/Margin.ts`) and the data of
 * the feeds. The result at execution can differ. Values are decimals scaled by 10^18.
 */
import * as Decimal from "../src/domain/Decimal.ts"
import type { Scaled } from "../src/domain/Decimal.ts"
import * as Margin from "../src/domain/Margin.ts"
import type { Instrument, Level, RiskTier } from "../src/domain/Market.ts"
import type { Order } from "../src/domain/Order.ts"
import type { Position } from "../src/domain/Position.ts"

export interface OrderInput {
  readonly side: "Buy" | "Sell"
  /** Expected average price. */
  readonly price: Scaled
  /** Worst price: the limit, or the protective price of a Market order. Margin is reserved at this price. */
  readonly bound: Scaled
  readonly qty: Scaled
  readonly reduceOnly: boolean
}

/** Current state of the account. */
export interface AccountState {
  /** Available for new orders. */
  readonly available: Scaled
  readonly wallet: Scaled
  /** All open positions of the account. */
  readonly positions: ReadonlyArray<Position>
  /** All open orders of the account. */
  readonly orders: ReadonlyArray<Order>
  /** Leverage set in the market of the order. */
  readonly leverage: Scaled
  readonly mark: Scaled
}

export interface Preview {
  /** Quantity × price. */
  readonly value: Scaled
  /** Fee at the taker rate. */
  readonly fee: Scaled
  /** Change of the margin reserved in this market; negative if the order releases margin. */
  readonly margin: Scaled
  readonly availableAfter: Scaled
  /** Effective leverage; the risk tier may limit it below the setting. */
  readonly leverage: Scaled
  /** Mark price of a liquidation after a complete fill; `undefined`: none within the price limits of the market. */
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

/** Sums of the open orders that reserve margin: without reduce-only and untriggered orders. */
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

const withOrder = (orders: Margin.OpenOrders, { bound, qty, side }: OrderInput): Margin.OpenOrders => {
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

/** The mark price at which the position would be liquidated after a complete fill. */
const liquidationAfter = (
  instrument: Instrument,
  tiers: Margin.RiskTiers,
  state: AccountState,
  held: Position | undefined,
  input: OrderInput,
  fee: Scaled
): Scaled | undefined => {
  const position = signedSize(held)
  const entryValue = held === undefined ? 0n : Decimal.mul(Decimal.parse(held.avg_price), Decimal.abs(position), "down")
  const settled = Margin.settle(
    { position, entryValue, openFee: 0n, isolatedMargin: 0n },
    { size: input.side === "Buy" ? input.qty : -input.qty, value: Decimal.mul(input.qty, input.price, "up"), fee }
  )
  const others = state.positions.filter((each) => each !== held && each.margin_mode === "Cross")
  const buffer =
    state.wallet +
    settled.wallet +
    sumOf(others, (each) => each.unrealised_pnl) -
    sumOf(others, (each) => each.position_mm)
  const limits = {
    tick: Decimal.parse(instrument.price_filter.tick_size),
    min: Decimal.parse(instrument.price_filter.min_price),
    max: Decimal.parse(instrument.price_filter.max_price)
  }
  return Margin.liquidationPrice(tiers, limits, settled.entry.position, settled.entry.entryValue, buffer)
}

export const preview = (
  instrument: Instrument,
  tiers: Margin.RiskTiers,
  state: AccountState,
  input: OrderInput
): Preview => {
  const held = state.positions.find((each) => each.symbol === instrument.symbol)
  const position = signedSize(held)
  const before = openOrders(state.orders, instrument.symbol)
  const takerFee = Decimal.parse(instrument.taker_fee_rate)
  const figuresOf = (orders: Margin.OpenOrders): Margin.Figures =>
    Margin.figures(tiers, takerFee, {
      position,
      entryValue: 0n,
      value: Decimal.mul(Decimal.abs(position), state.mark, "up"),
      leverage: state.leverage,
      orders
    })
  const [now, then] = [figuresOf(before), figuresOf(input.reduceOnly ? before : withOrder(before, input))]
  // a larger exposure can reach a tier with a higher rate for the position too
  const margin = then.orderMargin + then.initialMargin - now.orderMargin - now.initialMargin
  const value = Decimal.mul(input.qty, input.price, "up")
  const fee = Decimal.mul(value, takerFee, "up")
  return {
    value,
    fee,
    margin,
    availableAfter: state.available - margin,
    leverage: Margin.effectiveLeverage(state.leverage, tiers[then.exposureTier]!),
    liquidation: liquidationAfter(instrument, tiers, state, held, input, fee),
    isAffordable: margin <= 0n || margin <= state.available
  }
}

/** The protective price of a Market order: mark × (1 ± band), rounded inward to the tick. Source: docs/contract/orders.md. */
export const protectivePrice = (
  { price_band, price_filter }: Instrument,
  mark: Scaled,
  side: "Buy" | "Sell"
): Scaled => {
  const [band, tick] = [Decimal.parse(price_band), Decimal.parse(price_filter.tick_size)]
  const factor = side === "Buy" ? Decimal.ONE + band : Decimal.ONE - band
  return Decimal.divide(mark * factor, Decimal.ONE * tick, side === "Buy" ? "down" : "up") * tick
}

/** The average price of a quantity in the levels, rounded to the tick against the taker; `undefined`: the levels are too small. */
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
