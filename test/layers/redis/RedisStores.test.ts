import * as SqliteStores from "../../doubles/SqliteStores.ts"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
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
  RateLimitStoreContract.suite("Redis", RedisRateLimitStore.layer.pipe(Layer.provide(linkAtTestTime)))
})
