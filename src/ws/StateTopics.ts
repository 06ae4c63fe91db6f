/**
 * Topics with the state of a market: ticker, insurance pool, auto-deleveraging.
 * Source: docs/contract/websocket.md#public-topics.
 */
import type { AdlAlert } from "../domain/InsurancePool.ts"
import type { MarketChange } from "../services/markets/MarketView.ts"
import type { AlertData, PoolData, TickerData } from "./api/TopicData.ts"
import type { Frame } from "./Frame.ts"
import type { Job } from "./Throttler.ts"
import { PublicTopic, StateTopic } from "./PublicTopic.ts"

/** Shortest and longest time between two messages, in ms. */
const TICKER_INTERVAL_MS = 100
export const TICKER_SILENCE_MS = 10_000
export const POOL_INTERVAL_MS = 1_000
export const POOL_SILENCE_MS = 60_000

export class TickerTopic extends StateTopic<TickerData> {
  override readonly interval_ms = TICKER_INTERVAL_MS
  override readonly silence_ms = TICKER_SILENCE_MS

  protected override data(now: number): TickerData | undefined {
    const ticker = this.view.ticker(this.symbol)
    return ticker && { type: "snapshot", ...ticker, ts: now }
  }
  override take({ tickerChanged }: MarketChange): Job | undefined {
    return tickerChanged ? this : undefined
  }
}

export class PoolTopic extends StateTopic<PoolData> {
  override readonly interval_ms = POOL_INTERVAL_MS
  override readonly silence_ms = POOL_SILENCE_MS

  protected override data(now: number): PoolData | undefined {
    const pool = this.view.pool(this.symbol)
    return pool && { type: "snapshot", ts: now, ...pool }
  }
  override take({ poolChanged }: MarketChange): Job | undefined {
    return poolChanged ? this : undefined
  }
}

/** Changes of auto-deleveraging are rare; each is sent immediately. */
export class AlertTopic extends PublicTopic<AlertData> {
  override readonly conflatable = true
  /** Whether a member can have the state: before the backend has reported it, there is no snapshot. */
  private isShown = false

  override snapshot(now: number): Frame | undefined {
    const alert = this.view.alert(this.symbol)
    this.isShown ||= alert !== undefined
    return alert && this.frame(this.data("snapshot", alert, now), now)
  }
  override take({ alerts }: MarketChange, now: number): undefined {
    for (const alert of alerts) {
      this.send(this.data(this.isShown ? "update" : "snapshot", alert, now), now)
      this.isShown = true
    }
  }
  private data(type: AlertData["type"], alert: AdlAlert, now: number): AlertData {
    return { type, ts: now, ...alert }
  }
}
