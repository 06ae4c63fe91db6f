import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as MemoryRateLimitStore from "../../../src/layers/memory/MemoryRateLimitStore.ts"
import { RateLimitStore } from "../../../src/services/operations/RateLimitStore.ts"
import * as RateLimitStoreContract from "../../contracts/RateLimitStoreContract.ts"
import { stillClock } from "../../doubles/StillClock.ts"

RateLimitStoreContract.suite("memory", MemoryRateLimitStore.layer())

describe("MemoryRateLimitStore", () => {
  it.effect("measures windows by elapsed time and ignores clock changes", () => {
    const clock = stillClock(1_767_225_600_000)
    return Effect.gen(function* () {
      const store = yield* RateLimitStore
      const take = store.take({ bucket: "public", key: "a", limit: 100, window_ms: 60_000 })
      let passed = 0
      // ten minutes at ten attempts a second; the wall clock jumps by an hour every minute
      for (let tries = 0; tries < 6_000; tries++) {
        if (tries % 600 === 300) yield* clock.step((tries / 300) % 4 === 1 ? 3_600_000 : -3_600_000)
        if ((yield* take).passed) passed++
        yield* clock.pass(100)
      }
      assert.strictEqual(passed, 1_000)
    }).pipe(Effect.provide(MemoryRateLimitStore.layer()), Effect.provide(clock.layer))
  })

  it.effect("evicts the least recently used key of the same bucket only", () =>
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

  it.effect("holds at most keys_max keys while many addresses send requests", () =>
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
      // the newest keys of this bucket; other buckets keep theirs
      assert.strictEqual(held[0], 19_500)
      assert.deepStrictEqual(yield* remembered("token", 1), [0])
      // each refused attempt refreshes its key, so a blocked caller is not evicted
      const victim = { ...log("public", 0), limit: 1 }
      yield* store.take(victim)
      for (let i = 1; i < 5_000; i++) {
        yield* store.take(log("public", i))
        if (i % 100 === 0) assert.isFalse((yield* store.take(victim)).passed)
      }
    }).pipe(Effect.provide(MemoryRateLimitStore.layer({ keys_max: 500 })))
  )
})
