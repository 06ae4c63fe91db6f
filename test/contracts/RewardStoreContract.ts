/** What every RewardStore keeps. */
import { assert, layer as withLayer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { type NewReward, type RewardKey, RewardStore } from "../../src/services/rewards/RewardStore.ts"

const idOf = (n: number) => `00000000-0000-5000-8000-${String(n).padStart(12, "0")}`
const reward = (n: number, fields: Partial<NewReward> = {}): NewReward => ({
  reward_id: idOf(n),
  user_id: "alice",
  kind: "competition",
  asset: "USDC",
  amount: "12.5",
  source_id: "c",
  created_time: 100,
  due_time: 100,
  ...fields
})
const all = { status: undefined, limit: 10, after: undefined }

export const suite = <E>(name: string, layer: Layer.Layer<RewardStore, E>) =>
  withLayer(layer)(`RewardStore on ${name}`, (it) => {
    it.effect("makes a reward once, however often it is granted", () =>
      Effect.gen(function* () {
        const store = yield* RewardStore
        yield* store.grant([])
        yield* store.grant(Array.from({ length: 120 }, (_, i) => reward(i, { user_id: "many" })))
        yield* store.grant([reward(3, { user_id: "many", amount: "99" }), reward(200, { user_id: "many" })])
        const list = yield* store.list({ ...all, user_id: "many", limit: 200 })
        assert.strictEqual(list.length, 121)
        assert.deepStrictEqual(yield* store.get("many", idOf(3)), {
          ...reward(3, { user_id: "many" }),
          status: "claimable",
          claimed_time: undefined,
          paid_to: undefined
        })
        assert.isUndefined(yield* store.get("somebody else", idOf(3)))
        assert.isUndefined(yield* store.get("many", idOf(999)))
      })
    )

    it.effect("lists the newest first, page by page, and by status", () =>
      Effect.gen(function* () {
        const store = yield* RewardStore
        const user_id = "lister"
        yield* store.grant([1001, 1002, 1003, 1004].map((n) => reward(n, { user_id, created_time: n < 1003 ? 1 : 2 })))
        const seen: Array<string> = []
        let after: RewardKey | undefined
        for (;;) {
          const page = yield* store.list({ user_id, status: undefined, limit: 1, after })
          if (page.length === 0) break
          seen.push(page[0]!.reward_id)
          after = page[0]!
        }
        assert.deepStrictEqual(seen, [1004, 1003, 1002, 1001].map(idOf))
        assert.isTrue(yield* store.claim(idOf(1002), "0x1", 7))
        const claimed = yield* store.list({ ...all, user_id, status: "claimed" })
        assert.deepStrictEqual(
          claimed.map(({ claimed_time, paid_to, reward_id }) => [reward_id, claimed_time, paid_to]),
          [[idOf(1002), 7, "0x1"]]
        )
        assert.strictEqual((yield* store.list({ ...all, user_id, status: "claimable" })).length, 3)
      })
    )

    it.effect("adds to a pending reward once for each place of its source, and makes it claimable when it is due", () =>
      Effect.gen(function* () {
        const store = yield* RewardStore
        const day = reward(2001, { user_id: "ref", kind: "referral", amount: "0.1", due_time: 1_000 })
        const start = yield* store.counted("referral")
        assert.deepStrictEqual(start, { to: 0, through: 0, stream: undefined })
        yield* store.accrue("referral", start, { to: 5, through: 10, stream: "s1" }, [day])
        const again = yield* Effect.flip(store.accrue("referral", start, { to: 5, through: 10, stream: "s1" }, [day]))
        assert.strictEqual(again._tag, "Outpaced")
        const from = yield* store.counted("referral")
        assert.deepStrictEqual(from, { to: 5, through: 10, stream: "s1" })
        yield* store.accrue("referral", from, { to: 9, through: 999, stream: "s1" }, [
          { ...day, amount: "0.000000000000000001" }
        ])
        const growing = yield* store.get("ref", day.reward_id)
        assert.strictEqual(growing?.amount, "0.100000000000000001")
        assert.strictEqual(growing?.status, "pending")
        assert.isFalse(yield* store.claim(day.reward_id, "0x1", 7))
        yield* store.accrue(
          "referral",
          { to: 9, through: 999, stream: "s1" },
          { to: 9, through: 1_000, stream: "s1" },
          []
        )
        assert.strictEqual((yield* store.get("ref", day.reward_id))?.status, "claimable")
      })
    )

    it.effect("deletes what is pending of a source whose stream is another one", () =>
      Effect.gen(function* () {
        const store = yield* RewardStore
        const day = (n: number, due_time: number) => reward(n, { user_id: "other", kind: "referral", due_time })
        const start = yield* store.counted("referral")
        const from = { to: 9, through: 3_000, stream: "s1" }
        yield* store.accrue("referral", start, from, [day(4001, 3_000), day(4002, 4_000), day(4003, 4_000)])
        // a pending reward of another source, with a stream of its own
        const beside = reward(4004, { user_id: "other", kind: "competition", due_time: 9_000 })
        yield* store.accrue("competition", yield* store.counted("competition"), { to: 1, through: 1, stream: "s1" }, [
          beside
        ])
        const to = { to: 2, through: 3_000, stream: "s2" }
        // who has seen another stream at the same row
        const late = yield* Effect.flip(store.accrue("referral", { ...from, stream: "s0" }, to, []))
        assert.strictEqual(late._tag, "Outpaced")
        yield* store.accrue("referral", from, to, [{ ...day(4002, 4_000), amount: "3" }])
        assert.deepStrictEqual(yield* store.counted("referral"), to)
        const list = yield* store.list({ ...all, user_id: "other" })
        assert.deepStrictEqual(
          list.map(({ amount, reward_id, status }) => [reward_id, amount, status]),
          [
            [idOf(4004), "12.5", "pending"],
            [idOf(4002), "3", "pending"],
            [idOf(4001), "12.5", "claimable"]
          ]
        )
      })
    )

    it.effect("keeps the destination of a reward until it is cleared, and lets one claim succeed", () =>
      Effect.gen(function* () {
        const store = yield* RewardStore
        yield* store.grant([reward(3001)])
        const id = idOf(3001)
        assert.strictEqual(yield* store.direct(id, "0xa"), "0xa")
        assert.strictEqual(yield* store.direct(id, "0xb"), "0xa")
        yield* store.undirect(id, "0xb")
        assert.strictEqual(yield* store.direct(id, "0xb"), "0xa")
        yield* store.undirect(id, "0xa")
        assert.strictEqual(yield* store.direct(id, "0xb"), "0xb")
        const wins = yield* Effect.forEach([1, 2, 3, 4], (at) => store.claim(id, "0xb", at), {
          concurrency: "unbounded"
        })
        assert.strictEqual(wins.filter(Boolean).length, 1)
        yield* store.undirect(id, "0xb")
        assert.strictEqual((yield* store.get("alice", id))?.paid_to, "0xb")
      })
    )
  })
