import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import { BackendHealth } from "../../../src/services/operations/BackendHealth.ts"
import { PriceFeed, type PriceFrame } from "../../../src/services/PriceFeed.ts"
import * as PriceFollower from "../../../src/services/markets/PriceFollower.ts"
import { aheadOf } from "../../../verification/harness/Clocks.ts"

const level = { head_seq: 10, applied_seq: 10, oldest_unapplied_ms: undefined }

/** Advances second by second, with a frame at each. */
const frames = (seconds: number, frame: Parameters<BackendHealth["Service"]["sequencerProgress"]>[0]) =>
  Effect.gen(function* () {
    const health = yield* BackendHealth
    for (let i = 0; i < seconds; i++) {
      yield* TestClock.adjust("1 second")
      health.sequencerProgress(frame)
    }
  })

describe("BackendHealth", () => {
  const test = (title: string, body: Effect.Effect<void, never, BackendHealth>) =>
    it.effect(title, () => Effect.provide(body, BackendHealth.layer))

  test(
    "has started when each has been well once",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      health.sequencerProgress(level)
      assert.isFalse(health.started(), "the referee has reported nothing yet")
      health.refereeProgress({ applied_seq: 10 })
      assert.isTrue(health.started())
      health.refereeLost()
      assert.isTrue(health.started())
    })
  )

  for (const ms of [-3_600_000, 3_600_000])
    it.effect(`counts an fault by monotonic time while the wall clock is set by ${ms} ms`, () =>
      Effect.gen(function* () {
        let ahead_ms = 0
        const clock = aheadOf(yield* Clock.Clock, () => ahead_ms)
        yield* Effect.gen(function* () {
          const health = yield* BackendHealth
          health.sequencerProgress(level)
          yield* TestClock.adjust("1 second")
          ahead_ms += ms
          assert.deepInclude(health.sequencer(), { unhealthy_for_ms: 0, age_ms: 1_000 })
          health.sequencerLost()
          yield* TestClock.adjust("1 second")
          ahead_ms += ms
          assert.deepInclude(health.sequencer(), { unhealthy_for_ms: 1_000, age_ms: 2_000 })
        }).pipe(Effect.provide(BackendHealth.layer.pipe(Layer.provide(Layer.succeed(Clock.Clock, clock)))))
      })
    )

  test(
    "is unhealthy before the first frame and well with it",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      yield* TestClock.adjust("3 seconds")
      assert.deepInclude(health.sequencer(), {
        connected: false,
        unhealthy: true,
        unhealthy_for_ms: 3_000,
        age_ms: Infinity
      })
      health.sequencerProgress(level)
      assert.deepStrictEqual(health.sequencer(), {
        connected: true,
        lag_events: 0,
        lag_ms: 0,
        unhealthy: false,
        fault: undefined,
        unhealthy_for_ms: 0,
        age_ms: 0
      })
    })
  )

  test(
    "catches up, after a start and after a loss, with what the backend had reported by then, and with no more",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      health.sequencerProgress({ head_seq: 20_000, applied_seq: 1, oldest_unapplied_ms: undefined })
      assert.deepInclude(health.sequencer(), { connected: true, unhealthy: true, fault: "behind", lag_events: 19_999 })
      assert.isFalse(health.started())
      health.sequencerProgress({ head_seq: 50_000, applied_seq: 19_999, oldest_unapplied_ms: 0 })
      assert.isTrue(health.sequencer().unhealthy)
      health.sequencerProgress({ head_seq: 50_000, applied_seq: 20_000, oldest_unapplied_ms: 0 })
      assert.deepInclude(health.sequencer(), { unhealthy: false, lag_events: 30_000 })
      health.sequencerLost()
      assert.deepInclude(health.sequencer(), { connected: false, unhealthy: true, fault: "lost" })
      health.sequencerProgress({ head_seq: 60_000, applied_seq: 20_000, oldest_unapplied_ms: undefined })
      assert.deepInclude(health.sequencer(), { connected: true, unhealthy: true, fault: "behind" })
      health.sequencerProgress({ head_seq: 90_000, applied_seq: 60_000, oldest_unapplied_ms: 0 })
      assert.isFalse(health.sequencer().unhealthy)
    })
  )

  test(
    "reports the age of what is shown while it catches up, though frames arrive",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      yield* TestClock.adjust("1 hour")
      const at = (applied_seq: number, applied_ms: number) => {
        health.sequencerProgress({ head_seq: 100, applied_seq, oldest_unapplied_ms: undefined, applied_ms })
        return health.sequencer()
      }
      assert.deepInclude(at(1, 0), { unhealthy: true, fault: "behind", age_ms: 3_600_000 })
      assert.deepInclude(at(60, 3_570_000), { unhealthy: true, age_ms: 30_000 })
      assert.deepInclude(at(100, 3_599_000), { unhealthy: false, age_ms: 0 })
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(health.sequencer().age_ms, 2_000)
    })
  )

  test(
    "is unhealthy while the link is lost, and well with the next frame where it was not silent before",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      health.sequencerProgress(level)
      health.sequencerLost()
      assert.deepInclude(health.sequencer(), { connected: false, unhealthy: true })
      yield* TestClock.adjust("4 seconds")
      assert.isTrue(health.sequencer().unhealthy)
      health.sequencerProgress(level)
      assert.deepInclude(health.sequencer(), { connected: true, unhealthy: false })
    })
  )

  test(
    "is lagging after 5 s without a frame, and well again after 2 s of frames",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      health.sequencerProgress(level)
      yield* TestClock.adjust("5 seconds")
      assert.isFalse(health.sequencer().unhealthy)
      yield* TestClock.adjust("1 second")
      assert.deepInclude(health.sequencer(), {
        unhealthy: true,
        fault: "silent",
        unhealthy_for_ms: 500,
        age_ms: 6_000,
        connected: true
      })
      health.sequencerProgress(level)
      assert.isTrue(health.sequencer().unhealthy)
      yield* frames(1, level)
      assert.isTrue(health.sequencer().unhealthy)
      yield* frames(1, level)
      assert.isFalse(health.sequencer().unhealthy)
    })
  )

  test(
    "remembers a silence that nobody read, and begins the recovery anew with a second one over half of the limit",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      health.sequencerProgress(level)
      yield* TestClock.adjust("20 seconds")
      health.sequencerProgress(level)
      assert.deepInclude(health.sequencer(), { unhealthy: true, unhealthy_for_ms: 14_500 })
      yield* TestClock.adjust("1500 millis")
      health.sequencerProgress(level)
      yield* TestClock.adjust("3 seconds")
      health.sequencerProgress(level)
      yield* TestClock.adjust("1 second")
      assert.isTrue(health.sequencer().unhealthy)
      yield* frames(2, level)
      assert.isFalse(health.sequencer().unhealthy)
    })
  )

  test(
    "histories that are behind and move are no fault; those that stand are, until they move for two seconds or are complete",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      /** Advances second by second, with events of which some are not written. */
      const behind = (seconds: number, unwritten_events: number, move: number) =>
        Effect.gen(function* () {
          for (let i = 0; i < seconds; i++) {
            yield* frames(1, level)
            written_seq += move
            health.historyProgress({ unwritten_events, written_seq })
          }
          return health.sequencer().fault
        })
      let written_seq = 1
      health.sequencerProgress(level)
      assert.isUndefined(yield* behind(20, 100, 1))
      assert.isUndefined(yield* behind(4, 100, 0))
      assert.strictEqual(yield* behind(3, 100, 0), "stalled")
      assert.isUndefined(yield* behind(4, 100, 1))
      assert.strictEqual(yield* behind(7, 100, 0), "stalled")
      assert.isUndefined(yield* behind(4, 0, 0))
      // a fault that lasts is no recovery
      assert.strictEqual(yield* behind(11, 100, 0), "stalled")
      assert.isAbove(health.sequencer().unhealthy_for_ms, 4_000)
    })
  )

  test(
    "events received and not applied here do not make the backend unhealthy, in any number and of any age",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      health.sequencerProgress(level)
      for (let second = 1; second <= 60; second++) {
        yield* TestClock.adjust("1 second")
        const applied_seq = 10 + second
        health.sequencerProgress({ head_seq: 10 + 1_000 * second, applied_seq, oldest_unapplied_ms: second * 100 })
        assert.isFalse(health.sequencer().unhealthy)
      }
      assert.deepInclude(health.sequencer(), { lag_events: 59_940, lag_ms: 54_000, unhealthy_for_ms: 0 })
    })
  )

  test(
    "a backend is not silent while received events are queued here",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      health.sequencerProgress(level)
      health.sequencerProgress({ head_seq: 500, applied_seq: 10, oldest_unapplied_ms: 0 })
      yield* TestClock.adjust("5 seconds")
      health.sequencerProgress({ head_seq: 500, applied_seq: 200, oldest_unapplied_ms: 0 })
      yield* TestClock.adjust("5 seconds")
      assert.isFalse(health.sequencer().unhealthy)
      health.sequencerProgress({ head_seq: 500, applied_seq: 500, oldest_unapplied_ms: undefined })
      yield* TestClock.adjust("6 seconds")
      assert.deepInclude(health.sequencer(), { unhealthy: true, fault: "silent" })
    })
  )

  test(
    "is stalled when no event is applied for 5 s though some wait",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      const waiting = { head_seq: 11, applied_seq: 10, oldest_unapplied_ms: 0 }
      health.sequencerProgress(level)
      health.sequencerProgress(waiting)
      yield* TestClock.adjust("5 seconds")
      assert.deepInclude(health.sequencer(), { unhealthy: false, lag_ms: 5_000, lag_events: 1 })
      yield* TestClock.adjust("1 second")
      assert.deepInclude(health.sequencer(), { unhealthy: true, fault: "stalled", lag_ms: 6_000 })
      health.sequencerProgress({ ...waiting, applied_seq: 11, oldest_unapplied_ms: undefined })
      yield* frames(2, { ...waiting, applied_seq: 11, oldest_unapplied_ms: undefined })
      assert.isFalse(health.sequencer().unhealthy)
    })
  )

  test(
    "is unhealthy at once when the connection is lost",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      health.sequencerProgress(level)
      yield* TestClock.adjust("1 second")
      health.sequencerLost()
      yield* TestClock.adjust("500 millis")
      assert.deepInclude(health.sequencer(), {
        connected: false,
        unhealthy: true,
        unhealthy_for_ms: 500,
        age_ms: 1_500
      })
      assert.isFalse(health.referee().connected)
    })
  )

  test(
    "measures a referee against the head that was known at the heartbeat before",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      const at = (seq: number) => ({ ...level, head_seq: seq, applied_seq: seq })
      health.sequencerProgress(level)
      health.refereeProgress({ applied_seq: 10 })
      assert.deepInclude(health.referee(), { unhealthy: false, lag_events: 0 })
      // many events in a second: its next heartbeat may wait here behind them
      health.sequencerProgress(at(50_000))
      health.refereeProgress({ applied_seq: 10 })
      assert.isFalse(health.referee().unhealthy)
      health.refereeProgress({ applied_seq: undefined })
      assert.isFalse(health.referee().unhealthy)
      health.refereeProgress({ applied_seq: 39_999 })
      assert.deepInclude(health.referee(), { unhealthy: true, fault: "behind", lag_events: 10_001 })
      assert.isFalse(health.sequencer().unhealthy)
      health.refereeProgress({ applied_seq: 44_999 })
      yield* TestClock.adjust("3 seconds")
      health.refereeProgress({ applied_seq: 44_999 })
      assert.isTrue(health.referee().unhealthy, "more than half of the limit")
      health.refereeProgress({ applied_seq: 50_000 })
      yield* TestClock.adjust("2 seconds")
      health.refereeProgress({ applied_seq: 50_000 })
      assert.isFalse(health.referee().unhealthy)
    })
  )

  test(
    "calls a referee late beyond 10,000 events, and well after two seconds within half of that",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      health.sequencerProgress(level)
      health.refereeProgress({ applied_seq: 10 })
      health.sequencerProgress({ ...level, head_seq: 50_000, applied_seq: 50_000 })
      health.refereeProgress({ applied_seq: 10 })
      health.refereeProgress({ applied_seq: 40_000 })
      assert.isFalse(health.referee().unhealthy)
      health.refereeProgress({ applied_seq: 39_999 })
      assert.deepInclude(health.referee(), { unhealthy: true, fault: "behind" })
      const second = (applied_seq: number) =>
        Effect.map(TestClock.adjust("1 second"), () => {
          health.refereeProgress({ applied_seq })
          return health.referee().unhealthy
        })
      for (let seconds = 0; seconds < 4; seconds++) assert.isTrue(yield* second(44_999))
      assert.deepStrictEqual([yield* second(45_000), yield* second(45_000), yield* second(45_000)], [true, true, false])
    })
  )

  test(
    "is well with the first frame after a loss, whatever was queued or known before",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      health.sequencerProgress({ ...level, head_seq: 50_000, applied_seq: 50_000 })
      health.refereeProgress({ applied_seq: 50_000 })
      health.refereeLost()
      // of a referee that was restored
      health.refereeProgress({ applied_seq: 30_000 })
      assert.deepInclude(health.referee(), { unhealthy: false, lag_events: 0 })
      const waiting = { head_seq: 50_000, applied_seq: 50_000, oldest_unapplied_ms: 0 }
      health.sequencerProgress(waiting)
      yield* TestClock.adjust("4 seconds")
      health.sequencerLost()
      assert.strictEqual(health.sequencer().lag_ms, 0)
      health.sequencerProgress(waiting)
      yield* TestClock.adjust("4 seconds")
      assert.isFalse(health.sequencer().unhealthy)
    })
  )

  it.live("a stall of this process does not count as silence of a backend", () =>
    Effect.gen(function* () {
      const health = yield* BackendHealth
      health.sequencerProgress(level)
      health.refereeProgress({ applied_seq: 10 })
      const until = performance.now() + 5_600
      while (performance.now() < until);
      assert.isFalse(health.sequencer().unhealthy)
      // timers that are due run before what arrived meanwhile is read
      yield* Effect.sleep(1)
      assert.isFalse(health.sequencer().unhealthy)
      assert.isFalse(health.referee().unhealthy)
    }).pipe(Effect.provide(BackendHealth.layer))
  )

  it.effect("is not connected by prices alone: the first heartbeat has the progress of the referee", () =>
    Effect.gen(function* () {
      const queue = yield* Queue.unbounded<PriceFrame>()
      const feed = Layer.succeed(PriceFeed, { frames: Stream.fromQueue(queue) })
      yield* Effect.gen(function* () {
        const health = yield* BackendHealth
        const connected = Effect.map(
          Effect.forEach(Array.from({ length: 20 }), () => Effect.yieldNow),
          () => health.referee().connected
        )
        Queue.offerUnsafe(queue, { type: "prices", prices: [] })
        assert.isFalse(yield* connected)
        Queue.offerUnsafe(queue, { type: "heartbeat", applied_seq: 5, server_ts_ms: 0 })
        assert.isTrue(yield* connected)
      }).pipe(Effect.provide(Layer.provideMerge(PriceFollower.layer.pipe(Layer.provide(feed)), BackendHealth.layer)))
    })
  )

  it.effect("follows the price stream, its losses and its end", () =>
    Effect.gen(function* () {
      const queue = yield* Queue.unbounded<PriceFrame>()
      let opened = 0
      const feed = Layer.succeed(PriceFeed, {
        frames: Stream.suspend(() => {
          opened++
          return Stream.takeUntil(Stream.fromQueue(queue), (frame) => frame.type === "prices")
        })
      })
      yield* Effect.gen(function* () {
        const health = yield* BackendHealth
        const settle = Effect.andThen(
          Effect.forEach(Array.from({ length: 20 }), () => Effect.yieldNow),
          Effect.void
        )
        Queue.offerUnsafe(queue, { type: "heartbeat", applied_seq: 5, server_ts_ms: 0 })
        yield* settle
        assert.isFalse(health.referee().unhealthy)
        Queue.offerUnsafe(queue, { type: "interrupted" })
        yield* settle
        assert.isFalse(health.referee().connected)
        Queue.offerUnsafe(queue, { type: "prices", prices: [] })
        yield* settle
        assert.isFalse(health.referee().connected, "the stream ended")
        yield* TestClock.adjust("1 second")
        yield* settle
        assert.strictEqual(opened, 2)
      }).pipe(Effect.provide(Layer.provideMerge(PriceFollower.layer.pipe(Layer.provide(feed)), BackendHealth.layer)))
    })
  )
})
