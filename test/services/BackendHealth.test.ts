import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import { BackendHealth } from "../../src/services/BackendHealth.ts"
import { PriceFeed, type PriceFrame } from "../../src/services/PriceFeed.ts"
import * as PriceFollower from "../../src/services/PriceFollower.ts"

const level = { head_seq: 10, applied_seq: 10, oldest_unapplied_ms: undefined }

/** Advances second by second, with a frame at each. */
const frames = (seconds: number, frame: Parameters<BackendHealth["Service"]["sawSequencer"]>[0]) =>
  Effect.gen(function* () {
    const health = yield* BackendHealth
    for (let i = 0; i < seconds; i++) {
      yield* TestClock.adjust("1 second")
      health.sawSequencer(frame)
    }
  })

describe("BackendHealth", () => {
  const test = (title: string, body: Effect.Effect<void, never, BackendHealth>) =>
    it.effect(title, () => Effect.provide(body, BackendHealth.layer))

  test(
    "has started when each has been well once",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      health.sawSequencer(level)
      assert.isFalse(health.started(), "the referee has told nothing yet")
      // it comes far behind, as after a crash
      health.sawSequencer({ ...level, head_seq: 20_000 })
      health.sawReferee({ applied_seq: 1 })
      assert.isFalse(health.started())
      for (let i = 0; i < 3; i++) {
        health.sawReferee({ applied_seq: 20_000 })
        yield* TestClock.adjust("1 second")
      }
      assert.isTrue(health.started())
      health.lostReferee()
      assert.isTrue(health.started())
    })
  )

  test(
    "is ill before the first frame and well with it",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      yield* TestClock.adjust("3 seconds")
      assert.deepInclude(health.sequencer(), { connected: false, ill: true, ill_for_ms: 3_000, age_ms: Infinity })
      health.sawSequencer(level)
      assert.deepStrictEqual(health.sequencer(), {
        connected: true,
        lag_events: 0,
        lag_ms: 0,
        ill: false,
        ill_for_ms: 0,
        age_ms: 0
      })
    })
  )

  test(
    "is ill while the link is lost, and well with the next frame where it has not lagged",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      health.sawSequencer(level)
      health.lostSequencer()
      assert.deepInclude(health.sequencer(), { connected: false, ill: true })
      yield* TestClock.adjust("4 seconds")
      assert.isTrue(health.sequencer().ill)
      health.sawSequencer(level)
      assert.deepInclude(health.sequencer(), { connected: true, ill: false })
      // it comes back far behind: that is a lag, and its end takes its time
      health.lostSequencer()
      health.sawSequencer({ ...level, head_seq: 20_000 })
      assert.isTrue(health.sequencer().ill)
      health.sawSequencer(level)
      assert.isTrue(health.sequencer().ill)
      yield* frames(2, level)
      assert.isFalse(health.sequencer().ill)
      // it was silent for too long as well, though nobody looked
      health.lostSequencer()
      yield* TestClock.adjust("6 seconds")
      health.sawSequencer(level)
      assert.isTrue(health.sequencer().ill)
      yield* frames(2, level)
      assert.isFalse(health.sequencer().ill)
    })
  )

  test(
    "is lagging after 5 s without a frame, and well again after 2 s of frames",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      health.sawSequencer(level)
      yield* TestClock.adjust("5 seconds")
      assert.isFalse(health.sequencer().ill)
      yield* TestClock.adjust("1 second")
      assert.deepInclude(health.sequencer(), { ill: true, ill_for_ms: 1_000, age_ms: 6_000, connected: true })
      health.sawSequencer(level)
      assert.isTrue(health.sequencer().ill)
      yield* frames(1, level)
      assert.isTrue(health.sequencer().ill)
      yield* frames(1, level)
      assert.isFalse(health.sequencer().ill)
    })
  )

  test(
    "remembers a silence that nobody asked about",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      health.sawSequencer(level)
      yield* TestClock.adjust("20 seconds")
      health.sawSequencer(level)
      assert.deepInclude(health.sequencer(), { ill: true, ill_for_ms: 15_000 })
      // a second silence, over half the limit, begins the recovery anew
      yield* TestClock.adjust("1500 millis")
      health.sawSequencer(level)
      yield* TestClock.adjust("3 seconds")
      health.sawSequencer(level)
      yield* TestClock.adjust("1 second")
      assert.isTrue(health.sequencer().ill)
      health.sawSequencer(level)
      yield* TestClock.adjust("1 second")
      assert.isFalse(health.sequencer().ill)
    })
  )

  test(
    "is lagging more than 10,000 events behind, until it is below 5,000",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      const behind = (by: number) => ({ ...level, head_seq: 10 + by })
      health.sawSequencer(level)
      health.sawSequencer(behind(10_000))
      assert.isFalse(health.sequencer().ill)
      health.sawSequencer(behind(10_001))
      assert.deepInclude(health.sequencer(), { ill: true, lag_events: 10_001 })
      yield* frames(4, behind(5_001))
      assert.isTrue(health.sequencer().ill)
      yield* frames(3, behind(5_000))
      assert.isFalse(health.sequencer().ill)
    })
  )

  test(
    "is lagging while an event waits for longer than 5 s",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      health.sawSequencer(level)
      const waiting = { head_seq: 11, applied_seq: 10, oldest_unapplied_ms: 0 }
      yield* frames(5, waiting)
      assert.deepInclude(health.sequencer(), { ill: false, lag_ms: 5_000, lag_events: 1 })
      yield* frames(1, waiting)
      assert.deepInclude(health.sequencer(), { ill: true, lag_ms: 6_000 })
    })
  )

  test(
    "is ill at once when the connection is lost",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      health.sawSequencer(level)
      yield* TestClock.adjust("1 second")
      health.lostSequencer()
      yield* TestClock.adjust("500 millis")
      assert.deepInclude(health.sequencer(), { connected: false, ill: true, ill_for_ms: 500, age_ms: 1_500 })
      assert.isFalse(health.referee().connected)
    })
  )

  test(
    "measures the referee against the head of the sequencer",
    Effect.gen(function* () {
      const health = yield* BackendHealth
      health.sawSequencer(level)
      health.sawReferee({ applied_seq: 10 })
      assert.deepInclude(health.referee(), { ill: false, lag_events: 0 })
      health.sawSequencer({ ...level, head_seq: 10_011, applied_seq: 10_011 })
      assert.deepInclude(health.referee(), { ill: true, lag_events: 10_001 })
      assert.isFalse(health.sequencer().ill)
      health.sawReferee({ applied_seq: 10_011 })
      yield* TestClock.adjust("2 seconds")
      health.sawReferee({ applied_seq: 10_011 })
      assert.isFalse(health.referee().ill)
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
        assert.isFalse(health.referee().ill)
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
