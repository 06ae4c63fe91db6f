import * as SqliteStores from "../../doubles/SqliteStores.ts"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Layer, Logger } from "effect"
import { Redis } from "effect/persistence"
import { TestClock } from "effect/testing"
import { DAY_MS } from "../../../src/domain/Time.ts"
import * as RedisNonceStore from "../../../src/layers/redis/RedisNonceStore.ts"
import * as RedisRateLimitStore from "../../../src/layers/redis/RedisRateLimitStore.ts"
import { NonceStore } from "../../../src/services/identity/NonceStore.ts"
import { RateLimitStore } from "../../../src/services/operations/RateLimitStore.ts"
import * as NonceStoreContract from "../../contracts/NonceStoreContract.ts"
import * as RateLimitStoreContract from "../../contracts/RateLimitStoreContract.ts"
import { isRedisInstalled } from "../../../verification/harness/RedisServer.ts"
import { shiftedClock } from "../../doubles/ShiftedClock.ts"
import { linkAtTestTime } from "../../doubles/RedisLinks.ts"

/** Waits for the end of the window after the first start, in which claims are refused. */
const settled = Layer.effectDiscard(
  Effect.gen(function* () {
    const { claim } = yield* NonceStore
    yield* Effect.flip(claim("rest", new Uint8Array(32), "nonce-0000"))
    yield* TestClock.adjust("61 seconds")
  })
)
/** Its reads of the marker end with the first one: their fiber would show Redis this clock. */
const gatewayClock = (ahead_ms: () => number) =>
  Layer.effect(
    Clock.Clock,
    Effect.map(shiftedClock(ahead_ms), (clock) => ({ ...clock, sleep: () => Effect.never }))
  )
const nonces = NonceStore.routed({
  forever: SqliteStores.nonces,
  windowed: settled.pipe(Layer.provideMerge(RedisNonceStore.layer()), Layer.provide(linkAtTestTime))
})

describe("rate limits while Redis fails", () => {
  it.effect("count each of many takes in this process, and no look at a log", () =>
    Effect.gen(function* () {
      const { peek, takeAll } = yield* RateLimitStore
      const log = { bucket: "public", key: "a", limit: 3, window_ms: 60_000 }
      for (let i = 0; i < 5; i++) assert.deepInclude(yield* peek(log), { passed: true, used: 0 })
      assert.deepInclude((yield* takeAll([log], 2))[0], { passed: true, used: 2 })
      assert.deepInclude((yield* takeAll([log], 2))[0], { passed: false, used: 2 })
    }).pipe(
      Effect.provide(
        RedisRateLimitStore.layer.pipe(
          Layer.provide(
            Layer.succeed(Redis.Redis, {
              eval: () => () => Effect.fail(new Redis.RedisError({ cause: "down" }))
            } as unknown as Redis.Redis["Service"])
          )
        )
      ),
      Effect.provide(Logger.layer([]))
    )
  )
})

describe.skipIf(!isRedisInstalled)("Redis", () => {
  NonceStoreContract.suite("Redis", nonces)
  it.effect("refuses every claim, not only the first one, after the clock of Redis went back", () =>
    Effect.gen(function* () {
      const store = yield* NonceStore
      const owner = new Uint8Array(32).fill(9)
      yield* store.claim("rest", owner, "nonce-0001")
      const before = yield* Clock.currentTimeMillis
      // a nonce whose row Redis has dropped, and whose signature is good again by the clock of now
      yield* TestClock.adjust("10 minutes")
      yield* store.claim("rest", owner, "nonce-0002")
      yield* TestClock.setTime(before)
      for (let i = 0; i < 3; i++) {
        const refused = yield* Effect.flip(store.claim("rest", owner, `nonce-1${i}`))
        assert.strictEqual(refused._tag, "NonceStoreUnavailable")
      }
      yield* TestClock.setTime(before + 600_000)
      yield* store.claim("rest", owner, "nonce-0003")
    }).pipe(Effect.provide(nonces))
  )
  it.effect("holds a nonce for a second beyond its window, by which the clock may go back unnoticed", () =>
    Effect.gen(function* () {
      const store = yield* NonceStore
      const redis = yield* Redis.Redis
      const [s, us] = yield* redis.send<[string, string]>("TIME")
      const before = Number(s) * 1_000 + Math.floor(Number(us) / 1_000)
      yield* store.claim("rest", new Uint8Array(32).fill(8), "nonce-0001")
      const names = yield* redis.send<ReadonlyArray<string>>("KEYS", "{gateway:nonces}:*")
      assert.lengthOf(names, 1)
      assert.isAtLeast(Number(yield* redis.send("PEXPIRETIME", names[0]!)), before + 61_000)
    }).pipe(
      Effect.provide(settled.pipe(Layer.provideMerge(RedisNonceStore.layer()), Layer.provideMerge(linkAtTestTime)))
    )
  )
  for (const isLost of [false, true])
    it.effect(
      `refuses claims for one window, no longer, after its clock alone was a day ahead, marker lost: ${isLost}`,
      () =>
        Effect.gen(function* () {
          let ahead_ms = 0
          const store = yield* Effect.map(
            Layer.build(
              settled.pipe(
                Layer.provideMerge(RedisNonceStore.layer().pipe(Layer.provide(gatewayClock(() => -ahead_ms))))
              )
            ),
            Context.get(NonceStore)
          )
          const redis = yield* Redis.Redis
          const owner = new Uint8Array(32).fill(9)
          const claim = (nonce: string) =>
            Effect.match(store.claim("rest", owner, nonce), {
              onSuccess: () => "claimed",
              onFailure: ({ _tag }) => _tag
            })
          assert.strictEqual(yield* claim("nonce-0001"), "claimed")
          const before = yield* Clock.currentTimeMillis
          ahead_ms = DAY_MS
          yield* TestClock.setTime(before + DAY_MS)
          if (isLost) yield* redis.send("DEL", "{gateway:nonces}")
          assert.strictEqual(yield* claim("nonce-0002"), "NonceStoreUnavailable")
          ahead_ms = 0
          yield* TestClock.setTime(before + 1_000)
          // Redis has dropped the first nonce, by the clock that was ahead
          for (const nonce of ["nonce-0001", "nonce-0003"])
            assert.strictEqual(yield* claim(nonce), "NonceStoreUnavailable")
          yield* TestClock.adjust("61 seconds")
          assert.strictEqual(yield* claim("nonce-0004"), "claimed")
        }).pipe(Effect.provide(linkAtTestTime))
    )

  it.effect("continues for the other gateways while the clock of one is a day behind", () =>
    Effect.gen(function* () {
      const store = yield* NonceStore
      let ahead_ms = 0
      const behind = yield* Effect.map(
        Layer.build(Layer.fresh(RedisNonceStore.layer()).pipe(Layer.provide(gatewayClock(() => ahead_ms)))),
        Context.get(NonceStore)
      )
      const owner = new Uint8Array(32).fill(10)
      yield* behind.claim("rest", owner, "nonce-1000")
      ahead_ms = -DAY_MS
      for (let i = 0; i < 3; i++) {
        const refused = yield* Effect.flip(behind.claim("rest", owner, `nonce-200${i}`))
        assert.strictEqual(refused._tag, "NonceStoreUnavailable")
        yield* TestClock.adjust("10 seconds")
        yield* store.claim("rest", owner, `nonce-000${i}`)
      }
    }).pipe(
      Effect.provide(settled.pipe(Layer.provideMerge(RedisNonceStore.layer()), Layer.provideMerge(linkAtTestTime)))
    )
  )
  it.effect("keeps no log for ever, though the clock of Redis was set back and its caller never passes again", () =>
    Effect.gen(function* () {
      const { take } = yield* RateLimitStore
      const redis = yield* Redis.Redis
      const log = { bucket: "public", key: "a", limit: 1, window_ms: 60_000 }
      yield* TestClock.adjust("2 hours")
      assert.isTrue((yield* take(log)).passed)
      yield* TestClock.setTime((yield* Clock.currentTimeMillis) - 3_600_000)
      assert.isFalse((yield* take(log)).passed)
      const left_ms = Number(yield* redis.send("PTTL", "gateway:limit:public:a"))
      assert.isAbove(left_ms, 0)
      assert.isAtMost(left_ms, 60_000)
    }).pipe(Effect.provide(RedisRateLimitStore.layer.pipe(Layer.provideMerge(linkAtTestTime))))
  )
  RateLimitStoreContract.suite("Redis", RedisRateLimitStore.layer.pipe(Layer.provide(linkAtTestTime)))
})
