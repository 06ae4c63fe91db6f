/**
 * The margin formulas of docs/contract/exchange.md#margin, pure and exact.
 *
 * Values are decimals scaled by 10^18 ({@link Scaled}). Sizes are integers in any one unit (lots, or scaled
 * quantities). Sizes named position are signed: a long is positive. Only prices depend on the scale of the size, so
 * {@link liquidationPrice} and {@link bustPrice} need scaled sizes. Each formula is one exact fraction, rounded once:
 * margins up, credits down.
 */
import { abs, divide, max, min, mul, ONE, type Scaled } from "./Decimal.ts"

/**
 * One tier of a market's risk limit. A value equal to `limit` is inside. The rates of the last tier also apply above
 * its limit.
 */
export interface RiskTier {
  readonly limit: Scaled
  readonly initialRate: Scaled
  readonly maintenanceRate: Scaled
  readonly deduction: Scaled
}

export type RiskTiers = ReadonlyArray<RiskTier>

/**
 * Tiers with the deductions that make the maintenance margin continuous. Source:
 * docs/contract/exchange.md#risk-tiers.
 */
export const tiersOf = (
  rows: ReadonlyArray<{ readonly limit: Scaled; readonly initialRate: Scaled; readonly maintenanceRate: Scaled }>
): RiskTiers => {
  const tiers: Array<RiskTier> = []
  for (const row of rows) {
    const below = tiers.at(-1)
    const deduction =
      below === undefined
        ? 0n
        : below.deduction + mul(below.limit, row.maintenanceRate - below.maintenanceRate, "toward-zero")
    tiers.push({ ...row, deduction })
  }
  return tiers
}

/** Index of the tier of a value. */
export const tierAt = (tiers: RiskTiers, value: Scaled): number => {
  const last = tiers.length - 1
  for (let i = 0; i < last; i++) if (value <= tiers[i]!.limit) return i
  return last
}

/** Profit of a position at a value; exact. `position` gives only the sign. */
export const unrealisedPnl = (position: bigint | number, entryValue: Scaled, value: Scaled): Scaled =>
  position < 0 ? entryValue - value : value - entryValue

const SQUARE = ONE * ONE

/** Whether the tier permits the set leverage; else the effective leverage is 1 / IMR. */
const isSetLeverageAllowed = (leverage: Scaled, tier: RiskTier): boolean => leverage * tier.initialRate <= SQUARE

/** Effective leverage, for display: min(set leverage, 1 / IMR), truncated. */
export const effectiveLeverage = (leverage: Scaled, tier: RiskTier): Scaled =>
  isSetLeverageAllowed(leverage, tier) ? leverage : SQUARE / tier.initialRate

/** V / L, rounded up. */
export const initialMargin = (value: Scaled, leverage: Scaled, tier: RiskTier): Scaled =>
  isSetLeverageAllowed(leverage, tier) ? divide(value * ONE, leverage, "up") : mul(value, tier.initialRate, "up")

/** V × MMR − deduction, rounded up; the tier is that of V. */
export const maintenanceMargin = (tiers: RiskTiers, value: Scaled): Scaled => {
  const tier = tiers[tierAt(tiers, value)]!
  return mul(value, tier.maintenanceRate, "up") - tier.deduction
}

/** Open quantities of one market and their values; reduce-only and conditional orders are left out. */
export interface OpenOrders {
  readonly buySize: bigint
  readonly buyValue: Scaled
  readonly sellSize: bigint
  readonly sellValue: Scaled
}

export const NO_ORDERS: OpenOrders = { buySize: 0n, buyValue: 0n, sellSize: 0n, sellValue: 0n }

/** An exact quotient; the divisor is positive. */
export interface Fraction {
  readonly dividend: bigint
  readonly divisor: bigint
}

const ZERO: Fraction = { dividend: 0n, divisor: 1n }

/** The value that the orders of one side would open: their value × (size beyond the opposite position) / size. */
const opening = (size: bigint, value: Scaled, closable: bigint): Fraction => {
  if (size <= closable) return ZERO
  return closable <= 0n ? { dividend: value, divisor: 1n } : { dividend: value * (size - closable), divisor: size }
}

/** OB, the opening value of the buy orders. */
export const openingBuy = (position: bigint, orders: OpenOrders): Fraction =>
  opening(orders.buySize, orders.buyValue, -position)

/** OS, the opening value of the sell orders. */
export const openingSell = (position: bigint, orders: OpenOrders): Fraction =>
  opening(orders.sellSize, orders.sellValue, position)

/** max(OB, OS). */
export const openingValue = (position: bigint, orders: OpenOrders): Fraction => {
  const buy = openingBuy(position, orders)
  const sell = openingSell(position, orders)
  return buy.dividend * sell.divisor >= sell.dividend * buy.divisor ? buy : sell
}

/** Exposure X = V + max(OB, OS). */
export const exposure = (value: Scaled, open: Fraction): Fraction => ({
  dividend: value * open.divisor + open.dividend,
  divisor: open.divisor
})

/** Index of the tier of an exposure. */
export const tierOfExposure = (tiers: RiskTiers, x: Fraction): number => {
  const last = tiers.length - 1
  for (let i = 0; i < last; i++) if (x.dividend <= tiers[i]!.limit * x.divisor) return i
  return last
}

/** Whether an exposure exceeds the last risk limit. */
export const beyondRiskLimit = (tiers: RiskTiers, x: Fraction): boolean => x.dividend > tiers.at(-1)!.limit * x.divisor

/** Compares two exact quotients. */
export const greater = (a: Fraction, b: Fraction): boolean => a.dividend * b.divisor > b.dividend * a.divisor

/** max(OB, OS) × (1 / L + taker fee), rounded up. */
export const orderMargin = (open: Fraction, leverage: Scaled, tier: RiskTier, takerFee: Scaled): Scaled => {
  if (open.dividend === 0n) return 0n
  return isSetLeverageAllowed(leverage, tier)
    ? divide(open.dividend * (SQUARE + takerFee * leverage), open.divisor * leverage * ONE, "up")
    : divide(open.dividend * (tier.initialRate + takerFee), open.divisor * ONE, "up")
}

/** Margin figures of one market in an account. */
export interface Figures {
  /** V, at mark */
  readonly value: Scaled
  readonly unrealisedPnl: Scaled
  readonly initialMargin: Scaled
  readonly maintenanceMargin: Scaled
  readonly orderMargin: Scaled
  /** 0-based tier of V: maintenance margin */
  readonly tier: number
  /** 0-based tier of X: effective leverage */
  readonly exposureTier: number
}

/** All figures of a position and its open orders. `value` is V, the value of the position at mark. */
export const figures = (
  tiers: RiskTiers,
  takerFee: Scaled,
  holding: {
    readonly position: bigint
    readonly entryValue: Scaled
    readonly value: Scaled
    readonly leverage: Scaled
    readonly orders: OpenOrders
  }
): Figures => {
  const open = openingValue(holding.position, holding.orders)
  const exposureTier = tierOfExposure(tiers, exposure(holding.value, open))
  const flat = holding.position === 0n
  return {
    value: holding.value,
    unrealisedPnl: flat ? 0n : unrealisedPnl(holding.position, holding.entryValue, holding.value),
    initialMargin: flat ? 0n : initialMargin(holding.value, holding.leverage, tiers[exposureTier]!),
    maintenanceMargin: flat ? 0n : maintenanceMargin(tiers, holding.value),
    orderMargin: orderMargin(open, holding.leverage, tiers[exposureTier]!, takerFee),
    tier: tierAt(tiers, holding.value),
    exposureTier
  }
}

/** Totals of an account's Cross positions and all its orders. */
export interface AccountFigures {
  readonly crossEquity: Scaled
  readonly initialMargin: Scaled
  readonly maintenanceMargin: Scaled
  readonly orderMargin: Scaled
  /** signed: equity minus all margins */
  readonly free: Scaled
}

/** max(0, free). */
export const available = (account: AccountFigures): Scaled => max(0n, account.free)

/** The amount that may leave the account. Unrealised profit can back positions but not be withdrawn. */
export const withdrawable = (wallet: Scaled, account: AccountFigures): Scaled =>
  max(0n, min(wallet, available(account)))

/** A position as it is booked. */
export interface Entry {
  /** signed */
  readonly position: bigint
  /** unsigned Σ price × size of what is open */
  readonly entryValue: Scaled
  /** fees that opened what is open */
  readonly openFee: Scaled
  /** 0 in Cross */
  readonly isolatedMargin: Scaled
}

export const FLAT: Entry = { position: 0n, entryValue: 0n, openFee: 0n, isolatedMargin: 0n }

/** One side of a trade. */
export interface Fill {
  /** signed: a purchase is positive; never 0 */
  readonly size: bigint
  readonly value: Scaled
  /** signed: positive paid */
  readonly fee: Scaled
  /** Isolated: the margin that an opening value locks, (value) / L rounded up. Absent in Cross. */
  readonly lock?: ((value: Scaled) => Scaled) | undefined
}

/** Result of a fill on a position. */
export interface Settlement {
  readonly entry: Entry
  /** unsigned; 0 where nothing was closed */
  readonly closedSize: bigint
  readonly closedEntryValue: Scaled
  readonly closedOpenFee: Scaled
  /** the part of the fill's fee for the closed size */
  readonly closedFee: Scaled
  readonly realised: Scaled
  /** margin released by a reduction (Isolated) */
  readonly released: Scaled
  /** margin locked by an opening (Isolated) */
  readonly locked: Scaled
  /** change of the wallet: realised − fee + released − locked */
  readonly wallet: Scaled
}

/**
 * Applies a fill to a position. An increase adds up. A reduction removes its exact share of the entry value, rounded
 * against the account. A flip closes, then opens.
 * Source: docs/contract/exchange.md#entry, #isolated-margin.
 */
export const settle = (entry: Entry, fill: Fill): Settlement => {
  const { position } = entry
  const same = position === 0n || position > 0n === fill.size > 0n
  const size = abs(fill.size)
  const closedSize = same ? 0n : min(size, abs(position))
  if (closedSize === 0n) {
    const locked = fill.lock === undefined ? 0n : fill.lock(fill.value)
    return {
      entry: {
        position: position + fill.size,
        entryValue: entry.entryValue + fill.value,
        openFee: entry.openFee + fill.fee,
        isolatedMargin: entry.isolatedMargin + locked
      },
      closedSize: 0n,
      closedEntryValue: 0n,
      closedOpenFee: 0n,
      closedFee: 0n,
      realised: 0n,
      released: 0n,
      locked,
      wallet: -fill.fee - locked
    }
  }
  const long = position > 0n
  const held = abs(position)
  const all = closedSize === held
  const closedEntryValue = all ? entry.entryValue : divide(entry.entryValue * closedSize, held, long ? "up" : "down")
  const closedOpenFee = all ? entry.openFee : divide(entry.openFee * closedSize, held, "up")
  const released = all ? entry.isolatedMargin : divide(entry.isolatedMargin * closedSize, held, "toward-zero")
  const whole = closedSize === size
  // exact: value = size × price
  const closedValue = whole ? fill.value : (fill.value * closedSize) / size
  const closedFee = whole ? fill.fee : divide(fill.fee * closedSize, size, "up")
  const realised = long ? closedValue - closedEntryValue : closedEntryValue - closedValue
  const openedValue = fill.value - closedValue
  const locked = whole || fill.lock === undefined ? 0n : fill.lock(openedValue)
  return {
    entry: {
      position: position + fill.size,
      entryValue: entry.entryValue - closedEntryValue + openedValue,
      openFee: entry.openFee - closedOpenFee + (fill.fee - closedFee),
      isolatedMargin: entry.isolatedMargin - released + locked
    },
    closedSize,
    closedEntryValue,
    closedOpenFee,
    closedFee,
    realised,
    released,
    locked,
    wallet: realised - fill.fee + released - locked
  }
}

/** Entry value ÷ size, truncated; the size is scaled. For display only. */
export const averagePrice = (size: Scaled, entryValue: Scaled): Scaled =>
  size === 0n ? 0n : (entryValue * ONE) / abs(size)

/** Range of prices that a record can show. */
export interface PriceLimits {
  readonly tick: Scaled
  readonly min: Scaled
  readonly max: Scaled
}

const shown = (limits: PriceLimits, price: Scaled): Scaled | undefined =>
  price < limits.min || price > limits.max ? undefined : price

/**
 * The mark price at which the equity equals the maintenance margin; `undefined` if it is outside the market's price
 * limits.
 *
 * @param position signed, scaled
 *
 * @param cushion W: for Isolated the margin of the position; for Cross the wallet + unrealised PnL of the other
 * positions − their maintenance margin
 */
export const liquidationPrice = (
  tiers: RiskTiers,
  limits: PriceLimits,
  position: Scaled,
  entryValue: Scaled,
  cushion: Scaled
): Scaled | undefined => {
  if (position === 0n) return undefined
  const long = position > 0n
  const size = abs(position)
  for (let i = 0; i < tiers.length; i++) {
    const tier = tiers[i]!
    // |q| × result as a fraction over `rate`
    const dividend = (long ? entryValue - cushion - tier.deduction : entryValue + cushion + tier.deduction) * ONE
    const rate = long ? ONE - tier.maintenanceRate : ONE + tier.maintenanceRate
    if (i < tiers.length - 1 && dividend > tier.limit * rate) continue
    if (dividend <= 0n) return undefined
    const ticks = divide(dividend * ONE, rate * size * limits.tick, long ? "up" : "down")
    return shown(limits, ticks * limits.tick)
  }
  return undefined
}

/** E_i, the share of an account's equity that backs one of its Cross positions; an exact quotient. */
export const equityShare = (equity: Scaled, own: Scaled, total: Scaled): Fraction =>
  own === total ? { dividend: equity, divisor: 1n } : { dividend: equity * own, divisor: total }

/**
 * The price at which a position has used its equity share, rounded to the tick in favour of the account. Without
 * price limits.
 */
export const bustPrice = (tick: Scaled, position: Scaled, mark: Scaled, share: Fraction): Scaled => {
  const long = position > 0n
  const size = abs(position)
  // m − sign × E / |q|, over the common divisor
  const divisor = size * share.divisor
  const part = share.dividend * ONE
  const dividend = long ? mark * divisor - part : mark * divisor + part
  return divide(dividend, divisor * tick, long ? "up" : "down") * tick
}

/** A bust price for records: `undefined` outside the market's price limits. */
export const shownBustPrice = (
  limits: PriceLimits,
  position: Scaled,
  mark: Scaled,
  share: Fraction
): Scaled | undefined => (position === 0n ? undefined : shown(limits, bustPrice(limits.tick, position, mark, share)))
