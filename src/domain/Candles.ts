/**
 * Candles of all intervals: bucket boundaries, updates by trades and price samples, and filling of gaps.
 *
 * Buckets are UTC. Weeks begin on Monday, months on their first day.
 * Source: docs/contract/conventions.md#enumerations, docs/contract/rest-market.md.
 */
import * as Decimal from "./Decimal.ts"
import { Interval } from "./Enumerations.ts"
import type { Candle } from "./Market.ts"
import { DAY_MS, MINUTE_MS } from "./Time.ts"

export const intervals: ReadonlyArray<Interval> = Interval.literals

const WEEK_MS = 7 * DAY_MS
/** The Monday before Unix time 0, which is a Thursday. */
const FIRST_MONDAY_MS = -3 * DAY_MS

/** Length of an interval. Months have no fixed length. */
const lengthOf = (interval: Exclude<Interval, "M">): number =>
  interval === "D" ? DAY_MS : interval === "W" ? WEEK_MS : Number(interval) * MINUTE_MS
const lengths = new Map(intervals.map((interval) => [interval, interval === "M" ? 0 : lengthOf(interval)]))

/** Start of the bucket that contains a time; Unix ms. */
export const bucketStart = (interval: Interval, ms: number): number => {
  if (interval === "M") {
    const date = new Date(ms)
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
  }
  const length = lengths.get(interval)!
  const origin = interval === "W" ? FIRST_MONDAY_MS : 0
  return Math.floor((ms - origin) / length) * length + origin
}

/** End (exclusive) of the bucket that starts at `start`: the start of the next one. */
export const bucketEnd = (interval: Interval, start: number): number => {
  if (interval !== "M") return start + lengths.get(interval)!
  const date = new Date(start)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
}

/** A candle in scaled integers. */
interface Bar {
  start: number
  end: number
  open: Decimal.Scaled
  high: Decimal.Scaled
  low: Decimal.Scaled
  close: Decimal.Scaled
  volume: Decimal.Scaled
  turnover: Decimal.Scaled
  count: number
  /** Closed: later trades and samples go to a later bucket. */
  confirm: boolean
}

const candleOf = (bar: Bar): Candle => ({
  start_time: bar.start,
  end_time: bar.end,
  open: Decimal.format(bar.open),
  high: Decimal.format(bar.high),
  low: Decimal.format(bar.low),
  close: Decimal.format(bar.close),
  volume: Decimal.format(bar.volume),
  turnover: Decimal.format(bar.turnover),
  trade_count: bar.count,
  confirm: bar.confirm
})

const barOf = (candle: Candle): Bar => ({
  start: candle.start_time,
  end: candle.end_time,
  open: Decimal.parse(candle.open),
  high: Decimal.parse(candle.high),
  low: Decimal.parse(candle.low),
  close: Decimal.parse(candle.close),
  volume: Decimal.parse(candle.volume),
  turnover: Decimal.parse(candle.turnover),
  count: candle.trade_count,
  confirm: candle.confirm
})

export interface IntervalCandle {
  readonly interval: Interval
  readonly candle: Candle
}

/** Changes of a series since the previous {@link Series.take}. */
export interface SeriesChange {
  /** Candles that closed; they never change again. */
  readonly closed: ReadonlyArray<IntervalCandle>
  /** The last candle of every interval, in the order of {@link intervals}. */
  readonly last: ReadonlyArray<IntervalCandle>
}

/**
 * The candles of one price of one market, in all intervals at once.
 *
 * Trades accumulate in the bar of their minute. The bar is merged into the longer intervals when the minute ends or a
 * reader needs them, so a burst of trades costs as much as one trade. Time never decreases: a late trade counts to
 * the open bucket.
 */
export class Series {
  private bars: Array<Bar | undefined> = intervals.map(() => undefined)
  private minute: Bar | undefined
  private closed: Array<IntervalCandle> = []
  private touched = false
  /** Latest time seen, Unix ms. */
  private now = 0

  /** Resumes from the `last` candles of an earlier change. */
  static from(last: ReadonlyArray<IntervalCandle>): Series {
    const series = new Series()
    for (const { interval, candle } of last) {
      series.bars[intervals.indexOf(interval)] = barOf(candle)
      series.now = Math.max(series.now, candle.confirm ? candle.end_time : candle.start_time)
    }
    return series
  }

  /** Adds a trade; turnover is price × qty, truncated at 18 places. */
  trade(ms: number, price: string, qty: string): void {
    const scaled = Decimal.parse(price)
    const amount = Decimal.parse(qty)
    this.move(ms, scaled, amount, Decimal.mul(scaled, amount, "toward-zero"), 1)
  }
  /** Adds a price sample without a trade, such as a mark price. */
  sample(ms: number, price: string): void {
    this.move(ms, Decimal.parse(price), 0n, 0n, 0)
  }
  /** Advances the time and closes the bars that have ended. */
  advance(ms: number): void {
    this.now = Math.max(this.now, ms)
    if (this.minute !== undefined && this.now < this.minute.end) return
    this.merge()
    for (let i = 0; i < this.bars.length; i++) {
      const bar = this.bars[i]
      if (bar !== undefined && !bar.confirm && this.now >= bar.end) this.close(i, bar)
    }
  }
  /** Changes since the previous call; `undefined` if there are none. */
  take(): SeriesChange | undefined {
    this.merge()
    if (!this.touched) return undefined
    const closed = this.closed
    this.closed = []
    this.touched = false
    return { closed, last: this.last() }
  }
  /** The last candle of every interval. */
  last(): ReadonlyArray<IntervalCandle> {
    this.merge()
    return this.bars.flatMap((bar, i) =>
      bar === undefined ? [] : [{ interval: intervals[i]!, candle: candleOf(bar) }]
    )
  }

  private move(ms: number, price: Decimal.Scaled, qty: Decimal.Scaled, turnover: Decimal.Scaled, count: number): void {
    this.now = Math.max(this.now, ms)
    if (this.minute !== undefined && this.now >= this.minute.end) this.merge()
    const minute = this.minute
    if (minute === undefined) {
      const start = bucketStart("1", this.now)
      this.minute = {
        start,
        end: bucketEnd("1", start),
        open: price,
        high: price,
        low: price,
        close: price,
        volume: qty,
        turnover,
        count,
        confirm: false
      }
      return
    }
    if (price > minute.high) minute.high = price
    if (price < minute.low) minute.low = price
    minute.close = price
    minute.volume += qty
    minute.turnover += turnover
    minute.count += count
  }
  /** Merges the bar of the minute into the bars of all intervals. */
  private merge(): void {
    const part = this.minute
    if (part === undefined) return
    this.minute = undefined
    this.touched = true
    for (let i = 0; i < intervals.length; i++) {
      const bar = this.bars[i]
      if (bar === undefined || part.start >= bar.end) {
        if (bar !== undefined && !bar.confirm) this.close(i, bar)
        const start = bucketStart(intervals[i]!, part.start)
        this.bars[i] = { ...part, start, end: bucketEnd(intervals[i]!, start) }
        continue
      }
      if (part.high > bar.high) bar.high = part.high
      if (part.low < bar.low) bar.low = part.low
      bar.close = part.close
      bar.volume += part.volume
      bar.turnover += part.turnover
      bar.count += part.count
    }
  }
  private close(i: number, bar: Bar): void {
    bar.confirm = true
    this.touched = true
    this.closed.push({ interval: intervals[i]!, candle: candleOf(bar) })
  }
}

/** A bucket without trades: the last close, volume 0. */
export const flat = (interval: Interval, start: number, close: string, confirm: boolean): Candle => ({
  start_time: start,
  end_time: bucketEnd(interval, start),
  open: close,
  high: close,
  low: close,
  close,
  volume: "0",
  turnover: "0",
  trade_count: 0,
  confirm
})

/**
 * Fills gaps: returns every bucket from the newest that starts before `end` down to `start`, newest first and at most
 * `limit`. A gap repeats the last close with volume 0. There are no buckets before the first candle or after `now`.
 *
 * `candles` are those with a change, newest first, all before `end`. `limit` + 1 of them are always enough.
 */
export const fill = (
  candles: ReadonlyArray<Candle>,
  query: {
    readonly interval: Interval
    readonly start: number
    readonly end: number
    readonly now: number
    readonly limit: number
  }
): ReadonlyArray<Candle> => {
  const filled: Array<Candle> = []
  let at = bucketStart(query.interval, Math.min(query.end - 1, query.now))
  let next = 0
  while (next < candles.length && filled.length < query.limit && at >= query.start) {
    const candle = candles[next]!
    if (candle.start_time > at) {
      // from a clock ahead of ours
      next++
      continue
    }
    const confirm = query.now >= bucketEnd(query.interval, at)
    if (candle.start_time === at) {
      filled.push(candle.confirm === confirm ? candle : { ...candle, confirm })
      next++
    } else filled.push(flat(query.interval, at, candle.close, confirm))
    at = bucketStart(query.interval, at - 1)
  }
  return filled
}
