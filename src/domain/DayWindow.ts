/** Statistics of the last 24 hours, kept minute by minute, for the ticker. Source: docs/contract/rest-market.md. */
import * as Decimal from "./Decimal.ts"
import type { Candle } from "./Market.ts"
import { DAY_MS, MINUTE_MS } from "./Time.ts"

interface Minute {
  readonly start: number
  readonly open: Decimal.Scaled
  readonly high: Decimal.Scaled
  readonly low: Decimal.Scaled
  readonly close: Decimal.Scaled
  readonly volume: Decimal.Scaled
  readonly turnover: Decimal.Scaled
}

const minuteOf = (candle: Candle): Minute => ({
  start: candle.start_time,
  open: Decimal.parse(candle.open),
  high: Decimal.parse(candle.high),
  low: Decimal.parse(candle.low),
  close: Decimal.parse(candle.close),
  volume: Decimal.parse(candle.volume),
  turnover: Decimal.parse(candle.turnover)
})

export interface DayNumbers {
  /** Price 24 hours ago, or the first trade price if no trade is older. */
  readonly previous: Decimal.Scaled
  readonly high: Decimal.Scaled
  readonly low: Decimal.Scaled
  readonly volume: Decimal.Scaled
  readonly turnover: Decimal.Scaled
}

/**
 * The window moves by whole minutes. It contains every minute that overlaps the last 24 hours, at most 1,441. Sums
 * are updated incrementally; high and low are recomputed only when their minute leaves the window.
 */
export class DayWindow {
  private readonly minutes: Array<Minute> = []
  /** Last price before the window. */
  private before: Decimal.Scaled | undefined
  private volume = 0n
  private turnover = 0n
  private extremes: { readonly high: Decimal.Scaled; readonly low: Decimal.Scaled } | undefined

  /** Adds a 1-minute candle, or replaces the last one. */
  put(candle: Candle): void {
    const minute = minuteOf(candle)
    const last = this.minutes.at(-1)
    if (last !== undefined && last.start === minute.start) {
      this.minutes[this.minutes.length - 1] = minute
      this.volume -= last.volume
      this.turnover -= last.turnover
    } else this.minutes.push(minute)
    this.volume += minute.volume
    this.turnover += minute.turnover
    if (this.extremes !== undefined) {
      this.extremes = {
        high: Decimal.max(this.extremes.high, minute.high),
        low: Decimal.min(this.extremes.low, minute.low)
      }
    }
  }
  /** Removes minutes older than 24 hours; returns whether any were removed. */
  advance(now: number): boolean {
    let gone = 0
    while (gone < this.minutes.length && this.minutes[gone]!.start + MINUTE_MS <= now - DAY_MS) {
      const minute = this.minutes[gone++]!
      this.before = minute.close
      this.volume -= minute.volume
      this.turnover -= minute.turnover
      if (minute.high === this.extremes?.high || minute.low === this.extremes?.low) this.extremes = undefined
    }
    if (gone > 0) this.minutes.splice(0, gone)
    return gone > 0
  }
  /** `last`: the last price, used for all prices if there was no trade. */
  numbers(last: Decimal.Scaled): DayNumbers {
    const first = this.minutes[0]
    if (first === undefined) return { previous: this.before ?? last, high: last, low: last, volume: 0n, turnover: 0n }
    if (this.extremes === undefined) {
      let { high, low } = first
      for (const minute of this.minutes) {
        if (minute.high > high) high = minute.high
        if (minute.low < low) low = minute.low
      }
      this.extremes = { high, low }
    }
    return { previous: this.before ?? first.open, ...this.extremes, volume: this.volume, turnover: this.turnover }
  }
}
