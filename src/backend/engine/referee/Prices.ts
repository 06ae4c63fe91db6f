/**
 * Index and mark prices. They change only at the start of a Tick and of SetIndexPrice. Source:
 * docs/contract/exchange.md#prices.
 */
import * as Decimal from "../../../domain/Decimal.ts"
import * as Grid from "../../../domain/Grid.ts"
import { Side } from "../../../proto/gateway/v1/types.ts"
import * as Records from "../events/Records.ts"
import type { StepContext } from "../events/StepContext.ts"
import { setIndex, setMark } from "../state/MarketPrices.ts"
import { BASIS_SECONDS, type MarketState, type State } from "../state/State.ts"

const { ONE } = Decimal
const BPS = 10_000n

/** Triangle waves of the simulated index: period in seconds, amplitude in bps. */
export const WAVES: ReadonlyArray<readonly [period: bigint, amplitude: bigint]> = [
  [61n, 5n],
  [601n, 20n],
  [3607n, 60n],
  [86399n, 200n]
]

/** The simulated index of a second, floored to the tick. Integer arithmetic only: equal on every machine. */
export const simulatedIndex = (base: Decimal.Scaled, tick: Decimal.Scaled, second: number): Decimal.Scaled => {
  let sum = 0n
  for (const [period, amplitude] of WAVES) {
    const x = BigInt(second) % period
    const wave = 2n * x < period ? 4n * x - period : 3n * period - 4n * x
    sum += (amplitude * wave * ONE) / (BPS * period)
  }
  return Decimal.divide(base * (ONE + sum), ONE * tick, "down") * tick
}

export interface MarkInput {
  readonly index: Decimal.Scaled
  /** last settled funding rate, 0 before the first */
  readonly rate: Decimal.Scaled
  readonly timeLeftMs: number
  readonly intervalMs: number
  /** Σ and count of the (mid − index) samples */
  readonly basisSum: Decimal.Scaled
  readonly basisCount: number
  readonly twoSided: boolean
  readonly last: Decimal.Scaled | undefined
}

export interface Mark {
  readonly p1: Decimal.Scaled
  readonly p2: Decimal.Scaled
  readonly ticks: number
}

const median = (a: bigint, b: bigint, c: bigint): bigint =>
  Decimal.max(Decimal.min(a, b), Decimal.min(Decimal.max(a, b), c))

/** The mark: median of P1, P2 and last, clamped to 5 % around the index, rounded to the nearest tick. */
export const markOf = (grid: Grid.Grid, input: MarkInput): Mark => {
  const { index } = input
  const interval = BigInt(input.intervalMs) * ONE
  const p1 = (index * (interval + input.rate * BigInt(input.timeLeftMs))) / interval
  const p2 = input.twoSided && input.basisCount > 0 ? index + input.basisSum / BigInt(input.basisCount) : index
  const middle = median(p1, p2, input.last ?? p2)
  const held = Decimal.max((index * 95n) / 100n, Decimal.min((index * 105n) / 100n, middle))
  return { p1, p2, ticks: Math.max(1, Grid.round(grid, held)) }
}

const currentMark = (market: MarketState, at: number): number => {
  const { book, rules } = market
  return markOf(rules.price, {
    index: market.indexPrice,
    rate: market.fundingRate,
    timeLeftMs: Records.nextFundingMs(market, at) - at,
    intervalMs: market.market.funding_interval_minutes * 60_000,
    basisSum: market.basisSum,
    basisCount: market.basis.length,
    twoSided: book.best(Side.SIDE_BUY) !== undefined && book.best(Side.SIDE_SELL) !== undefined,
    last: market.lastTicks === undefined ? undefined : Grid.scaled(rules.price, market.lastTicks)
  }).ticks
}

const sourceIndex = (state: State, market: MarketState, at: number): Decimal.Scaled =>
  market.heldIndex ??
  (state.config.indexSource === "manual"
    ? market.indexBase
    : Decimal.max(
        market.rules.price.step,
        simulatedIndex(market.indexBase, market.rules.price.step, Math.floor(at / 1000))
      ))

const updateMark = (ctx: StepContext, market: MarketState): void => {
  const ticks = currentMark(market, ctx.at)
  if (ticks === market.markTicks) return
  setMark(market, ticks)
  ctx.repricedMarkets.add(market)
}

/** mid − index of the completed second; 0 where the book was not two-sided. */
const sample = (market: MarketState): Decimal.Scaled => {
  const bid = market.book.best(Side.SIDE_BUY)
  const ask = market.book.best(Side.SIDE_SELL)
  if (bid === undefined || ask === undefined) return 0n
  return (Grid.scaled(market.rules.price, bid + ask) - 2n * market.indexPrice) / 2n
}

/** Whether a Tick at this time would change a mark or begin a second. */
export const tickMatters = (state: State, at: number): boolean =>
  Math.floor(at / 1000) > state.second || state.markets.some((market) => currentMark(market, at) !== market.markTicks)

/** Updates the prices at the start of a Tick. Returns whether the Tick is the first of its second. */
export const tick = (ctx: StepContext): boolean => {
  const { state, at } = ctx
  const second = Math.floor(at / 1000)
  const first = second > state.second
  for (const market of state.markets) {
    if (first) {
      if (state.second >= 0) {
        const value = sample(market)
        market.basis.push({ second: state.second, value })
        market.basisSum += value
      }
      while (market.basis.length > 0 && market.basis[0]!.second < second - BASIS_SECONDS)
        market.basisSum -= market.basis.shift()!.value
      setIndex(market, sourceIndex(state, market, at))
    }
    updateMark(ctx, market)
  }
  if (first) state.second = second
  return first
}

/** Overrides the index of a market, or (`undefined`) returns it to its source; updates the mark. */
export const setIndexOverride = (ctx: StepContext, market: MarketState, price: Decimal.Scaled | undefined): void => {
  market.heldIndex = price
  setIndex(market, sourceIndex(ctx.state, market, ctx.at))
  updateMark(ctx, market)
}
