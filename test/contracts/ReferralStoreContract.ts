/** What every ReferralStore keeps. */
import { assert, layer as withLayer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { ReferralStore } from "../../src/services/rewards/ReferralStore.ts"

export const suite = <E>(name: string, layer: Layer.Layer<ReferralStore, E>) =>
  withLayer(layer)(`ReferralStore on ${name}`, (it) => {
    const outcome = (user_id: string, referrer_id: string) =>
      Effect.flatMap(ReferralStore, (store) =>
        Effect.match(store.refer(user_id, { referrer_id, since: 5 }), {
          onSuccess: () => "ok",
          onFailure: (error) => (error._tag === "ReferrerSet" ? `set to ${error.referrer_id}` : error._tag)
        })
      )

    it.effect("keeps the first referrer permanently, and counts its referrals", () =>
      Effect.gen(function* () {
        const store = yield* ReferralStore
        assert.isUndefined(yield* store.referrer("a1"))
        assert.strictEqual(yield* outcome("a1", "a0"), "ok")
        assert.strictEqual(yield* outcome("a1", "a2"), "set to a0")
        assert.strictEqual(yield* outcome("a1", "a0"), "set to a0")
        assert.strictEqual(yield* outcome("a2", "a0"), "ok")
        assert.deepStrictEqual(yield* store.referrer("a1"), { referrer_id: "a0", since: 5 })
        assert.strictEqual(yield* store.downline("a0"), 2)
        assert.strictEqual(yield* store.downline("a1"), 0)
        const found = yield* store.referrers(["a1", "nobody", "a2"])
        assert.deepStrictEqual([...found.keys()].sort(), ["a1", "a2"])
        assert.strictEqual((yield* store.referrers([])).size, 0)
      })
    )

    it.effect("refuses oneself, and every chain that leads back", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* outcome("b0", "b0"), "ReferralLoop")
        for (let i = 1; i < 30; i++) assert.strictEqual(yield* outcome(`b${i}`, `b${i - 1}`), "ok")
        assert.strictEqual(yield* outcome("b0", "b1"), "ReferralLoop")
        assert.strictEqual(yield* outcome("b0", "b29"), "ReferralLoop")
        assert.strictEqual(yield* outcome("b0", "c"), "ok")
      })
    )

    it.effect("closes no loop when all of a ring refer at once", () =>
      Effect.gen(function* () {
        const ring = Array.from({ length: 12 }, (_, i) => `r${i}`)
        const outcomes = yield* Effect.forEach(ring, (user_id, i) => outcome(user_id, ring[(i + 1) % ring.length]!), {
          concurrency: "unbounded"
        })
        assert.strictEqual(outcomes.filter((one) => one === "ok").length, ring.length - 1)
        assert.strictEqual(outcomes.filter((one) => one === "ReferralLoop").length, 1)
      })
    )
  })
