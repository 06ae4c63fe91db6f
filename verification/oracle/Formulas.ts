/**
 * The contract's formulas, each one exact fraction that is rounded once. Source: docs/contract/exchange.md#markets,
 * #prices, #margin, #funding.
 */
import { f, type Fraction, max, min, ONE, sum, ZERO } from "./Fraction.ts"
import type { Side } from "./Requests.ts"
import type { Account, Holding, Market, Order, Tier } from "./State.ts"

export const signOf = (side: Side): Fraction => (side === "Buy" ? ONE : ONE.negated())
export const opposite = (side: Side): Side => (side === "Buy" ? "Sell" : "Buy")
/** Side of the orders that close a position. */
export const closingSide = (size: Fraction): Side => (size.sign > 0 ? "Sell" : "Buy")

// Margin

export const valueOf = (h: Holding): Fraction => h.size.abs().times(h.market.mark)

export const tierOf = (market: Market, value: Fraction): Tier =>
  market.tiers.find(({ limit }) => value.atMost(limit)) ?? market.tiers.at(-1)!

export const pnlOf = (h: Holding): Fraction => {
  if (h.size.isZero) return ZERO
  const value = valueOf(h)
  return h.size.sign >= 0 ? value.minus(h.entry) : h.entry.minus(value)
}

/** max(OB, OS): what the open orders of a symbol can add to its position. */
export const openedBy = (h: Holding, open: ReadonlyArray<Order>): Fraction => {
  const of = (side: Side): Fraction => {
    const orders = open.filter((order) => order.side === side)
    const qty = sum(orders.map(({ leaves }) => leaves))
    if (qty.isZero) return ZERO
    const value = sum(orders.map(({ leaves, price }) => leaves.times(price)))
    const against = max(ZERO, h.size.times(signOf(side)).negated())
    return value.times(max(ZERO, qty.minus(against))).over(qty)
  }
  return max(of("Buy"), of("Sell"))
}

export const effectiveLeverage = (h: Holding, exposure: Fraction): Fraction =>
  min(h.leverage, ONE.over(tierOf(h.market, exposure).initial))

export const maintenanceOf = (market: Market, value: Fraction): Fraction => {
  const { deduction, maintenance } = tierOf(market, value)
  return value.times(maintenance).minus(deduction).ceil()
}

export const crossOf = (a: Account): Array<Holding> => a.holdings.filter((h) => !h.isolated && !h.size.isZero)
export const isolatedOf = (a: Account): Array<Holding> => a.holdings.filter((h) => h.isolated && !h.size.isZero)

export const crossEquity = (a: Account): Fraction => a.wallet.plus(sum(crossOf(a).map(pnlOf)))
export const positionMaintenance = (h: Holding): Fraction => maintenanceOf(h.market, valueOf(h))
export const crossMaintenance = (a: Account): Fraction => sum(crossOf(a).map(positionMaintenance))
export const isolatedEquity = (h: Holding): Fraction => h.margin.plus(pnlOf(h))

/** E_i: the equity behind a position. */
export const equityShare = (h: Holding): Fraction =>
  h.isolated
    ? isolatedEquity(h)
    : crossEquity(h.account).times(positionMaintenance(h)).over(crossMaintenance(h.account))

const inward = (h: Holding, price: Fraction): Fraction =>
  h.size.sign > 0 ? price.ceilTo(h.market.tick) : price.floorTo(h.market.tick)

export const bustPrice = (h: Holding): Fraction => inward(h, h.market.mark.minus(equityShare(h).over(h.size)))

/** The liquidation price before it is rounded and shown; undefined where no tier holds it. */
export const liquidationPrice = (h: Holding): Fraction | undefined => {
  const { account, market } = h
  const others = crossOf(account).filter((other) => other !== h)
  const cushion = h.isolated
    ? h.margin
    : account.wallet.plus(sum(others.map(pnlOf))).minus(sum(others.map(positionMaintenance)))
  const held = h.size.abs()
  let below: Fraction | undefined
  for (const tier of market.tiers) {
    const price =
      h.size.sign > 0
        ? h.entry
            .minus(cushion)
            .minus(tier.deduction)
            .over(held.times(ONE.minus(tier.maintenance)))
        : h.entry
            .plus(cushion)
            .plus(tier.deduction)
            .over(held.times(ONE.plus(tier.maintenance)))
    const value = held.times(price)
    const last = tier === market.tiers.at(-1)
    if ((below === undefined || value.more(below)) && (last || value.atMost(tier.limit)))
      return h.size.sign > 0 ? price.ceilTo(market.tick) : price.floorTo(market.tick)
    below = tier.limit
  }
  return undefined
}

export const shownPrice = (market: Market, price: Fraction | undefined): string =>
  price === undefined || price.less(market.minPrice) || price.more(market.maxPrice) ? "" : price.toString()

/** What a fill makes of a position. */
export interface Filled {
  readonly size: Fraction
  readonly entry: Fraction
  readonly openFee: Fraction
  readonly margin: Fraction
  readonly wallet: Fraction
  readonly closed: Fraction
  readonly closedEntry: Fraction
  readonly closedOpenFee: Fraction
  readonly closedFee: Fraction
  readonly realised: Fraction
  readonly released: Fraction
}

export const filledBy = (
  h: Holding,
  side: Side,
  price: Fraction,
  qty: Fraction,
  fee: Fraction,
  leverage: Fraction
): Filled => {
  const held = h.size.abs()
  const closing = h.size.times(signOf(side)).sign < 0
  const closed = closing ? min(qty, held) : ZERO
  const opened = qty.minus(closed)
  const long = h.size.sign > 0
  const all = closed.equals(held)
  const part = (whole: Fraction): Fraction => (closed.isZero ? ZERO : all ? whole : whole.times(closed).over(held))
  const closedEntry = long ? part(h.entry).ceil() : part(h.entry).floor()
  const closedOpenFee = part(h.openFee).ceil()
  const closedFee = closed.isZero ? ZERO : fee.times(closed).over(qty).ceil()
  const exit = closed.times(price)
  const realised = closed.isZero ? ZERO : long ? exit.minus(closedEntry) : closedEntry.minus(exit)
  const released = part(h.margin).truncated()
  const taken = h.isolated && !opened.isZero ? opened.times(price).over(leverage).ceil() : ZERO
  return {
    size: h.size.plus(qty.times(signOf(side))),
    entry: h.entry.minus(closedEntry).plus(opened.times(price)),
    openFee: h.openFee.minus(closedOpenFee).plus(fee.minus(closedFee)),
    margin: h.margin.minus(released).plus(taken),
    wallet: realised.minus(fee).plus(released).minus(taken),
    closed,
    closedEntry,
    closedOpenFee,
    closedFee,
    realised,
    released
  }
}

// Prices

const WAVES = [
  [61, 5],
  [601, 20],
  [3607, 60],
  [86399, 200]
] as const

export const simulatedIndex = (market: Market, second: number): Fraction => {
  let factor = ONE
  for (const [period, amplitude] of WAVES) {
    const x = second % period
    const wave = 2 * x < period ? 4 * x - period : 3 * period - 4 * x
    factor = factor.plus(
      f(amplitude * wave)
        .over(f(10_000 * period))
        .truncated()
    )
  }
  return market.base.times(factor).floorTo(market.tick)
}

const INTERVAL_MS = 480 * 60_000

/** The end of the funding interval that a time lies in. */
export const fundingEnd = (at: number): number => (Math.floor(at / INTERVAL_MS) + 1) * INTERVAL_MS

export const markOf = (market: Market, at: number, bid: Fraction | undefined, ask: Fraction | undefined): Fraction => {
  const { basis, index, last, rate, tick } = market
  const left = f(fundingEnd(at) - at).over(f(INTERVAL_MS))
  const p1 = index.times(ONE.plus(rate.times(left))).truncated()
  const twoSided = bid !== undefined && ask !== undefined
  const p2 =
    twoSided && basis.length > 0
      ? index.plus(
          sum(basis.map(({ value }) => value))
            .over(f(basis.length))
            .truncated()
        )
      : index
  const [, middle] = [p1, p2, last ?? p2].sort((a, b) => a.compare(b))
  const low = index.times(f("0.95"))
  const high = index.times(f("1.05"))
  return max(tick, max(low, min(high, middle!)).halfUpTo(tick))
}

// Funding

type Level = readonly [price: Fraction, qty: Fraction]

const IMPACT = f(10_000)

const impactPrice = (levels: ReadonlyArray<Level>): Fraction | undefined => {
  let left = IMPACT
  let base = ZERO
  for (const [price, qty] of levels) {
    const value = price.times(qty)
    if (left.atMost(value)) return IMPACT.over(base.plus(left.over(price)))
    left = left.minus(value)
    base = base.plus(qty)
  }
  return undefined
}

export const premiumOf = (bids: ReadonlyArray<Level>, asks: ReadonlyArray<Level>, index: Fraction): Fraction => {
  const bid = impactPrice(bids)
  const ask = impactPrice(asks)
  const above = bid === undefined ? ZERO : max(ZERO, bid.minus(index))
  const below = ask === undefined ? ZERO : max(ZERO, index.minus(ask))
  return above.minus(below).over(index).truncated()
}

const INTEREST = f("0.0001")
const PULL = f("0.0005")
const CAP = f("0.005")
const RATE_STEP = f("0.00000001")

const clamp = (value: Fraction, limit: Fraction): Fraction => max(limit.negated(), min(limit, value))

const towardZero = (value: Fraction, step: Fraction): Fraction =>
  value.sign < 0 ? value.ceilTo(step) : value.floorTo(step)

/** The rate of an interval with these premium samples. */
export const fundingRate = (premiums: ReadonlyArray<Fraction>): Fraction => {
  const n = premiums.length
  const average =
    n === 0
      ? ZERO
      : sum(premiums.map((p, i) => p.times(f(i + 1))))
          .over(f((n * (n + 1)) / 2))
          .truncated()
  return towardZero(clamp(average.plus(clamp(INTEREST.minus(average), PULL)), CAP), RATE_STEP)
}

/** What a position receives at funding, signed. */
export const fundingCredit = (h: Holding, rate: Fraction): Fraction => h.size.times(h.market.mark).times(rate).negated()

// Pools

const RATIO_STEP = f("0.00000001")

export const ratioOf = (pnl: Fraction, highest: Fraction, group: Fraction): Fraction =>
  group.sign <= 0 ? ZERO : towardZero(pnl.minus(highest).over(group), RATIO_STEP)

/** What each donor pays of a deficit, donors in symbol order. */
export const sharesOf = (deficit: Fraction, capacities: ReadonlyArray<Fraction>): Array<Fraction> => {
  const all = sum(capacities)
  if (all.isZero) return capacities.map(() => ZERO)
  const total = min(deficit, all)
  const upTo = (count: number) =>
    total
      .times(sum(capacities.slice(0, count)))
      .over(all)
      .floor()
  return capacities.map((_, i) => upTo(i + 1).minus(upTo(i)))
}
