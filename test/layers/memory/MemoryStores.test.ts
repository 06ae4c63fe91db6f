import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryAccounts from "../../../src/layers/memory/MemoryAccounts.ts"
import * as MemoryNonceStore from "../../../src/layers/memory/MemoryNonceStore.ts"
import * as MemoryRateLimitStore from "../../../src/layers/memory/MemoryRateLimitStore.ts"
import { NonceStore } from "../../../src/services/NonceStore.ts"
import { RateLimitStore } from "../../../src/services/RateLimitStore.ts"
import * as AccountsContract from "../../contracts/AccountsContract.ts"
import * as NonceStoreContract from "../../contracts/NonceStoreContract.ts"
import * as RateLimitStoreContract from "../../contracts/RateLimitStoreContract.ts"

AccountsContract.suite("memory", MemoryAccounts.layer)
NonceStoreContract.suite("memory", MemoryNonceStore.layer())
RateLimitStoreContract.suite("memory", MemoryRateLimitStore.layer())

describe("bounds of the stores in memory", () => {
  it.effect("MemoryNonceStore refuses rather than forgets, until nonces expire", () =>
    Effect.gen(function* () {
      const store = yield* NonceStore
      const owner = new Uint8Array(32)
      yield* store.claim("rest", owner, "nonce-01")
      yield* store.claim("rest", owner, "nonce-02")
      assert.strictEqual((yield* Effect.flip(store.claim("rest", owner, "nonce-03")))._tag, "NonceStoreUnavailable")
      assert.strictEqual((yield* Effect.flip(store.claim("rest", owner, "nonce-01")))._tag, "NonceReused")
      yield* TestClock.adjust("61 seconds")
      yield* store.claim("rest", owner, "nonce-03")
    }).pipe(Effect.provide(MemoryNonceStore.layer({ nonces_max: 2 })))
  )

  it.effect("MemoryRateLimitStore forgets the key that was asked for longest ago, in its own bucket only", () =>
    Effect.gen(function* () {
      const store = yield* RateLimitStore
      const take = (bucket: string, key: string) => store.take({ bucket, key, limit: 1, window_ms: 60_000 })
      yield* take("token", "z")
      for (const key of ["a", "b", "c"]) yield* take("public", key)
      assert.isFalse((yield* take("public", "b")).passed)
      yield* take("public", "d")
      assert.isFalse((yield* take("token", "z")).passed)
      assert.isFalse((yield* take("public", "b")).passed)
      assert.isTrue((yield* take("public", "a")).passed)
    }).pipe(Effect.provide(MemoryRateLimitStore.layer({ keys_max: 3 })))
  )
})
