/**
 * The bars of the chart: candles of the mark price, and over them those of trades. A bucket without a trade keeps its mark
 * candle, so that the chart has no holes. Prices become numbers here, because they are only drawn.
 */
import type { Candle, PriceCandle } from "../src/domain/Market.ts"

export interface Bar {
  /** Start, Unix ms. */
  readonly start: number
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
  /** 0 in a bar of the mark price. */
  readonly volume: number
  readonly turnover: number
}

const ofMark = ({ close, high, low, open, start_time }: PriceCandle): Bar => ({
  start: start_time,
  open: Number(open),
  high: Number(high),
  low: Number(low),
  close: Number(close),
  volume: 0,
  turnover: 0
})
const ofTrades = (candle: Candle): Bar => ({
  ...ofMark(candle),
  volume: Number(candle.volume),
  turnover: Number(candle.turnover)
})
const hasTrades = ({ trade_count }: Candle): boolean => trade_count > 0

/** Bars of both lists, oldest first. */
const merged = (marks: ReadonlyArray<PriceCandle>, trades: ReadonlyArray<Candle>): ReadonlyArray<Bar> => {
  const bars = new Map<number, Bar>()
  for (const mark of marks) bars.set(mark.start_time, ofMark(mark))
  for (const candle of trades) if (hasTrades(candle)) bars.set(candle.start_time, ofTrades(candle))
  return [...bars.values()].sort((a, b) => a.start - b.start)
}

export class CandleStore {
  private list: Array<Bar> = []
  /** Market and interval of the bars. */
  private of = ""

  /** Oldest first. */
  get bars(): ReadonlyArray<Bar> {
    return this.list
  }
  get newest(): Bar | undefined {
    return this.list.at(-1)
  }
  /** Begins anew with the candles of a market and interval. */
  load(of: string, marks: ReadonlyArray<PriceCandle>, trades: ReadonlyArray<Candle>): void {
    this.of = of
    this.list = [...merged(marks, trades)]
  }
  /** Adds older candles; returns how many bars are new. */
  prepend(marks: ReadonlyArray<PriceCandle>, trades: ReadonlyArray<Candle>): number {
    const first = this.list[0]?.start ?? Infinity
    const older = merged(marks, trades).filter(({ start }) => start < first)
    this.list = [...older, ...this.list]
    return older.length
  }
  /**
   * Takes a candle of trades; returns its bar, or `undefined` if it has no trade, is too old to be drawn, or is of a market or
   * interval that is not loaded yet.
   */
  trade(of: string, candle: Candle): Bar | undefined {
    return of === this.of && hasTrades(candle) ? this.put(ofTrades(candle)) : undefined
  }
  /** Takes a mark price; returns the changed bar, or `undefined` if it is not loaded yet or trades already made that bar. */
  mark(of: string, start: number, price: number): Bar | undefined {
    const { newest } = this
    if (of !== this.of || newest === undefined || start < newest.start || (start === newest.start && newest.volume > 0))
      return undefined
    const { high, low, open } = newest.start === start ? newest : { high: price, low: price, open: price }
    const range = { high: Math.max(high, price), low: Math.min(low, price) }
    return this.put({ start, open, ...range, close: price, volume: 0, turnover: 0 })
  }

  private put(bar: Bar): Bar | undefined {
    const { newest } = this
    if (newest !== undefined && bar.start < newest.start) return undefined
    if (newest?.start === bar.start) this.list[this.list.length - 1] = bar
    else this.list.push(bar)
    return bar
  }
}
