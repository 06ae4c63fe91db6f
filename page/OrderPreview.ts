/**
 * The preview of an order: cost, margin and liquidation price, from the exchange's own formulas (`domain/Margin.ts`) and the data of
 * the feeds. The result at execution can differ. Values are decimals scaled by 10^18.
 */
import * as Decimal from "../src/domain/Decimal.ts"
import type { Scaled } from "../src/domain/Decimal.ts"
import * as Margin from "../src/domain/Margin.ts"
import type { MarginMode } from "../src/domain/Enumerations.ts"
import type { Instrument, RiskTier } from "../src/domain/Market.ts"
import type { Order } from "../src/domain/Order.ts"
import type { Position } from "../src/domain/Position.ts"

export interface OrderInput {
  readonly side: "Buy" | "Sell"
  /** Expected average price. */
  readonly price: Scaled
  /** Worst price: the limit, or the protective price of a Market order. Margin is reserved at this price. */
  readonly bound: Scaled
  readonly qty: Scaled
  /** Part of the quantity that fills at once, at the taker rate; the rest pays the maker rate. */
  readonly taken: Scaled
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
  /** Leverage and margin mode set in the market of the order. */
  readonly leverage: Scaled
  readonly mode: MarginMode
  readonly mark: Scaled
}

export interface Preview {
  /** Quantity × price. */
  readonly value: Scaled
  readonly fee: Scaled
  /** Change of the margin reserved in this market; negative if the order releases margin. */
  readonly margin: Scaled
  readonly availableAfter: Scaled
  /** Effective leverage; the risk tier may limit it below the setting. */
  readonly leverage: Scaled
  /** Mark price of a liquidation after a complete fill; `undefined`: none within the price limits of the market. */
  readonly liquidation: Scaled | undefined
  readonly isAffordable: boolean
  /** Whether position and orders stay within the last risk limit of the market. */
  readonly isWithinRiskLimit: boolean
}

export const tiersOf = (rows: ReadonlyArray<RiskTier>): Margin.RiskTiers =>
  rows.map((row) => ({
    limit: Decimal.parse(row.risk_limit_value),
    initialRate: Decimal.parse(row.initial_margin_rate),
    maintenanceRate: Decimal.parse(row.maintenance_margin_rate),
    deduction: Decimal.parse(row.mm_deduction)
  }))

/** Sums of the open orders that reserve margin: without reduce-only and untriggered orders. */
export const openOrders = (orders: ReadonlyArray<Order>, symbol: string): Margin.OpenOrders => {
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

export const signedSize = (position: Position | undefined): Scaled => {
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
  const isIsolated = state.mode === "Isolated"
  const lock = isIsolated ? (value: Scaled) => Decimal.div(value, state.leverage, "up") : undefined
  // a reduce-only order closes at most the position
  const qty = input.reduceOnly ? Decimal.min(input.qty, Decimal.abs(position)) : input.qty
  if (qty === 0n) return undefined
  const settled = Margin.settle(
    { position, entryValue, openFee: 0n, isolatedMargin: Decimal.parse(held?.isolated_margin ?? "0") },
    { size: input.side === "Buy" ? qty : -qty, value: Decimal.mul(qty, input.price, "up"), fee, lock }
  )
  const others = state.positions.filter((each) => each !== held && each.margin_mode === "Cross")
  const cushion = isIsolated
    ? settled.entry.isolatedMargin
    : state.wallet +
      settled.wallet +
      sumOf(others, (each) => each.unrealised_pnl) -
      sumOf(others, (each) => each.position_mm)
  const { entryValue: value, position: size } = settled.entry
  return Margin.liquidationPrice(tiers, limitsOf(instrument), size, value, cushion)
}

/** Range of prices that a record of the market can show. */
export const limitsOf = ({ price_filter }: Instrument): Margin.PriceLimits => ({
  tick: Decimal.parse(price_filter.tick_size),
  min: Decimal.parse(price_filter.min_price),
  max: Decimal.parse(price_filter.max_price)
})

/** The margin figures of a market for a leverage and open orders. */
export const figuresOf = (
  instrument: Instrument,
  tiers: Margin.RiskTiers,
  { mark }: AccountState,
  position: Scaled,
  leverage: Scaled,
  orders: Margin.OpenOrders
): Margin.Figures =>
  Margin.figures(tiers, Decimal.parse(instrument.taker_fee_rate), {
    position,
    entryValue: 0n,
    value: Decimal.mul(Decimal.abs(position), mark, "up"),
    leverage,
    orders
  })

/** Margin that lowers what is available: an isolated position holds its own. */
export const reserved = (figures: Margin.Figures, mode: MarginMode): Scaled =>
  figures.orderMargin + (mode === "Cross" ? figures.initialMargin : 0n)

export const preview = (
  instrument: Instrument,
  tiers: Margin.RiskTiers,
  state: AccountState,
  input: OrderInput
): Preview => {
  const held = state.positions.find((each) => each.symbol === instrument.symbol)
  const position = signedSize(held)
  const before = openOrders(state.orders, instrument.symbol)
  const after = input.reduceOnly ? before : withOrder(before, input)
  const figures = (orders: Margin.OpenOrders) => figuresOf(instrument, tiers, state, position, state.leverage, orders)
  const then = figures(after)
  // a larger exposure can reach a tier with a higher rate for the position too
  const margin = reserved(then, state.mode) - reserved(figures(before), state.mode)
  const value = Decimal.mul(input.qty, input.price, "up")
  const rates = { taker: Decimal.parse(instrument.taker_fee_rate), maker: Decimal.parse(instrument.maker_fee_rate) }
  const rated = input.taken * rates.taker + (input.qty - input.taken) * rates.maker
  const fee = input.qty === 0n ? 0n : Decimal.divide(value * rated, input.qty * Decimal.ONE, "up")
  const exposure = Margin.exposure(then.value, Margin.openingValue(position, after))
  return {
    value,
    fee,
    margin,
    availableAfter: state.available - margin,
    leverage: Margin.effectiveLeverage(state.leverage, tiers[then.exposureTier]!),
    liquidation: liquidationAfter(instrument, tiers, state, held, input, fee),
    isAffordable: margin <= 0n || margin <= state.available,
    isWithinRiskLimit: input.reduceOnly || !Margin.beyondRiskLimit(tiers, exposure)
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
