/**
 * Fan-out: turns what markets and users bring into frames, each encoded once, and offers them to every outbox that
 * joined the topic.
 *
 * Everything here runs in callbacks of {@link MarketView} and {@link UserStreams}: no fiber, no queue and no copy per
 * message. A topic exists while somebody listens. Source: contract 5.5, 5.6, 5.8, 6.
 */
import { Clock, Context, Effect, FiberSet, Layer, Schedule } from "effect"
import type { Topic } from "../domain/Topic.ts"
import { BackendHealth } from "../services/BackendHealth.ts"
import { type MarketChange, MarketView } from "../services/MarketView.ts"
import { UserStreams } from "../services/UserStreams.ts"
import { Flusher, type Outbox } from "./Outbox.ts"
import * as Pacer from "./Pacer.ts"
import { type PrivateFeed, UserMessage } from "./PrivateFeed.ts"
import { BookTopic, KlineTopic, TICKER_SILENCE_MS, TickerTopic, TradeTopic } from "./PublicTopic.ts"

type MarketTopic = Exclude<Topic, { readonly kind: "private" }>
type Listened = BookTopic | TradeTopic | TickerTopic | KlineTopic

/** Topics of one market that somebody listens to. */
class Market {
  trade: TradeTopic | undefined
  ticker: TickerTopic | undefined
  readonly books = new Set<BookTopic>()
  readonly klines = new Map<string, KlineTopic>()
}

/** How often it is looked whether a ticker has been silent for too long. */
const TICKER_CHECK_MS = 1_000

export class Hub extends Context.Service<
  Hub,
  {
    readonly flusher: Flusher
    /** Takes note of what should never be thrown. */
    readonly report: (fault: unknown) => void
    readonly now: () => number
    /** Sends the topic's snapshot to an outbox and adds it to the members; again: the topic starts anew. */
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

      const topics = new Map<string, Listened>()
      const markets = new Map<string, Market>()

      const open = (name: string, topic: MarketTopic): Listened => {
        let market = markets.get(topic.symbol)
        if (market === undefined) markets.set(topic.symbol, (market = new Market()))
        switch (topic.kind) {
          case "trade":
            return (market.trade = new TradeTopic(name, topic.symbol, view))
          case "ticker":
            return (market.ticker = new TickerTopic(name, topic.symbol, view))
          case "kline": {
            const kline = new KlineTopic(name, topic.symbol, topic.interval, view)
            market.klines.set(topic.interval, kline)
            return kline
          }
          case "orderbook": {
            const book = new BookTopic(name, topic.symbol, topic.depth, view)
            market.books.add(book)
            return book
          }
        }
      }

      const close = (name: string, topic: Listened): void => {
        topics.delete(name)
        if (!(topic instanceof TradeTopic)) pacer.cancel(topic)
        for (const [symbol, market] of markets) {
          if (market.trade === topic) market.trade = undefined
          if (market.ticker === topic) market.ticker = undefined
          if (topic instanceof BookTopic) market.books.delete(topic)
          for (const [interval, kline] of market.klines) if (kline === topic) market.klines.delete(interval)
          if (
            market.trade === undefined &&
            market.ticker === undefined &&
            market.books.size === 0 &&
            market.klines.size === 0
          ) {
            markets.delete(symbol)
          }
        }
      }

      // the order within a change is that of contract 6: trades, then the book that shows them, then the ticker
      const told = (change: MarketChange, at: number): void => {
        const market = markets.get(change.symbol)
        if (market === undefined) return
        if (change.trades.length > 0) market.trade?.publish(change.trades, at)
        if (change.reset) for (const book of market.books) book.reset(at)
        else if (change.book !== undefined) for (const book of market.books) pacer.request(book, at)
        if (market.klines.size > 0) {
          for (const { candle, interval } of change.candles) {
            const kline = market.klines.get(interval)
            if (kline?.changed(candle, at) === true) pacer.request(kline, at)
          }
        }
        if (change.tickerChanged && market.ticker !== undefined) pacer.request(market.ticker, at)
      }
      const unfollow = view.follow((changes) => {
        if (markets.size === 0) return
        const at = now()
        for (const change of changes) {
          try {
            told(change, at)
          } catch (fault) {
            report(fault)
          }
        }
      })
      yield* Effect.addFinalizer(() => Effect.sync(unfollow))

      // a ticker comes at least every 10 s, as long as it can be true
      yield* Effect.sync(() => {
        const at = now()
        if (health.sequencer().ill) return
        for (const { ticker } of markets.values()) {
          if (ticker !== undefined && at - ticker.lastRun >= TICKER_SILENCE_MS) pacer.request(ticker, at)
        }
      }).pipe(Effect.repeat(Schedule.spaced(TICKER_CHECK_MS)), Effect.forkScoped)

      interface Channel {
        readonly feeds: Map<PrivateFeed, () => void>
        readonly unfollow: () => void
      }
      const channels = new Map<string, Channel>()
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
          let joined = topics.get(name)
          if (joined === undefined) topics.set(name, (joined = open(name, topic)))
          joined.members.add(outbox)
          const at = now()
          outbox.begin(joined.snapshot(at), joined, at)
        },
        leave: (name, outbox) => {
          const topic = topics.get(name)
          if (topic === undefined || !topic.members.delete(outbox)) return
          outbox.forget(topic)
          if (topic.members.size === 0) close(name, topic)
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
