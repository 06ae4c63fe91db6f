/**
 * Fan-out of market changes: a topic exists while it has subscribers, encodes each message once, and offers it to all of
 * them. Source: docs/contract/websocket.md#public-topics, #order-book, #emission.
 */
import type { Instrument } from "../domain/Market.ts"
import type { Topic } from "../domain/Topic.ts"
import type { MarketChange } from "../services/markets/MarketView.ts"
import { BookTopic } from "./BookTopic.ts"
import { KlineTopic } from "./KlineTopic.ts"
import type { Clocks, Outbox } from "./Outbox.ts"
import { PacedTopic, type PublicTopic, type View } from "./PublicTopic.ts"
import { AlertTopic, PoolTopic, TickerTopic } from "./StateTopics.ts"
import type { Throttler } from "./Throttler.ts"
import { AggregatedTradeTopic, LiquidationTopic, TradeTopic } from "./TradeTopics.ts"

export type MarketTopic = Exclude<Topic, { readonly kind: "private" }>

/** The market of a topic; `undefined`: no such market. */
export const marketOf = (view: View, topic: MarketTopic): Instrument | undefined =>
  topic.kind === "trade/"
    ? view.instruments().find(({ market_addr }) => market_addr === topic.market_addr)
    : view.instrument(topic.symbol)

const open = (name: string, topic: MarketTopic, symbol: string, view: View, monotonic: () => number): PublicTopic => {
  switch (topic.kind) {
    case "trade":
      return new TradeTopic(name, symbol, view, monotonic)
    case "trade/":
      return new AggregatedTradeTopic(name, symbol, topic.market_addr, view, monotonic)
    case "all_liquidations":
      return new LiquidationTopic(name, symbol, view, monotonic)
    case "orderbook":
      return new BookTopic(name, symbol, topic.depth, view, monotonic)
    case "kline":
      return new KlineTopic(name, symbol, topic.interval, view, monotonic)
    case "ticker":
      return new TickerTopic(name, symbol, view, monotonic)
    case "insurance_pool":
      return new PoolTopic(name, symbol, view, monotonic)
    case "adl_alert":
      return new AlertTopic(name, symbol, view, monotonic)
  }
}

/**
 * The order of messages within one change, from docs/contract/websocket.md#emission: trades, then the book that reflects
 * them, then what is derived from both.
 */
export const TOPIC_ORDER: ReadonlyArray<MarketTopic["kind"]> = [
  "trade",
  "trade/",
  "all_liquidations",
  "orderbook",
  "kline",
  "ticker",
  "insurance_pool",
  "adl_alert"
]

/** The topics of one market that have subscribers, in {@link TOPIC_ORDER}. */
class Market {
  private ordered: ReadonlyArray<{ readonly rank: number; readonly topic: PublicTopic }> = []

  get isEmpty(): boolean {
    return this.ordered.length === 0
  }
  add(topic: PublicTopic, kind: MarketTopic["kind"]): void {
    this.ordered = [...this.ordered, { rank: TOPIC_ORDER.indexOf(kind), topic }].sort((a, b) => a.rank - b.rank)
  }
  remove(topic: PublicTopic): void {
    this.ordered = this.ordered.filter((each) => each.topic !== topic)
  }
  /** Subscriptions to topics of a kind. */
  subscriptions(kind: MarketTopic["kind"]): number {
    const rank = TOPIC_ORDER.indexOf(kind)
    return this.ordered.reduce((sum, each) => sum + (each.rank === rank ? each.topic.members.size : 0), 0)
  }
  publish(change: MarketChange, now: number, throttler: Throttler): void {
    for (const { topic } of this.ordered) {
      const job = topic.publish(change, now)
      if (job !== undefined) throttler.request(job)
    }
  }
}

export class MarketFanout {
  private readonly topics = new Map<string, PublicTopic>()
  private readonly markets = new Map<string, Market>()
  private readonly view: View
  private readonly throttler: Throttler
  private readonly now: () => number
  private readonly monotonic: () => number
  private readonly report: (fault: unknown) => void

  constructor(view: View, throttler: Throttler, { monotonic, now }: Clocks, report: (fault: unknown) => void) {
    this.view = view
    this.throttler = throttler
    this.now = now
    this.monotonic = monotonic
    this.report = report
  }

  /** Publishes the changes of one step. */
  readonly publish = (changes: ReadonlyArray<MarketChange>): void => {
    if (this.markets.size === 0) return
    const at = this.now()
    for (const change of changes) {
      try {
        this.markets.get(change.symbol)?.publish(change, at, this.throttler)
      } catch (fault) {
        this.report(fault)
      }
    }
  }

  /** Sends topics again that were silent for their longest interval. */
  refresh(): void {
    const at = this.monotonic()
    for (const topic of this.topics.values()) {
      if (!(topic instanceof PacedTopic) || topic.silence_ms === undefined) continue
      if (at - topic.lastRun >= topic.silence_ms) this.throttler.request(topic)
    }
  }

  subscriptions(kind: MarketTopic["kind"]): number {
    let total = 0
    for (const market of this.markets.values()) total += market.subscriptions(kind)
    return total
  }

  join(name: string, topic: MarketTopic, outbox: Outbox): void {
    const joined = this.topics.get(name) ?? this.add(name, topic)
    joined.members.add(outbox)
    outbox.begin(joined.snapshot(this.now()), joined, this.monotonic())
  }

  leave(name: string, outbox: Outbox): void {
    const topic = this.topics.get(name)
    if (topic === undefined || !topic.members.delete(outbox)) return
    outbox.forget(topic)
    if (topic.members.size === 0) this.remove(topic)
  }

  private add(name: string, marketTopic: MarketTopic): PublicTopic {
    const { symbol } = marketOf(this.view, marketTopic)!
    const topic = open(name, marketTopic, symbol, this.view, this.monotonic)
    let market = this.markets.get(symbol)
    if (market === undefined) this.markets.set(symbol, (market = new Market()))
    market.add(topic, marketTopic.kind)
    this.topics.set(name, topic)
    return topic
  }

  private remove(topic: PublicTopic): void {
    this.topics.delete(topic.name)
    if (topic instanceof PacedTopic) this.throttler.cancel(topic)
    const market = this.markets.get(topic.symbol)!
    market.remove(topic)
    if (market.isEmpty) this.markets.delete(topic.symbol)
  }
}
