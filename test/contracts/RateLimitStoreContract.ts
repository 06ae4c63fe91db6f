/** What every RateLimitStore keeps. */
import { assert, layer as withLayer } from "@effect/vitest"
import { Clock, Effect, type Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { RateLimitStore } from "../../src/services/operations/RateLimitStore.ts"

const log = (key: string, limit = 3) => ({ bucket: "public", key, limit, window_ms: 60_000 })

export const suite = <E>(name: string, layer: Layer.Layer<RateLimitStore, E>) =>
  withLayer(layer)(`RateLimitStore on ${name}`, (it) => {
    it.effect("passes as many as the limit, then none, and frees a slot exactly a window after its pass", () =>
      Effect.gen(function* () {
        const store = yield* RateLimitStore
        assert.deepStrictEqual(yield* store.take(log("a")), { passed: true, used: 1, wait_ms: 0 })
        yield* TestClock.adjust(1000)
        assert.deepStrictEqual(yield* store.take(log("a")), { passed: true, used: 2, wait_ms: 0 })
        assert.deepStrictEqual(yield* store.take(log("a")), { passed: true, used: 3, wait_ms: 59_000 })
        assert.deepStrictEqual(yield* store.take(log("a")), { passed: false, used: 3, wait_ms: 59_000 })
        yield* TestClock.adjust(58_999)
        assert.deepStrictEqual(yield* store.take(log("a")), { passed: false, used: 3, wait_ms: 1 })
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* store.take(log("a")), { passed: true, used: 3, wait_ms: 1000 })
        assert.deepStrictEqual(yield* store.take(log("a")), { passed: false, used: 3, wait_ms: 1000 })
      })
    )

    it.effect("counts the same synchronously, if supported", () =>
      Effect.gen(function* () {
        const { take, takeAllNow } = yield* RateLimitStore
        if (takeAllNow === undefined) return
        const takeNow = (one: ReturnType<typeof log>) => takeAllNow([one])[0]
        assert.deepStrictEqual(takeNow(log("now", 2)), { passed: true, used: 1, wait_ms: 0 })
        yield* TestClock.adjust(1000)
        assert.deepStrictEqual(yield* take(log("now", 2)), { passed: true, used: 2, wait_ms: 59_000 })
        assert.deepStrictEqual(takeNow(log("now", 2)), { passed: false, used: 2, wait_ms: 59_000 })
        yield* TestClock.adjust(59_000)
        assert.deepStrictEqual(takeNow(log("now", 2)), { passed: true, used: 2, wait_ms: 1000 })
      })
    )

    it.effect("counts in all logs or in none, for one or many takes", () =>
      Effect.gen(function* () {
        const { peek, takeAll, takeAllNow } = yield* RateLimitStore
        const ways = [
          takeAll,
          ...(takeAllNow === undefined
            ? []
            : [(...of: Parameters<typeof takeAll>) => Effect.sync(() => takeAllNow(...of))])
        ]
        for (const [i, take] of ways.entries()) {
          const [small, large] = [log(`small${i}`, 3), { ...log(`large${i}`, 5), bucket: "user" }]
          assert.deepStrictEqual(yield* take([small, large]), [
            { passed: true, used: 1, wait_ms: 0 },
            { passed: true, used: 1, wait_ms: 0 }
          ])
          yield* TestClock.adjust(1000)
          assert.deepStrictEqual(yield* take([small, large], 3), [
            { passed: false, used: 1, wait_ms: 59_000 },
            { passed: true, used: 1, wait_ms: 0 }
          ])
          assert.deepStrictEqual(yield* take([small, large], 2), [
            { passed: true, used: 3, wait_ms: 59_000 },
            { passed: true, used: 3, wait_ms: 0 }
          ])
          for (let n = 0; n < 5; n++) yield* take([small, large])
          assert.deepStrictEqual(yield* peek(large), { passed: true, used: 3, wait_ms: 0 })
          // more than a log ever lets through
          assert.deepStrictEqual(yield* take([large], 6), [{ passed: false, used: 3, wait_ms: 60_000 }])
          yield* TestClock.adjust(59_000)
          assert.deepStrictEqual(yield* take([small, large]), [
            { passed: true, used: 3, wait_ms: 1000 },
            { passed: true, used: 3, wait_ms: 0 }
          ])
        }
      })
    )

    it.effect("does not count what it refused", () =>
      Effect.gen(function* () {
        const store = yield* RateLimitStore
        for (let i = 0; i < 50; i++) yield* store.take(log("b"))
        yield* TestClock.adjust(60_000)
        assert.strictEqual((yield* store.take(log("b"))).used, 1)
      })
    )

    it.effect("peeks without counting", () =>
      Effect.gen(function* () {
        const store = yield* RateLimitStore
        for (let i = 0; i < 10; i++) {
          assert.deepStrictEqual(yield* store.peek(log("c", 1)), { passed: true, used: 0, wait_ms: 0 })
        }
        yield* store.take(log("c", 1))
        assert.deepStrictEqual(yield* store.peek(log("c", 1)), { passed: false, used: 1, wait_ms: 60_000 })
      })
    )

    it.effect("keeps buckets and keys apart", () =>
      Effect.gen(function* () {
        const store = yield* RateLimitStore
        yield* store.take(log("d", 1))
        assert.isTrue((yield* store.take(log("e", 1))).passed)
        assert.isTrue((yield* store.take({ ...log("d", 1), bucket: "token" })).passed)
        assert.isFalse((yield* store.take(log("d", 1))).passed)
      })
    )

    it.effect("lets no more pass concurrently than the limit", () =>
      Effect.gen(function* () {
        const store = yield* RateLimitStore
        const standings = yield* Effect.forEach(
          Array.from({ length: 30 }, (_, i) => i),
          () => store.take(log("f", 10)),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(standings.filter(({ passed }) => passed).length, 10)
      })
    )

    it.effect("neither frees a slot nor keeps it longer than a window when the clock is set back", () =>
      Effect.gen(function* () {
        const store = yield* RateLimitStore
        yield* TestClock.adjust("2 hours")
        const now = yield* Clock.currentTimeMillis
        for (let i = 0; i < 3; i++) yield* store.take(log("back"))
        yield* TestClock.setTime(now - 3_600_000)
        assert.isFalse((yield* store.take(log("back"))).passed)
        assert.strictEqual((yield* store.peek(log("back"))).wait_ms, 60_000)
        yield* TestClock.adjust("60 seconds")
        assert.isTrue((yield* store.take(log("back"))).passed)
        yield* TestClock.setTime(now + 60_000)
      })
    )

    let runs = 0
    it.effect.prop(
      "agrees with a list of the passes for any course of time",
      {
        gaps: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40_000 }))).check(
          Schema.isMaxLength(30)
        ),
        limit: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 7 }))
      },
      ({ gaps, limit }) =>
        Effect.gen(function* () {
          const store = yield* RateLimitStore
          const key = `g${runs++}`
          let now = 0
          const passes: Array<number> = []
          for (const gap of gaps) {
            yield* TestClock.adjust(gap)
            now += gap
            const recent = passes.filter((at) => at > now - 60_000)
            const standing = yield* store.take(log(key, limit))
            assert.strictEqual(standing.passed, recent.length < limit)
            if (standing.passed) passes.push(now)
          }
        })
    )
  })
