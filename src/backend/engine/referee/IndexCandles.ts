/**
 * Candles of the simulated index before the exchange started: a pure function of time, so nothing is stored.
 * Source: docs/contract/exchange.md#index.
 *
 * A candle has one sample a second, as those that the gateway records. Its extremes are at its ends or where the
 * fastest wave turns, because that wave is steeper than the others together.
 */
import { bucketEnd, bucketStart } from "../../../domain/Candles.ts"
import * as Decimal from "../../../domain/Decimal.ts"
import type { Interval } from "../../../domain/Enumerations.ts"
import { DAY_MS } from "../../../domain/Time.ts"
import type { IndexCandle } from "../../../proto/gateway/v1/referee.ts"
import type { MarketState, State } from "../state/State.ts"
import { simulatedIndex, WAVES } from "./Prices.ts"

/** How far the candles reach back. */
const HISTORY_MS = 30 * DAY_MS
const CANDLES_MAX = 1001
/** Closed candles kept per market and interval: 30 days of 15 minutes, and a part of those of shorter intervals. */
const KEPT_MAX = 3_000

const waves = WAVES.map(([period, amplitude]) => ({ period: Number(period), amplitude: Number(amplitude) }))
const FASTEST = waves[0]!.period
/** Seconds within the fastest period at which it turns: its trough, and both seconds of its peak. */
const TURNS = [0, Math.floor(FASTEST / 2), Math.ceil(FASTEST / 2)]

/** Height of all waves in a second, in floating point: finds the extreme seconds, whose prices are then exact. */
const heightOf = (second: number): number => {
  let height = 0
  for (const { amplitude, period } of waves) {
    const x = second % period
    height += (amplitude * (2 * x < period ? 4 * x - period : 3 * period - 4 * x)) / period
  }
  return height
}

/** The seconds with the highest and the lowest index in [first, last]. */
const extremesOf = (first: number, last: number): { readonly high: number; readonly low: number } => {
  let high = first
  let low = first
  let highest = heightOf(first)
  let lowest = highest
  const consider = (second: number) => {
    const height = heightOf(second)
    if (height > highest) {
      highest = height
      high = second
    }
    if (height < lowest) {
      lowest = height
      low = second
    }
  }
  for (let period = Math.floor(first / FASTEST) * FASTEST; period <= last; period += FASTEST)
    for (const turn of TURNS) if (period + turn > first && period + turn < last) consider(period + turn)
  consider(last)
  return { high, low }
}

/** The candle that starts at this time; Unix ms. */
export const indexCandle = (market: MarketState, interval: Interval, start: number): IndexCandle => {
  const first = start / 1000
  const last = bucketEnd(interval, start) / 1000 - 1
  const { high, low } = extremesOf(first, last)
  const { price } = market.rules
  const text = (second: number) =>
    Decimal.format(Decimal.max(price.step, simulatedIndex(market.indexBase, price.step, second)))
  return { start_ms: start, open: text(first), high: text(high), low: text(low), close: text(last) }
}

/** Closed candles that were read, by start. They never change, and computing a thousand takes 4 to 10 ms. */
const kept = new WeakMap<MarketState, Map<Interval, Map<number, IndexCandle>>>()

const keptOf = (market: MarketState, interval: Interval): Map<number, IndexCandle> => {
  let byInterval = kept.get(market)
  if (byInterval === undefined) kept.set(market, (byInterval = new Map()))
  let candles = byInterval.get(interval)
  if (candles === undefined) byInterval.set(interval, (candles = new Map()))
  return candles
}

export interface IndexCandlesRange {
  readonly interval: Interval
  readonly start_ms: number
  readonly end_ms: number
  readonly limit: number
}

/** Closed candles of the last 30 days that start in [start, end), newest first; none where the index is set by hand. */
export const indexCandles = (state: State, market: MarketState, range: IndexCandlesRange): Array<IndexCandle> => {
  const { interval } = range
  const now = state.second * 1000
  if (state.config.indexSource !== "simulated" || now < 0) return []
  const limit = range.limit > 0 ? Math.min(range.limit, CANDLES_MAX) : CANDLES_MAX
  const oldest = Math.max(0, range.start_ms, now - HISTORY_MS)
  const candles: Array<IndexCandle> = []
  const known = keptOf(market, interval)
  let start = bucketStart(interval, Math.min(range.end_ms, now) - 1)
  while (start >= oldest && candles.length < limit) {
    if (bucketEnd(interval, start) <= now) {
      let candle = known.get(start)
      if (candle === undefined) {
        candle = indexCandle(market, interval, start)
        if (known.size >= KEPT_MAX) known.clear()
        known.set(start, candle)
      }
      candles.push(candle)
    }
    start = bucketStart(interval, start - 1)
  }
  return candles
}
