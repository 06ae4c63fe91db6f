/**
 * Fan-out: turns what markets and users bring into frames, each encoded once, and offers them to every outbox that
 * joined the topic.
 *
 * Everything here runs in callbacks of {@link MarketView} and {@link UserStreams}: no fiber, no queue and no copy per
 * message. A topic exists while somebody listens. Source: docs/contract/websocket.md#public-topics, #order-book,
 * #private-topics, #emission.
 */
import { Clock, Context, Effect, FiberSet, Layer, Schedule } from "effect"
import type { Instrument } from "../domain/Market.ts"
import type { Topic } from "../domain/Topic.ts"
import { BackendHealth } from "../services/operations/BackendHealth.ts"
import { type MarketChange, MarketView } from "../services/markets/MarketView.ts"
import { CurrentMetricsRegistry } from "../services/operations/MetricsRegistry.ts"
import { UserStreams } from "../services/read-model/UserStreams.ts"
import { BookTopic } from "./BookTopic.ts"
import { KlineTopic } from "./KlineTopic.ts"
import { Flusher, type Outbox } from "./Outbox.ts"
import * as Pacer from "./Throttler.ts"
import { type PrivateFeed, UserMessage } from "./PrivateFeed.ts"
import { PacedTopic, type PublicTopic, type View } from "./PublicTopic.ts"
import { AlertTopic, PoolTopic, TickerTopic } from "./StateTopics.ts"
import { AggregatedTradeTopic, LiquidationTopic, TradeTopic } from "./TradeTopics.ts"

export type MarketTopic = Exclude<Topic, { readonly kind: "private" }>

/** The market that a topic is about; `undefined`: nobody knows it. */
export const marketOf = (view: View, topic: MarketTopic): Instrument | undefined =>
  topic.kind === "trade/"
    ? view.instruments().find(({ market_addr }) => market_addr === topic.market_addr)
    : view.instrument(topic.symbol)

const open = (name: string, topic: MarketTopic, symbol: string, view: View): PublicTopic => {
  switch (topic.kind) {
    case "trade":
      return new TradeTopic(name, symbol, view)
    case "trade/":
      return new AggregatedTradeTopic(name, symbol, topic.market_addr, view)
    case "all_liquidations":
      return new LiquidationTopic(name, symbol, view)
    case "orderbook":
      return new BookTopic(name, symbol, topic.depth, view)
    case "kline":
      return new KlineTopic(name, symbol, topic.interval, view)
    case "ticker":
      return new TickerTopic(name, symbol, view)
    case "insurance_pool":
      return new PoolTopic(name, symbol, view)
    case "adl_alert":
      return new AlertTopic(name, symbol, view)
  }
}

/**
 * The order within a change is that of docs/contract/websocket.md#emission: trades, then the book that shows them, then
 * what follows from both.
 */
const RANKS: ReadonlyArray<MarketTopic["kind"]> = [
  "trade",
  "trade/",
  "all_liquidations",
  "orderbook",
  "kline",
  "ticker",
  "insurance_pool",
  "adl_alert"
]

const sum = <A>(all: Iterable<A>, of: (each: A) => number): number => {
  let total = 0
  for (const each of all) total += of(each)
  return total
}

/** Topics of one market that somebody listens to, in the order in which they are told. */
class Market {
  private ranked: ReadonlyArray<{ readonly rank: number; readonly topic: PublicTopic }> = []

  get isEmpty(): boolean {
    return this.ranked.length === 0
  }
  add(topic: PublicTopic, kind: MarketTopic["kind"]): void {
    this.ranked = [...this.ranked, { rank: RANKS.indexOf(kind), topic }].sort((a, b) => a.rank - b.rank)
  }
  remove(topic: PublicTopic): void {
    this.ranked = this.ranked.filter((each) => each.topic !== topic)
  }
  /** Subscriptions to topics of a kind. */
  subscriptions(kind: MarketTopic["kind"]): number {
    const rank = RANKS.indexOf(kind)
    return sum(this.ranked, (each) => (each.rank === rank ? each.topic.members.size : 0))
  }
  tell(change: MarketChange, now: number, pacer: Pacer.Throttler): void {
    for (const { topic } of this.ranked) {
      const job = topic.take(change, now)
      if (job !== undefined) pacer.request(job, now)
    }
  }
}

/** How often it is looked whether a topic has been silent for too long. */
const SILENCE_CHECK_MS = 1_000

export class Hub extends Context.Service<
  Hub,
  {
    readonly flusher: Flusher
    /** Takes note of what should never be thrown. */
    readonly report: (fault: unknown) => void
    readonly now: () => number
    /** Sends the topic's snapshot to an outbox and adds it to the members; again: it starts anew. Its market is known. */
    readonly join: (name: string, topic: MarketTopic, outbox: Outbox) => void
    readonly leave: (name: string, outbox: Outbox) => void
    /** Gives a connection the events of its user; the returned function ends it. */
    readonly attach: (feed: PrivateFeed, onRestart: () => void) => () => void
  }
>()("gateway/ws/Hub") {
  static readonly layer = Layer.effect(
    Hub,
    Effect.gen(function* () {
      const view = yield* MarketView
      const streams = yield* UserStreams
      const health = yield* BackendHealth
      const clock = yield* Clock.Clock
      const now = () => clock.currentTimeMillisUnsafe()
      const fork = yield* FiberSet.makeRuntime<never>()
      /** Callbacks of others must not throw: what should never happen is a log line, and the lane goes on. */
      const report = (fault: unknown): void => void fork(Effect.logError("a feed failed", fault))
      const flusher = new Flusher(now, report)
      const pacer = yield* Pacer.make(clock)

      const topics = new Map<string, PublicTopic>()
      const markets = new Map<string, Market>()

      const meter = yield* CurrentMetricsRegistry
      meter.gauge("gateway_ws_conflations_total", {}, () => flusher.conflations)
      for (const kind of RANKS) {
        meter.gauge("gateway_ws_subscriptions", { topic: kind }, () =>
          sum(markets.values(), (market) => market.subscriptions(kind))
        )
      }

      const add = (name: string, kind: MarketTopic): PublicTopic => {
        const symbol = marketOf(view, kind)!.symbol
        const topic = open(name, kind, symbol, view)
        let market = markets.get(symbol)
        if (market === undefined) markets.set(symbol, (market = new Market()))
        market.add(topic, kind.kind)
        topics.set(name, topic)
        return topic
      }
      const remove = (topic: PublicTopic): void => {
        topics.delete(topic.name)
        if (topic instanceof PacedTopic) pacer.cancel(topic)
        const market = markets.get(topic.symbol)!
        market.remove(topic)
        if (market.isEmpty) markets.delete(topic.symbol)
      }

      const unfollow = view.follow((changes) => {
        if (markets.size === 0) return
        const at = now()
        for (const change of changes) {
          try {
            markets.get(change.symbol)?.tell(change, at, pacer)
          } catch (fault) {
            report(fault)
          }
        }
      })
      yield* Effect.addFinalizer(() => Effect.sync(unfollow))

      // some topics come at least every so often, as long as they can be true
      yield* Effect.sync(() => {
        const at = now()
        if (health.sequencer().ill) return
        for (const topic of topics.values()) {
          if (!(topic instanceof PacedTopic) || topic.silence_ms === undefined) continue
          if (at - topic.lastRun >= topic.silence_ms) pacer.request(topic, at)
        }
      }).pipe(Effect.repeat(Schedule.spaced(SILENCE_CHECK_MS)), Effect.forkScoped)

      interface Channel {
        readonly feeds: Map<PrivateFeed, () => void>
        readonly unfollow: () => void
      }
      const channels = new Map<string, Channel>()
      meter.gauge("gateway_ws_subscriptions", { topic: "private" }, () =>
        sum(channels.values(), ({ feeds }) => feeds.size)
      )
      const openChannel = (user_id: string): Channel => {
        const feeds: Channel["feeds"] = new Map()
        const channel: Channel = {
          feeds,
          unfollow: streams.follow(user_id, (events) => {
            const at = now()
            const stream_id = streams.streamId()
            const messages = events.map((event) => new UserMessage(event, stream_id, at))
            for (const feed of feeds.keys()) feed.take(messages, at)
          })
        }
        channels.set(user_id, channel)
        return channel
      }
      const stop = streams.onRestart(() => {
        for (const { feeds } of channels.values()) for (const onRestart of feeds.values()) onRestart()
      })
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          stop()
          for (const { unfollow } of channels.values()) unfollow()
        })
      )

      return Hub.of({
        flusher,
        report,
        now,
        join: (name, topic, outbox) => {
          const joined = topics.get(name) ?? add(name, topic)
          joined.members.add(outbox)
          const at = now()
          outbox.begin(joined.snapshot(at), joined, at)
        },
        leave: (name, outbox) => {
          const topic = topics.get(name)
          if (topic === undefined || !topic.members.delete(outbox)) return
          outbox.forget(topic)
          if (topic.members.size === 0) remove(topic)
        },
        attach: (feed, onRestart) => {
          const channel = channels.get(feed.user_id) ?? openChannel(feed.user_id)
          channel.feeds.set(feed, onRestart)
          return () => {
            channel.feeds.delete(feed)
            if (channel.feeds.size > 0) return
            channel.unfollow()
            channels.delete(feed.user_id)
          }
        }
      })
    })
  )
}
