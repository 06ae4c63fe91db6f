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

/** Bars of both lists, oldest first; of two candles of one start the later one, which has more trades. */
const merged = (marks: ReadonlyArray<PriceCandle>, trades: ReadonlyArray<Candle>): ReadonlyArray<Bar> => {
  const bars = new Map<number, Bar>()
  for (const mark of marks) bars.set(mark.start_time, ofMark(mark))
  for (const candle of trades.toSorted((a, b) => a.trade_count - b.trade_count))
    if (hasTrades(candle)) bars.set(candle.start_time, ofTrades(candle))
  return [...bars.values()].sort((a, b) => a.start - b.start)
}

export class CandleStore {
  private list: Array<Bar> = []
  /** Market and interval of the bars. */
  private of = ""
  /** Market and interval of the bars that are being loaded, and their newest candles of trades that arrive meanwhile, by start. */
  private expected = ""
  private readonly early = new Map<number, Candle>()

  /** Oldest first. */
  get bars(): ReadonlyArray<Bar> {
    return this.list
  }
  get newest(): Bar | undefined {
    return this.list.at(-1)
  }
  /** Called before the candles of a market and interval are requested: newer ones can arrive before the response. */
  expect(of: string): void {
    this.expected = of
    this.early.clear()
  }
  /** Begins anew with the candles of a market and interval. */
  load(of: string, marks: ReadonlyArray<PriceCandle>, trades: ReadonlyArray<Candle>): void {
    this.of = of
    this.list = [...merged(marks, [...trades, ...(of === this.expected ? this.early.values() : [])])]
    this.expect("")
  }
  /** Adds older candles; returns how many bars are new. */
  prepend(marks: ReadonlyArray<PriceCandle>, trades: ReadonlyArray<Candle>): number {
    const first = this.list[0]?.start ?? Infinity
    const older = merged(marks, trades).filter(({ start }) => start < first)
    this.list = [...older, ...this.list]
    return older.length
  }
  /**
   * Takes a candle of trades; returns its bar, or `undefined` if it has no trade, is older than all bars, or is of a market
   * or interval that is not loaded yet.
   */
  trade(of: string, candle: Candle): Bar | undefined {
    if (of === this.expected) this.early.set(candle.start_time, candle)
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
    // the mark may have begun the next bar before the last trade of this one arrives
    const at = this.list.findLastIndex(({ start }) => start <= bar.start)
    if (at === -1 && this.list.length > 0) return undefined
    const isKnown = this.list[at]?.start === bar.start
    this.list.splice(isKnown ? at : at + 1, isKnown ? 1 : 0, bar)
    return bar
  }
}
