/** What every CompetitionStore keeps. */
import { assert, layer as withLayer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import {
  type CompetitionKey,
  type CompetitionRecord,
  CompetitionStore,
  type CountedRow,
  type Entry,
  placeOf
} from "../../src/services/rewards/CompetitionStore.ts"

export const idOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`
export const competition = (n: number, fields: Partial<CompetitionRecord> = {}): CompetitionRecord => ({
  id: idOf(n),
  slug: `slug-${n}`,
  title: "Winter",
  description_md: "**all**",
  start_time_ms: 1_000,
  end_time_ms: 2_000,
  prize_usdc: 10_000,
  symbol: undefined,
  scoring: {
    metric: "volume",
    start_weight_bps: 10_000,
    end_weight_bps: 5_000,
    max_daily_contribution_bps: 3_500,
    min_active_days: 2,
    min_daily_activity_units: 500,
    consistency_max_bonus_bps: 2_000,
    consistency_target_days: 5,
    use_consistency_multiplier: true
  },
  state: "published",
  created_time: 500,
  finalized_time: undefined,
  revision: 0,
  ...fields
})
export const entry = (address: string, fields: Partial<Entry> = {}): Entry => ({
  sub_account_address: address,
  user_id: "alice",
  days: [{ day: 0, units: "1000", last_time: 1_100 }],
  last_time: 1_100,
  active_days: 1,
  metric_value: "1000",
  score: "1000",
  ineligible_reason: undefined,
  multiplier_bps: undefined,
  ...fields
})
/** Before the first event. */
export const fromTheFirst: CountedRow = { counted_to: 0, stream: undefined }
const ids = (some: ReadonlyArray<CompetitionRecord>) => some.map(({ id }) => id)
const addresses = (some: ReadonlyArray<Entry>) => some.map(({ sub_account_address }) => sub_account_address)

export const suite = <E>(name: string, layer: Layer.Layer<CompetitionStore, E>) =>
  withLayer(layer)(`CompetitionStore on ${name}`, (it) => {
    it.effect("gives back what it was given, and a slug once", () =>
      Effect.gen(function* () {
        const store = yield* CompetitionStore
        const first = competition(1, { symbol: "BTC-USDC", state: "draft" })
        yield* store.create(first, { counted_to: 7, stream: "s1" })
        assert.deepStrictEqual(yield* store.get(first.id), first)
        assert.isUndefined(yield* store.get(idOf(99)))
        assert.deepStrictEqual(yield* store.tally(first.id), {
          revision: 0,
          counted_to: 7,
          stream: "s1",
          eligible_total: "0",
          settling: false
        })
        assert.strictEqual(
          (yield* Effect.flip(store.create(competition(2, { slug: first.slug }), fromTheFirst)))._tag,
          "SlugTaken"
        )
        yield* store.create(competition(2, { state: "draft" }), fromTheFirst)
        const taking = competition(2, { slug: first.slug, state: "draft" })
        assert.strictEqual((yield* Effect.flip(store.update(taking, "draft")))._tag, "SlugTaken")
        const changed = competition(2, { title: "Spring", end_time_ms: 3_000, state: "draft", symbol: "ETH-USDC" })
        yield* store.update(changed, "draft")
        assert.deepStrictEqual(yield* store.get(changed.id), changed)
      })
    )

    it.effect("keeps the state of one that is being settled, and settles none that was canceled", () =>
      Effect.gen(function* () {
        const store = yield* CompetitionStore
        for (const n of [41, 42]) yield* store.create(competition(n), fromTheFirst)
        const cancelled = (n: number) => competition(n, { state: "cancelled" })
        const before = yield* store.tally(idOf(41))
        // applied twice, as by two gateways or after a restart; the first time outpaces who saw the tally before
        assert.isTrue(yield* store.settle(idOf(41)))
        assert.isTrue(yield* store.settle(idOf(41)))
        const next = { ...before, revision: before.revision + 1 }
        assert.deepStrictEqual(yield* store.tally(idOf(41)), { ...next, settling: true })
        assert.strictEqual((yield* Effect.flip(store.advance(idOf(41), next, [])))._tag, "Outpaced")
        assert.strictEqual((yield* Effect.flip(store.update(cancelled(41), "published")))._tag, "Outpaced")
        const described = competition(41, { description_md: "done" })
        yield* store.update(described, "published")
        assert.deepStrictEqual(yield* store.get(idOf(41)), { ...described, revision: next.revision })

        yield* store.update(cancelled(42), "published")
        assert.isFalse(yield* store.settle(idOf(42)))
        const late = competition(42, { description_md: "of somebody who did not see it canceled" })
        assert.strictEqual((yield* Effect.flip(store.update(late, "published")))._tag, "Outpaced")
        assert.deepStrictEqual(yield* store.get(idOf(42)), cancelled(42))
      })
    )

    it.effect("lists all but drafts, the latest start first, by status of the hour and market", () =>
      Effect.gen(function* () {
        const store = yield* CompetitionStore
        const symbol = "SOL-USDC"
        const some = [
          competition(11, { symbol, start_time_ms: 100, end_time_ms: 200 }),
          competition(12, { symbol, start_time_ms: 200, end_time_ms: 400 }),
          competition(13, { symbol, start_time_ms: 200, end_time_ms: 400, state: "cancelled" }),
          competition(14, { symbol, start_time_ms: 300, end_time_ms: 400 }),
          competition(15, { symbol, state: "draft" })
        ]
        for (const one of some) yield* store.create(one, fromTheFirst)
        yield* store.finalize(idOf(11), 250)
        yield* store.finalize(idOf(11), 260)
        const query = { symbol, now: 250, limit: 10, after: undefined }
        assert.deepStrictEqual(ids(yield* store.list({ ...query, status: undefined })), [14, 13, 12, 11].map(idOf))
        const by = (status: "draft" | "scheduled" | "active" | "ended" | "finalized" | "cancelled", now = 250) =>
          Effect.map(store.list({ ...query, now, status }), ids)
        assert.deepStrictEqual(yield* by("scheduled"), [idOf(14)])
        assert.deepStrictEqual(yield* by("active"), [idOf(12)])
        assert.deepStrictEqual(yield* by("ended", 400), [idOf(14), idOf(12)])
        // one is active from its start up to its end
        assert.deepStrictEqual(yield* by("scheduled", 300), [])
        assert.deepStrictEqual(yield* by("active", 300), [idOf(14), idOf(12)])
        assert.deepStrictEqual(yield* by("active", 400), [])
        assert.deepStrictEqual(yield* by("finalized"), [idOf(11)])
        assert.deepStrictEqual(yield* by("cancelled"), [idOf(13)])
        assert.deepStrictEqual(yield* by("draft"), [])
        assert.strictEqual((yield* store.get(idOf(11)))?.finalized_time, 250)
        const seen: Array<string> = []
        let after: CompetitionKey | undefined
        for (;;) {
          const [one] = yield* store.list({ ...query, status: undefined, limit: 1, after })
          if (one === undefined) break
          seen.push(one.id)
          after = one
        }
        assert.deepStrictEqual(seen, [14, 13, 12, 11].map(idOf))
        const running = ids(yield* store.running(250)).filter((id) => some.some((one) => one.id === id))
        assert.deepStrictEqual(running, [idOf(12)])
      })
    )

    it.effect("orders entries by score, then earlier last contribution, then address", () =>
      Effect.gen(function* () {
        const store = yield* CompetitionStore
        const id = idOf(21)
        yield* store.create(competition(21), fromTheFirst)
        const entries = [
          entry("0x01", { score: "99.999999999999999999" }),
          entry("0x02", { score: "100", last_time: 9 }),
          entry("0x03", { score: "1000000000000000000000" }),
          entry("0x04", { score: "100", last_time: 8 }),
          entry("0x05", { score: "100", last_time: 9 }),
          entry("0x06", { score: "5000", ineligible_reason: "min_active_days", user_id: "bob", multiplier_bps: 12_500 })
        ]
        yield* store.advance(
          id,
          { revision: 1, counted_to: 4, stream: "s1", eligible_total: "1", settling: false },
          entries
        )
        const ranked = ["0x03", "0x04", "0x02", "0x05", "0x01"]
        assert.deepStrictEqual(addresses(yield* store.ranked(id, undefined, 10)), ranked)
        const after = placeOf(entries[1]!)
        assert.deepStrictEqual(addresses(yield* store.ranked(id, after, 1)), ["0x05"])
        assert.strictEqual(yield* store.ahead(id, placeOf(entries[0]!)!), 4)
        assert.strictEqual(yield* store.ahead(id, placeOf(entries[2]!)!), 0)
        const [third, fourth] = [entries[1]!, entries[4]!].map((one) => placeOf(one)!)
        assert.strictEqual(yield* store.ahead(id, fourth!, third), 1)
        assert.strictEqual(yield* store.ahead(id, fourth!, fourth), 0)
        assert.deepStrictEqual(yield* store.entriesOf(id, "bob"), [entries[5]!])
        assert.deepStrictEqual(addresses(yield* store.walk(id, "0x04", 10)), ["0x05", "0x06"])
        assert.strictEqual((yield* store.entries(id, ["0x01", "0x09"])).length, 1)
        assert.strictEqual((yield* store.walk(idOf(1), "", 10)).length, 0)
      })
    )

    it.effect("accepts a change only from a caller that saw the last one, in one transaction", () =>
      Effect.gen(function* () {
        const store = yield* CompetitionStore
        const id = idOf(31)
        yield* store.create(competition(31), fromTheFirst)
        const next = { revision: 1, counted_to: 10, stream: "s1", eligible_total: "1000", settling: false }
        const outcomes = yield* Effect.forEach(
          ["0x01", "0x02", "0x03"],
          (address) => Effect.result(store.advance(id, next, [entry(address)])),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(outcomes.filter(({ _tag }) => _tag === "Success").length, 1)
        assert.strictEqual((yield* store.walk(id, "", 10)).length, 1)
        assert.deepStrictEqual(yield* store.tally(id), next)
        const many = Array.from({ length: 150 }, (_, i) => entry(`0xf${String(i).padStart(4, "0")}`))
        yield* store.advance(id, { ...next, revision: 2 }, many)
        yield* store.advance(id, { ...next, revision: 3 }, [
          entry("0xf0000", { score: "7", ineligible_reason: "excluded" })
        ])
        assert.strictEqual((yield* store.ranked(id, undefined, 500)).length, 150)
        const again = yield* store.entries(id, addresses(many))
        assert.strictEqual(again.length, 150)
        assert.strictEqual(again.find((one) => one.sub_account_address === "0xf0000")?.score, "7")
      })
    )

    it.effect("writes a draft for a caller that has read its last change, with the row that it is counted from", () =>
      Effect.gen(function* () {
        const store = yield* CompetitionStore
        const id = idOf(61)
        const counted = { counted_to: 12, stream: "s2" }
        yield* store.create(competition(61, { state: "draft" }), fromTheFirst)
        const changes = ["Mine", "Theirs"].map((title) => competition(61, { title, state: "draft" }))
        const outcomes = yield* Effect.forEach(changes, (one) => Effect.result(store.update(one, "draft", counted)), {
          concurrency: "unbounded"
        })
        assert.strictEqual(outcomes.filter(({ _tag }) => _tag === "Success").length, 1)
        assert.strictEqual((yield* store.get(id))?.revision, 1)
        assert.deepInclude(yield* store.tally(id), { ...counted, revision: 1 })
        const published = competition(61, { revision: 1 })
        yield* store.update(published, "draft", counted)
        assert.deepStrictEqual(yield* store.get(id), { ...published, revision: 2 })
        // of a caller that has read the draft
        const late = yield* Effect.flip(store.update({ ...published, title: "Late", revision: 2 }, "draft", counted))
        assert.strictEqual(late._tag, "Outpaced")
      })
    )

    it.effect("starts over without entries, for a caller that saw the last change", () =>
      Effect.gen(function* () {
        const store = yield* CompetitionStore
        const [id, other] = [idOf(51), idOf(52)]
        for (const n of [51, 52]) {
          yield* store.create(competition(n), fromTheFirst)
          const tally = { revision: 1, counted_to: 10, stream: "s1", eligible_total: "1000", settling: false }
          yield* store.advance(idOf(n), tally, [entry("0x01")])
        }
        assert.strictEqual((yield* Effect.flip(store.startOver(id, 0, "s2")))._tag, "Outpaced")
        assert.deepStrictEqual(yield* store.entries(id, ["0x01"]), [entry("0x01")])
        yield* store.startOver(id, 1, "s2")
        assert.deepStrictEqual(yield* store.tally(id), {
          revision: 2,
          counted_to: 0,
          stream: "s2",
          eligible_total: "0",
          settling: false
        })
        assert.deepStrictEqual(yield* store.walk(id, "", 10), [])
        assert.deepStrictEqual(yield* store.walk(other, "", 10), [entry("0x01")])
      })
    )
  })
