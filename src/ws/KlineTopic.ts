/** The open candle of a market, and each closed one once. Source: contract 5.5. */
import type { Interval } from "../domain/Enumerations.ts"
import type { Candle } from "../domain/Market.ts"
import type { MarketChange } from "../services/MarketView.ts"
import type { KlineData } from "./api/TopicData.ts"
import type { Frame } from "./Frame.ts"
import type { Job } from "./Pacer.ts"
import { PacedTopic, type View } from "./PublicTopic.ts"

/** Least time between two messages of the open candle, in ms. */
const KLINE_INTERVAL_MS = 250

export class KlineTopic extends PacedTopic<KlineData> {
  override readonly interval_ms = KLINE_INTERVAL_MS
  private readonly interval: Interval
  private latest: Candle | undefined

  constructor(name: string, symbol: string, interval: Interval, view: View) {
    super(name, symbol, view)
    this.interval = interval
  }
  private data(type: "snapshot" | "update", list: ReadonlyArray<Candle>, now: number): KlineData {
    return { type, ts: now, symbol: this.symbol, interval: this.interval, list }
  }
  override snapshot(now: number): Frame {
    const open = this.view.openCandle(this.symbol, this.interval)
    return this.frame(this.data("snapshot", open === undefined ? [] : [open], now), now)
  }
  /** A closed candle is sent at once, so that it is sent once. */
  override take({ candles }: MarketChange, now: number): Job | undefined {
    let due = false
    for (const { candle, interval } of candles) {
      if (interval !== this.interval) continue
      if (candle.confirm) {
        if (this.latest?.start_time === candle.start_time) this.latest = undefined
        this.send(this.data("update", [candle], now), now)
      } else {
        this.latest = candle
        due = true
      }
    }
    return due ? this : undefined
  }
  override readonly run = (now: number): void => {
    if (this.latest === undefined) return
    this.send(this.data("update", [this.latest], now), now)
    this.latest = undefined
  }
}
