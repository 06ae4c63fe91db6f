import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryAccessCodes from "../../../src/layers/memory/MemoryAccessCodes.ts"
import * as MemoryAccounts from "../../../src/layers/memory/MemoryAccounts.ts"
import * as MemoryAuditStore from "../../../src/layers/memory/MemoryAuditStore.ts"
import * as MemoryBanStore from "../../../src/layers/memory/MemoryBanStore.ts"
import * as MemoryCompetitionStore from "../../../src/layers/memory/MemoryCompetitionStore.ts"
import * as MemoryNonceStore from "../../../src/layers/memory/MemoryNonceStore.ts"
import * as MemoryDeadMansSwitchStore from "../../../src/layers/memory/MemoryDeadMansSwitchStore.ts"
import * as MemoryWithdrawalAddressStore from "../../../src/layers/memory/MemoryWithdrawalAddressStore.ts"
import * as MemoryRateLimitStore from "../../../src/layers/memory/MemoryRateLimitStore.ts"
import * as MemoryReferralStore from "../../../src/layers/memory/MemoryReferralStore.ts"
import * as MemoryRewardStore from "../../../src/layers/memory/MemoryRewardStore.ts"
import { NonceStore } from "../../../src/services/identity/NonceStore.ts"
import { RateLimitStore } from "../../../src/services/operations/RateLimitStore.ts"
import { stillClock } from "../../doubles/StillClock.ts"
import * as AccessCodesContract from "../../contracts/AccessCodesContract.ts"
import * as AccountsContract from "../../contracts/AccountsContract.ts"
import * as AuditStoreContract from "../../contracts/AuditStoreContract.ts"
import * as BanStoreContract from "../../contracts/BanStoreContract.ts"
import * as CompetitionStoreContract from "../../contracts/CompetitionStoreContract.ts"
import * as NonceStoreContract from "../../contracts/NonceStoreContract.ts"
import * as RateLimitStoreContract from "../../contracts/RateLimitStoreContract.ts"
import * as ReferralStoreContract from "../../contracts/ReferralStoreContract.ts"
import * as RewardStoreContract from "../../contracts/RewardStoreContract.ts"
import * as SwitchStoreContract from "../../contracts/SwitchStoreContract.ts"
import * as WithdrawalAddressStoreContract from "../../contracts/WithdrawalAddressStoreContract.ts"

AccountsContract.suite("memory", MemoryAccounts.layer)
AccessCodesContract.suite("memory", MemoryAccessCodes.layer.pipe(Layer.provideMerge(MemoryAccounts.layer)))
NonceStoreContract.suite("memory", MemoryNonceStore.layer())
SwitchStoreContract.suite("memory", MemoryDeadMansSwitchStore.layer)
WithdrawalAddressStoreContract.suite("memory", MemoryWithdrawalAddressStore.layer)
RateLimitStoreContract.suite("memory", MemoryRateLimitStore.layer())
BanStoreContract.suite("memory", MemoryBanStore.layer)
AuditStoreContract.suite("memory", MemoryAuditStore.layer)
CompetitionStoreContract.suite("memory", MemoryCompetitionStore.layer)
ReferralStoreContract.suite("memory", MemoryReferralStore.layer)
RewardStoreContract.suite("memory", MemoryRewardStore.layer)

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

  it.effect("MemoryRateLimitStore counts the time that passes, not what the clock is set to", () => {
    const clock = stillClock(1_767_225_600_000)
    return Effect.gen(function* () {
      const store = yield* RateLimitStore
      const take = store.take({ bucket: "public", key: "a", limit: 100, window_ms: 60_000 })
      let passed = 0
      // ten minutes, ten tries a second, and every minute the clock is an hour off
      for (let tries = 0; tries < 6_000; tries++) {
        if (tries % 600 === 300) yield* clock.step((tries / 300) % 4 === 1 ? 3_600_000 : -3_600_000)
        if ((yield* take).passed) passed++
        yield* clock.pass(100)
      }
      assert.strictEqual(passed, 1_000)
    }).pipe(Effect.provide(MemoryRateLimitStore.layer()), Effect.provide(clock.layer))
  })

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

  it.effect("MemoryRateLimitStore holds no more under an attack from many addresses than it was told to", () =>
    Effect.gen(function* () {
      const store = yield* RateLimitStore
      const log = (bucket: string, i: number) => ({ bucket, key: `2001:db8:${i}::/64`, limit: 60, window_ms: 60_000 })
      const remembered = (bucket: string, keys: number) =>
        Effect.map(
          Effect.forEach(
            Array.from({ length: keys }, (_, i) => log(bucket, i)),
            store.peek
          ),
          (standings) => standings.flatMap(({ used }, i) => (used > 0 ? [i] : []))
        )
      yield* store.take(log("token", 0))
      for (let i = 0; i < 20_000; i++) yield* store.take(log("public", i))
      const held = yield* remembered("public", 20_000)
      assert.strictEqual(held.length, 500)
      // the last ones, and nobody of another bucket
      assert.strictEqual(held[0], 19_500)
      assert.deepStrictEqual(yield* remembered("token", 1), [0])
      // who is refused again and again stays known while others come and go
      const victim = { ...log("public", 0), limit: 1 }
      yield* store.take(victim)
      for (let i = 1; i < 5_000; i++) {
        yield* store.take(log("public", i))
        if (i % 100 === 0) assert.isFalse((yield* store.take(victim)).passed)
      }
    }).pipe(Effect.provide(MemoryRateLimitStore.layer({ keys_max: 500 })))
  )
})
