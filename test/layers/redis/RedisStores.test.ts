import * as SqliteStores from "../../doubles/SqliteStores.ts"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as RedisNonceStore from "../../../src/layers/redis/RedisNonceStore.ts"
import * as RedisRateLimitStore from "../../../src/layers/redis/RedisRateLimitStore.ts"
import { NonceStore } from "../../../src/services/identity/NonceStore.ts"
import * as NonceStoreContract from "../../contracts/NonceStoreContract.ts"
import * as RateLimitStoreContract from "../../contracts/RateLimitStoreContract.ts"
import { isRedisInstalled } from "../../../verification/harness/RedisServer.ts"
import { linkAtTestTime } from "../../doubles/RedisLinks.ts"

/** Waits for the end of the window after the first start, in which claims are refused. */
const settled = Layer.effectDiscard(
  Effect.gen(function* () {
    const { claim } = yield* NonceStore
    yield* Effect.flip(claim("rest", new Uint8Array(32), "nonce-0000"))
    yield* TestClock.adjust("61 seconds")
  })
)
const nonces = NonceStore.routed({
  forever: SqliteStores.nonces,
  windowed: settled.pipe(Layer.provideMerge(RedisNonceStore.layer()), Layer.provide(linkAtTestTime))
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
  RateLimitStoreContract.suite("Redis", RedisRateLimitStore.layer.pipe(Layer.provide(linkAtTestTime)))
})
