/**
 * Fan-out: turns market changes and user events into frames, each encoded once, and offers them to every outbox that
 * joined the topic.
 *
 * All of it runs in callbacks of {@link MarketView} and {@link UserStreams}: no fiber, no queue and no copy per message.
 * Source: docs/contract/websocket.md#public-topics, #order-book, #private-topics, #emission.
 */
import { Clock, Context, Effect, FiberSet, Layer } from "effect"
import { CredentialLease } from "../services/identity/CredentialLease.ts"
import { MarketView } from "../services/markets/MarketView.ts"
import { BackendHealth } from "../services/operations/BackendHealth.ts"
import * as Daemon from "../services/operations/Daemon.ts"
import { monotonicMillis } from "../services/operations/Monotonic.ts"
import { CurrentMetricsRegistry } from "../services/operations/MetricsRegistry.ts"
import { UserStreams } from "../services/read-model/UserStreams.ts"
import { MarketFanout, type MarketTopic, TOPIC_ORDER } from "./MarketFanout.ts"
import { type Clocks, Flusher, type Outbox } from "./Outbox.ts"
import type { PrivateFeed } from "./PrivateFeed.ts"
import * as Throttler from "./Throttler.ts"
import { UserFanout } from "./UserFanout.ts"

/** Time between two checks for topics that were silent too long, in ms. */
const SILENCE_CHECK_MS = 1_000

export class Hub extends Context.Service<
  Hub,
  Clocks & {
    readonly flusher: Flusher
    /** Logs an unexpected error. */
    readonly report: (fault: unknown) => void
    /** Sends the topic's snapshot to an outbox and adds it to the members; a repeated call sends a new snapshot. The market must exist. */
    readonly join: (name: string, topic: MarketTopic, outbox: Outbox) => void
    readonly leave: (name: string, outbox: Outbox) => void
    /** Gives a connection the events of its user; the returned function detaches it. */
    readonly attach: (feed: PrivateFeed, onRestart: () => void) => () => void
  }
>()("gateway/ws/Hub") {
  static readonly layer = Layer.effect(
    Hub,
    Effect.gen(function* () {
      const view = yield* MarketView
      const streams = yield* UserStreams
      const health = yield* BackendHealth
      const metrics = yield* CurrentMetricsRegistry
      const clock = yield* Clock.Clock
      const clocks: Clocks = {
        now: () => clock.currentTimeMillisUnsafe(),
        monotonic: () => monotonicMillis(clock)
      }
      const fork = yield* FiberSet.makeRuntime<never>()
      /** A callback of another service must not throw: an unexpected error is logged, and the service continues. */
      const report = (fault: unknown): void => void fork(Effect.logError("a feed failed", fault))
      const flusher = new Flusher(clocks, report)
      const markets = new MarketFanout(view, yield* Throttler.make(clock, report), clocks, report)
      const users = new UserFanout(streams, yield* CredentialLease, clocks)

      metrics.gauge("gateway_ws_conflations_total", {}, () => flusher.conflations)
      for (const kind of TOPIC_ORDER) {
        metrics.gauge("gateway_ws_subscriptions", { topic: kind }, () => markets.subscriptions(kind))
      }
      metrics.gauge("gateway_ws_subscriptions", { topic: "private" }, () => users.subscriptions())

      const unfollow = view.follow(markets.publish)
      const stop = streams.onRestart(() => users.restart())
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          stop()
          users.close()
          unfollow()
        })
      )
      // a stale value is not repeated while the sequencer is unavailable
      yield* Effect.sync(() => health.sequencer().unhealthy || markets.refresh()).pipe(
        Effect.andThen(Effect.sleep(SILENCE_CHECK_MS)),
        Daemon.repeat("silent topics")
      )

      return Hub.of({
        flusher,
        report,
        ...clocks,
        join: (name, topic, outbox) => markets.join(name, topic, outbox),
        leave: (name, outbox) => markets.leave(name, outbox),
        attach: (feed, onRestart) => users.attach(feed, onRestart)
      })
    })
  )
}
