/**
 * The open candle of a market, and each closed candle once, by engine time.
 * Source: docs/contract/websocket.md#public-topics.
 *
 * Prices are sampled every second, also without trades, so the end of an interval is detected within a second: its candle
 * is confirmed, and the next one begins flat at the last close.
 */
import { bucketEnd, flat } from "../domain/Candles.ts"
import type { Interval } from "../domain/Enumerations.ts"
import type { Candle } from "../domain/Market.ts"
import type { MarketChange } from "../services/markets/MarketView.ts"
import type { KlineData } from "./api/TopicData.ts"
import type { Frame } from "./Frame.ts"
import type { Job } from "./Throttler.ts"
import { PacedTopic, type View } from "./PublicTopic.ts"

/** Least time between two messages of the open candle, in ms. */
const KLINE_INTERVAL_MS = 250
/** Maximum candles confirmed at once after a pause of the engine; older ones are available over REST. */
const CONFIRMED_MAX = 100

export class KlineTopic extends PacedTopic<KlineData> {
  override readonly interval_ms = KLINE_INTERVAL_MS
  private readonly interval: Interval
  /** The open candle that is not sent yet. */
  private latest: Candle | undefined
  /** The last sent candle, until it is confirmed. */
  private shown: Candle | undefined
  /** Start of the newest candle. */
  private begun = -1

  constructor(name: string, symbol: string, interval: Interval, view: View, monotonic: () => number) {
    super(name, symbol, view, monotonic)
    this.interval = interval
  }
  private data(type: "snapshot" | "update", list: ReadonlyArray<Candle>, now: number): KlineData {
    return { type, ts: now, symbol: this.symbol, interval: this.interval, list }
  }
  override snapshot(now: number): Frame {
    const open = this.view.openCandle(this.symbol, this.interval)
    if (open !== undefined && (this.members.size <= 1 || this.shown === undefined)) {
      this.shown = open
      this.begun = open.start_time
    }
    return this.frame(this.data("snapshot", open === undefined ? [] : [open], now), now)
  }
  protected override restart(now: number): Job | undefined {
    this.shown = this.latest = undefined
    this.begun = -1
    return super.restart(now)
  }
  override take({ candles }: MarketChange, now: number): Job | undefined {
    for (const { candle, interval } of candles) {
      if (interval !== this.interval) continue
      if (candle.confirm) {
        this.confirmUntil(candle.start_time, now)
        this.confirm(candle, now)
      } else this.latest = candle
    }
    const open = this.view.openCandle(this.symbol, this.interval)
    if (open !== undefined && open.start_time > this.begun) {
      this.confirmUntil(open.start_time, now)
      this.shown = this.latest = open
      this.begun = open.start_time
    }
    return this.latest === undefined ? undefined : this
  }
  /** A closed candle is sent immediately, and once. */
  private confirm(candle: Candle, now: number): void {
    if (this.latest?.start_time === candle.start_time) this.latest = undefined
    this.shown = flat(this.interval, bucketEnd(this.interval, candle.start_time), candle.close, false)
    this.send(this.data("update", [candle], now), now)
  }
  /** Confirms the last sent candle and the flat ones after it that ended before `start`. */
  private confirmUntil(start: number, now: number): void {
    for (let n = 0; n < CONFIRMED_MAX; n++) {
      if (this.shown === undefined || this.shown.start_time >= start) return
      this.confirm({ ...this.shown, confirm: true }, now)
    }
  }
  override readonly run = (now: number): void => {
    if (this.latest === undefined) return
    this.send(this.data("update", [this.latest], now), now)
    this.shown = this.latest
    this.latest = undefined
  }
}
