/** Public data of the selected market, from the public feed. */
import type { FeedEvent, FeedState } from "../src/client/FeedEvent.ts"
import type { LocalBook } from "../src/client/LocalBook.ts"
import type { Interval } from "../src/domain/Enumerations.ts"
import type { Instrument, PublicTrade, RiskTier, Ticker } from "../src/domain/Market.ts"
import { printTopic } from "../src/domain/Topic.ts"
import type { AlertData, KlineData, PoolData } from "../src/ws/api/TopicData.ts"
import { follow, type LiveFeed } from "./LiveFeed.ts"
import { Live } from "./Frame.ts"

/** Depth of the order book subscription. */
const DEPTH = 50
/** Trades kept for the tape. */
const TRADES_MAX = 50

export const intervals = ["1", "5", "15", "60", "240", "D"] as const satisfies ReadonlyArray<Interval>

/** State of a feed, and its start. */
export interface FeedStatus {
  readonly state: FeedState
  readonly since_ms: number
  /** Whether it was live before; false during the first connection. */
  readonly returned: boolean
}
export const CONNECTING: FeedStatus = { state: { type: "connecting" }, since_ms: Date.now(), returned: false }

/** The status after a change of state. `since_ms` keeps the start of an outage over all reconnect attempts. */
export const nextStatus = (status: FeedStatus, state: FeedState): FeedStatus => {
  const waits = (type: FeedState["type"]): boolean => type === "lost" || type === "connecting"
  const since_ms = waits(status.state.type) && waits(state.type) ? status.since_ms : Date.now()
  // during a reconnect attempt, show the reason of the loss
  const shown = state.type === "connecting" && status.state.type === "lost" ? status.state : state
  return { state: shown, since_ms, returned: status.returned || status.state.type === "live" }
}

/** Whether a topic is one of a market: messages of the market before it arrive late. The symbol is the last part. */
export const isOfMarket = (topic: string, symbol: string): boolean => topic.endsWith(`.${symbol}`)

export class Market {
  readonly instruments: ReadonlyArray<Instrument>
  readonly tiers: ReadonlyArray<RiskTier>
  readonly instrument: Live<Instrument>
  readonly interval: Live<Interval>
  readonly status = new Live<FeedStatus>(CONNECTING)
  readonly tickers = new Live<ReadonlyMap<string, Ticker>>(new Map())
  readonly book = new Live<LocalBook | undefined>(undefined)
  readonly trades = new Live<ReadonlyArray<PublicTrade>>([])
  readonly pool = new Live<PoolData | undefined>(undefined)
  readonly alert = new Live<AlertData | undefined>(undefined)
  /** Called for each changed candle. */
  onCandles: (data: KlineData) => void = () => {}
  /** Time of the last message, by this machine's clock. */
  received_ms: number | undefined
  /** How far the gateway's clock is ahead of this machine's, in ms. */
  ahead_ms = 0
  private readonly following: LiveFeed

  constructor(
    instruments: ReadonlyArray<Instrument>,
    tiers: ReadonlyArray<RiskTier>,
    first: Instrument,
    interval: Interval
  ) {
    this.instruments = instruments
    this.tiers = tiers
    this.instrument = new Live(first)
    this.interval = new Live(interval)
    this.following = follow(this.topics(), (event) => this.take(event))
  }

  get symbol(): string {
    return this.instrument.value.symbol
  }
  get ticker(): Ticker | undefined {
    return this.tickers.value.get(this.symbol)
  }
  /** The gateway's time. */
  now(): number {
    return Date.now() + this.ahead_ms
  }
  ping(): Promise<number | undefined> {
    return this.following.ping()
  }

  /** Selects a market. */
  choose(instrument: Instrument): void {
    if (instrument.symbol === this.symbol) return
    this.instrument.set(instrument)
    this.book.set(undefined)
    this.trades.set([])
    this.pool.set(undefined)
    this.alert.set(undefined)
    this.following.show(this.topics())
  }
  /** Selects the candle interval. */
  chooseInterval(interval: Interval): void {
    this.interval.set(interval)
    this.following.show(this.topics())
  }

  private topics(): ReadonlyArray<string> {
    const { symbol } = this
    return [
      printTopic({ kind: "orderbook", depth: DEPTH, symbol }),
      printTopic({ kind: "kline", interval: this.interval.value, symbol }),
      ...(["trade", "insurance_pool", "adl_alert"] as const).map((kind) => printTopic({ kind, symbol })),
      // the market selector shows the price of each market
      ...this.instruments.map((each) => printTopic({ kind: "ticker", symbol: each.symbol }))
    ]
  }

  private take(event: FeedEvent): void {
    if (event.kind === "state") {
      // the book is out of sync without a connection
      if (event.state.type !== "live") this.book.touch()
      return this.status.set(nextStatus(this.status.value, event.state))
    }
    if (!("topic" in event) || !("server_ts_ms" in event)) return
    this.received_ms = Date.now()
    this.ahead_ms = event.server_ts_ms - this.received_ms
    if (event.kind === "ticker") {
      const { symbol } = event.data
      return this.tickers.set(new Map([...this.tickers.value, [symbol, event.data]]))
    }
    if (!isOfMarket(event.topic, this.symbol)) return
    switch (event.kind) {
      case "orderbook":
        return this.book.set(event.book)
      case "trade": {
        const newest = event.data.list.toReversed()
        const known = event.data.type === "snapshot" ? [] : this.trades.value
        return this.trades.set([...newest, ...known].slice(0, TRADES_MAX))
      }
      case "kline":
        return this.onCandles(event.data)
      case "insurance_pool":
        return this.pool.set(event.data)
      case "adl_alert":
        return this.alert.set(event.data)
    }
  }
}
