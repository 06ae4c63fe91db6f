import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Decimal from "../../../src/domain/Decimal.ts"
import type { Scoring } from "../../../src/domain/Scoring.ts"
import { DAY_MS, HOUR_MS } from "../../../src/domain/Time.ts"
import { Accounts, AccountsUnavailable } from "../../../src/services/identity/Accounts.ts"
import { BanList } from "../../../src/services/identity/BanList.ts"
import { Grants } from "../../../src/services/identity/Grants.ts"
import { type CompetitionFields, Competitions } from "../../../src/services/rewards/Competitions.ts"
import { Cursors } from "../../../src/services/operations/Cursors.ts"
import { BackendAvailability } from "../../../src/services/operations/BackendAvailability.ts"
import { History, HistoryUnavailable } from "../../../src/services/History.ts"
import { MarketView } from "../../../src/services/markets/MarketView.ts"
import { ReadYourWrites } from "../../../src/services/read-model/ReadYourWrites.ts"
import { TradingStatistics } from "../../../src/services/read-model/TradingStatistics.ts"
import { CompetitionStore } from "../../../src/services/rewards/CompetitionStore.ts"
import { Outpaced, RewardStore } from "../../../src/services/rewards/RewardStore.ts"
import { CompetitionScoring } from "../../../src/services/rewards/CompetitionScoring.ts"
import { SubAccounts } from "../../../src/services/identity/SubAccounts.ts"
import { instrument, START, symbol } from "../../../verification/harness/Records.ts"
import * as Ids from "../../doubles/Ids.ts"
import { stillClock } from "../../doubles/StillClock.ts"
import { signingKeys } from "../../doubles/Wallets.ts"
import * as SqliteStores from "../../doubles/SqliteStores.ts"
import { alice, bob, callerOf, stream } from "./CommittedEvents.ts"

const scoring: Scoring = {
  metric: "volume",
  start_weight_bps: 10_000,
  end_weight_bps: 5_000,
  max_daily_contribution_bps: 3_500,
  min_active_days: 2,
  min_daily_activity_units: 500,
  consistency_max_bonus_bps: 2_000,
  consistency_target_days: 5,
  use_consistency_multiplier: true
}
const everywhere: CompetitionFields = {
  slug: "winter",
  title: "Winter",
  description_md: "…",
  start_time_ms: START,
  end_time_ms: START + 3 * DAY_MS,
  prize_usdc: 10_000,
  scoring,
  status: "scheduled"
}
const winter: CompetitionFields = { ...everywhere, symbol }

const stores = Layer.mergeAll(
  SqliteStores.accounts,
  SqliteStores.competitions,
  SqliteStores.history,
  SqliteStores.rewards,
  BanList.layer.pipe(Layer.provide([SqliteStores.bans, Grants.layer])),
  Ids.layer,
  signingKeys(1),
  Layer.mock(BackendAvailability)({}),
  Layer.mock(ReadYourWrites)({ record: () => {} }),
  Layer.mock(SubAccounts)({}),
  Layer.mock(MarketView)({ instrument: () => instrument() } as never)
)
const layer = Layer.mergeAll(CompetitionScoring.layer, Competitions.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(TradingStatistics.layer, Cursors.layer)),
  Layer.provideMerge(stores)
)
const clock = stillClock(START)
const test = <E>(name: string, run: Effect.Effect<void, E, Layer.Success<typeof layer>>) =>
  it.effect(name, () =>
    Effect.andThen(clock.set(START - 1), Effect.provide(run, Layer.fresh(layer))).pipe(Effect.provide(clock.layer))
  )

const placements = (id: string, user = alice) =>
  Effect.flatMap(Competitions, (competitions) =>
    Effect.map(competitions.placement(callerOf(user), id), ({ data }) => data)
  )
const login = (user: typeof alice) =>
  Effect.flatMap(Accounts, (accounts) =>
    accounts.ensureUser({ user_id: user.user_id, root_address: user.root, rail: "address", party_id: undefined })
  )

/** Another gateway over the same stores, some of which the test stops at a named point. Its first periodic count is over. */
const anotherGateway = <S>(stopping: Context.Context<S>) =>
  Effect.gen(function* () {
    const shared = yield* Effect.context<Layer.Success<typeof layer>>()
    const services = Layer.fresh(Layer.mergeAll(CompetitionScoring.layer, Competitions.layer)).pipe(
      Layer.provide(Layer.succeedContext(Context.merge(shared, stopping)))
    )
    const built = yield* Layer.build(services)
    yield* Effect.yieldNow
    return { ...Context.get(built, CompetitionScoring), ...Context.get(built, Competitions) }
  })
/** The effect at its first run; later ones do nothing. */
const once = <E, R>(effect: Effect.Effect<void, E, R>): Effect.Effect<void, E, R> => {
  let isDone = false
  return Effect.suspend(() => {
    if (isDone) return Effect.void
    isDone = true
    return effect
  })
}

describe("a competition", () => {
  test(
    "is placed as docs/contract/stories.md#competition shows it",
    Effect.gen(function* () {
      const { commit, fill } = stream()
      const competitions = yield* Competitions
      const { count } = yield* CompetitionScoring
      // fills before the start and of other markets do not count
      yield* commit(fill(alice, START - 1, { exec_value: "7777" }))
      const { id } = yield* competitions.create(winter)
      yield* clock.set(START + 2 * DAY_MS + HOUR_MS)
      yield* commit(
        fill(alice, START, { exec_value: "400" }),
        fill(alice, START + 1, { exec_value: "600", is_maker: true }),
        fill(alice, START + DAY_MS, { exec_value: "2000" }),
        fill(alice, START + DAY_MS + 5, { exec_value: "9999", symbol: "ETH-USDC" }),
        fill(alice, START + DAY_MS + 6, { exec_value: "9999", exec_type: "BustTrade" }),
        fill(alice, START + DAY_MS + 7, { exec_value: "9999", exec_type: "AdlTrade" }),
        fill(alice, START + 2 * DAY_MS, { exec_value: "3000" })
      )
      assert.deepStrictEqual(yield* placements(id), [])
      yield* count
      const placement = yield* competitions.placement(callerOf(alice), id)
      assert.deepStrictEqual(placement, {
        competition: { ...winter, id, status: "active" },
        data: [
          {
            active_days: 3,
            eligible: true,
            metric_value: "6000",
            projected_xp: "1000000",
            score: "4256",
            sub_account_address: alice.account(0),
            rank: 1
          }
        ]
      })
      // counting again changes nothing
      yield* count
      assert.deepStrictEqual(yield* competitions.placement(callerOf(alice), id), placement)
      const hidden = yield* competitions.placement(callerOf(alice, [alice.account(1)]), id)
      assert.deepStrictEqual(hidden.data, [])
    })
  )

  test(
    "ranks each sub-account of a user among those of all",
    Effect.gen(function* () {
      const { commit, fill } = stream()
      const competitions = yield* Competitions
      const { count } = yield* CompetitionScoring
      const { id } = yield* competitions.create({ ...winter, scoring: { ...scoring, min_active_days: 1 } })
      yield* clock.set(START + HOUR_MS)
      const scores: ReadonlyArray<readonly [typeof alice, number, string]> = [
        [bob, 0, "5000"],
        [alice, 0, "4000"],
        [bob, 1, "3000"],
        [bob, 2, "2000"],
        // equal: who was there first
        [alice, 2, "1000"],
        [alice, 1, "1000"]
      ]
      yield* commit(
        ...scores.map(([user, index, exec_value], i) =>
          fill(user, START + i, { exec_value, sub_account_address: user.account(index) })
        )
      )
      yield* count
      const ranks = (user: typeof alice) => Effect.map(placements(id, user), (data) => data.map(({ rank }) => rank))
      assert.deepStrictEqual(yield* ranks(alice), [2, 5, 6])
      assert.deepStrictEqual(yield* ranks(bob), [1, 3, 4])
      const { data } = yield* competitions.leaderboard(id, {})
      assert.deepStrictEqual(
        data.map(({ sub_account_address }) => sub_account_address),
        scores.map(([user, index]) => user.account(index))
      )
    })
  )

  /** Days count in full, one is enough, and nothing multiplies them. */
  const plain = (metric: Scoring["metric"]): Scoring => ({
    ...scoring,
    metric,
    end_weight_bps: 10_000,
    max_daily_contribution_bps: 0,
    min_active_days: 1,
    min_daily_activity_units: 0,
    use_consistency_multiplier: false
  })

  test(
    "counts every market where it names none",
    Effect.gen(function* () {
      const { commit, fill } = stream()
      const competitions = yield* Competitions
      const { count } = yield* CompetitionScoring
      const { id } = yield* competitions.create({ ...everywhere, scoring: plain("volume") })
      yield* clock.set(START + HOUR_MS)
      yield* commit(
        fill(alice, START, { exec_value: "400" }),
        fill(alice, START + 1, { exec_value: "500", symbol: "ETH-USDC" })
      )
      yield* count
      assert.deepStrictEqual(
        (yield* placements(id)).map(({ metric_value }) => metric_value),
        ["900"]
      )
    })
  )

  test(
    "by realized profits counts each day's profit after fees, and no loss",
    Effect.gen(function* () {
      const { close, commit } = stream()
      const competitions = yield* Competitions
      const { count } = yield* CompetitionScoring
      const { id } = yield* competitions.create({ ...winter, scoring: plain("realized_pnl") })
      yield* clock.set(START + 2 * DAY_MS)
      yield* commit(close(alice, START), close(alice, START + DAY_MS, "-50"), close(bob, START + 1))
      yield* count
      const shown = (user: typeof alice) =>
        Effect.map(placements(id, user), (data) =>
          data.map(({ active_days, ineligible_reason, metric_value, rank }) => [
            metric_value,
            active_days,
            ineligible_reason ?? rank
          ])
        )
      assert.deepStrictEqual(yield* shown(alice), [["186.69", 1, 1]])
      assert.deepStrictEqual(yield* shown(bob), [["186.69", 1, 2]])
      // a later loss of the same day takes the profit away
      yield* commit(close(bob, START + HOUR_MS, "-300"), close(alice, START + HOUR_MS, "20"))
      yield* count
      assert.deepStrictEqual(yield* shown(alice), [["193.38", 1, 1]])
      assert.deepStrictEqual(yield* shown(bob), [["0", 0, "no_activity"]])
    })
  )

  test(
    "by return on investment relates each day's profit to the equity at its start",
    Effect.gen(function* () {
      const { close, commit, money } = stream()
      const competitions = yield* Competitions
      const { count } = yield* CompetitionScoring
      yield* commit(money(alice, START - HOUR_MS, "1000"))
      const { id } = yield* competitions.create({ ...winter, scoring: plain("roi") })
      yield* clock.set(START + 2 * DAY_MS)
      yield* commit(
        close(alice, START + 1),
        // without equity at the start of the day
        close(bob, START + 2),
        money(alice, START + DAY_MS - 1, "4000"),
        close(alice, START + DAY_MS),
        close(alice, START + DAY_MS + 1, "-50")
      )
      yield* count
      const [own] = yield* placements(id)
      // 186.69 / 1000 + (186.69 - 63.31) / 4000, in hundredths of a percent
      assert.deepInclude(own, { metric_value: "2175.35", score: "2175.35", active_days: 2, rank: 1 })
      const [other] = yield* placements(id, bob)
      assert.deepInclude(other, { metric_value: "0", active_days: 0, ineligible_reason: "no_activity" })
    })
  )

  test(
    "and its leaderboard are read by pages, without a gap",
    Effect.gen(function* () {
      const { commit, fill } = stream()
      const competitions = yield* Competitions
      const { count } = yield* CompetitionScoring
      const ids: Array<string> = []
      for (const slug of ["a", "b", "c"]) {
        const start_time_ms = START + ids.length
        const { id } = yield* competitions.create({ ...winter, slug, start_time_ms, scoring: plain("volume") })
        ids.push(id)
      }
      yield* clock.set(START + HOUR_MS)
      const places = [5, 4, 3, 2, 1].map((thousands, i) => [i, `${thousands}000`] as const)
      yield* commit(
        ...places.map(([i, exec_value]) =>
          fill(alice, START + 10 + i, { exec_value, sub_account_address: alice.account(i) })
        )
      )
      yield* count
      const listed: Array<string> = []
      let cursor: string | undefined
      do {
        const page = yield* competitions.list({ limit: 2, ...(cursor !== undefined && { cursor }) })
        assert.isAtMost(page.list.length, 2)
        listed.push(...page.list.map(({ id }) => id))
        cursor = page.next_page_cursor
      } while (cursor)
      assert.deepStrictEqual(listed.toSorted(), ids.toSorted())
      type Leaderboard = Effect.Success<ReturnType<typeof competitions.leaderboard>>
      const ranked: Array<readonly [number | undefined, string]> = []
      do {
        const page: Leaderboard = yield* competitions.leaderboard(ids[0]!, { limit: 2, ...(cursor && { cursor }) })
        ranked.push(...page.data.map(({ metric_value, rank }) => [rank, metric_value] as const))
        cursor = page.next_page_cursor
      } while (cursor)
      assert.deepStrictEqual(
        ranked,
        places.map(([i, value]) => [i + 1, value] as const)
      )
    })
  )

  test(
    "counts what the engine, whose clock may be ahead, has recorded since its start",
    Effect.gen(function* () {
      const { commit, fill } = stream()
      const competitions = yield* Competitions
      const { count } = yield* CompetitionScoring
      yield* commit(fill(alice, START - 1, { exec_value: "500" }), fill(alice, START + 5, { exec_value: "1000" }))
      const { id } = yield* competitions.create({ ...winter, scoring: plain("volume") })
      yield* clock.set(START + HOUR_MS)
      yield* count
      const [own] = yield* placements(id)
      assert.deepInclude(own, { metric_value: "1000", rank: 1 })
    })
  )

  test(
    "is counted again in a history that a restored backend began, without the lost fills",
    Effect.gen(function* () {
      const { commit, fill } = stream()
      const competitions = yield* Competitions
      const { count } = yield* CompetitionScoring
      const history = yield* History
      const { id } = yield* competitions.create({ ...winter, scoring: plain("volume") })
      yield* clock.set(START + HOUR_MS)
      const fills = (user: typeof alice, n: number) =>
        Array.from({ length: n }, (_, i) => fill(user, START + i, { exec_value: "100" }))
      yield* commit(...fills(alice, 20), ...fills(bob, 30))
      yield* count
      assert.deepInclude((yield* placements(id, bob))[0], { metric_value: "3000", rank: 1 })
      yield* history.clear((yield* history.position)!, { epoch: "e1", seq: 0, began: 0, ts_ms: 0, stream: "f2-0" })
      const restored = stream()
      yield* restored.commit(
        ...Array.from({ length: 25 }, (_, i) => restored.fill(alice, START + i, { exec_value: "100" }))
      )
      yield* count
      assert.deepInclude((yield* placements(id))[0], { metric_value: "2500", rank: 1, projected_xp: "1000000" })
      assert.deepStrictEqual(yield* placements(id, bob), [])
    })
  )

  test(
    "counts a fill that is recorded while the competition is published",
    Effect.gen(function* () {
      const { commit, fill, tick } = stream()
      const { count } = yield* CompetitionScoring
      const history = yield* History
      yield* commit(tick(START - 1))
      const recording = once(commit(fill(bob, START, { exec_value: "1000" }))).pipe(
        Effect.provideService(History, history),
        Effect.orDie
      )
      const competitions = yield* anotherGateway(
        Context.make(History, {
          ...history,
          momentAndPosition: (reads) => Effect.tap(history.momentAndPosition(reads), () => recording)
        })
      )
      const { id } = yield* competitions.create({ ...winter, scoring: plain("volume") })
      yield* clock.set(START + HOUR_MS)
      yield* count
      assert.deepInclude((yield* placements(id, bob))[0], { metric_value: "1000", rank: 1 })
    }).pipe(Effect.scoped)
  )

  test(
    "gives reasons to who has no rank, and excludes the banned for as long as they are",
    Effect.gen(function* () {
      const { commit, fill } = stream()
      const competitions = yield* Competitions
      const bans = yield* BanList
      const { count, judge } = yield* CompetitionScoring
      const { id } = yield* competitions.create({ ...winter, scoring: { ...scoring, min_active_days: 2 } })
      yield* clock.set(START + DAY_MS + HOUR_MS)
      yield* commit(
        fill(alice, START, { exec_value: "1000" }),
        fill(bob, START + 1, { exec_value: "1000" }),
        fill(bob, START + 2, { exec_value: "400", sub_account_address: bob.account(1) }),
        fill(alice, START + DAY_MS, { exec_value: "1000", sub_account_address: alice.account(1) }),
        fill(bob, START + DAY_MS + 1, { exec_value: "1000" })
      )
      yield* count
      const reasons = (user: typeof alice) =>
        Effect.map(placements(id, user), (data) =>
          data.map(({ ineligible_reason, projected_xp, rank }) => ineligible_reason ?? `${rank}: ${projected_xp}`)
        )
      assert.deepStrictEqual(yield* reasons(alice), ["min_active_days", "min_active_days"])
      assert.deepStrictEqual(yield* reasons(bob), ["1: 1000000", "no_activity"])
      const ban = { root_address: bob.root, user_id: bob.user_id, reason: "", changed_time: START }
      yield* bans.put({ ...ban, banned: true })
      yield* judge(bob.user_id)
      assert.deepStrictEqual(yield* reasons(bob), ["excluded", "excluded"])
      assert.deepStrictEqual((yield* competitions.leaderboard(id, {})).data, [])
      yield* bans.put({ ...ban, banned: false, changed_time: START + 1 })
      yield* judge(bob.user_id)
      assert.deepStrictEqual(yield* reasons(bob), ["1: 1000000", "no_activity"])
    })
  )

  test(
    "is finalized an hour after its end, when all of it is counted, and shares its prize by score",
    Effect.gen(function* () {
      const { commit, fill, tick } = stream()
      const competitions = yield* Competitions
      const rewards = yield* RewardStore
      const { count } = yield* CompetitionScoring
      yield* Effect.all([login(alice), login(bob)])
      const { id } = yield* competitions.create({ ...winter, scoring: { ...scoring, min_active_days: 1 } })
      const end = winter.end_time_ms
      yield* commit(fill(alice, START, { exec_value: "1000" }), fill(bob, START + 1, { exec_value: "2000" }))
      const status = Effect.map(competitions.get(id), (competition) => competition.status)
      const granted = (user: typeof alice) =>
        Effect.map(rewards.list({ user_id: user.user_id, status: undefined, limit: 10, after: undefined }), (list) =>
          list.map(({ amount }) => amount)
        )
      yield* clock.set(end + HOUR_MS)
      yield* count
      // the read model has not seen the end yet
      assert.strictEqual(yield* status, "ended")
      yield* commit(fill(bob, end, { exec_value: "5000" }), tick(end + HOUR_MS))
      yield* clock.set(end + HOUR_MS - 1)
      yield* count
      assert.strictEqual(yield* status, "ended")
      assert.deepStrictEqual(yield* granted(bob), [])
      yield* clock.set(end + HOUR_MS)
      yield* count
      yield* count
      assert.strictEqual(yield* status, "finalized")
      assert.deepStrictEqual(yield* granted(alice), ["3333.333333333333333333"])
      assert.deepStrictEqual(yield* granted(bob), ["6666.666666666666666666"])
      const { data } = yield* competitions.leaderboard(id, {})
      assert.deepStrictEqual(
        data.map(({ metric_value, projected_xp, rank }) => [rank, metric_value, projected_xp]),
        [
          [1, "2000", "666666"],
          [2, "1000", "333333"]
        ]
      )
    })
  )

  const ban = { root_address: bob.root, user_id: bob.user_id, reason: "", changed_time: START, banned: true }

  test(
    "grants no more than its prize where a wallet is banned while another gateway grants it",
    Effect.gen(function* () {
      const { commit, tick } = stream()
      const competitions = yield* Competitions
      const store = yield* CompetitionStore
      const bans = yield* BanList
      const rewards = yield* RewardStore
      const here = yield* CompetitionScoring
      const steps: Array<number> = []
      let granted = 0n
      const there = yield* anotherGateway(
        Context.make(RewardStore, {
          ...rewards,
          grant: (some) =>
            Effect.gen(function* () {
              steps.push(some.length)
              granted += some.reduce((sum, { amount }) => sum + Decimal.parse(amount), 0n)
              yield* bans.put(ban)
              yield* Effect.orDie(here.judge(bob.user_id))
            })
        })
      )
      yield* commit(tick(START - 1))
      const { id } = yield* competitions.create({ ...winter, scoring: plain("volume") })
      // more than are settled in one step; the first half is bob's
      const entries = Array.from({ length: 600 }, (_, n) => ({
        sub_account_address: `0x${String(n).padStart(64, "0")}`,
        user_id: n < 300 ? bob.user_id : alice.user_id,
        days: [{ day: 0, units: "1000", last_time: START }],
        last_time: START,
        active_days: 1,
        metric_value: "1000",
        score: "1000",
        ineligible_reason: undefined,
        multiplier_bps: undefined
      }))
      const tally = yield* store.tally(id)
      yield* store.advance(id, { ...tally, revision: tally.revision + 1, eligible_total: "600000" }, entries)
      const over = winter.end_time_ms + HOUR_MS
      yield* commit(tick(over))
      yield* clock.set(over)
      yield* there.count
      assert.strictEqual((yield* competitions.get(id)).status, "finalized")
      assert.deepStrictEqual(steps, [500, 100])
      const prize = Decimal.parse(String(winter.prize_usdc))
      assert.isTrue(granted <= prize && prize - granted < 600n, Decimal.format(granted))
    }).pipe(Effect.scoped)
  )

  test(
    "keeps what another gateway counts while a wallet's entries are evaluated again",
    Effect.gen(function* () {
      const { commit, fill } = stream()
      const competitions = yield* Competitions
      const store = yield* CompetitionStore
      const here = yield* CompetitionScoring
      let isBetween = false
      // the other gateway has read the entries when this one counts a further fill
      const further = Effect.suspend(() => commit(fill(bob, START + 1, { exec_value: "500" })))
      const counted = once(Effect.andThen(further, here.count)).pipe(
        Effect.provideService(History, yield* History),
        Effect.orDie
      )
      const there = yield* anotherGateway(
        Context.make(CompetitionStore, {
          ...store,
          entriesOf: (...of) =>
            Effect.tap(store.entriesOf(...of), () => {
              isBetween = true
              return counted
            })
        })
      )
      const { id } = yield* competitions.create({ ...winter, scoring: plain("volume") })
      yield* clock.set(START + HOUR_MS)
      yield* commit(fill(bob, START, { exec_value: "1000" }))
      yield* here.count
      yield* there.judge(bob.user_id)
      assert.isTrue(isBetween)
      assert.deepInclude((yield* placements(id, bob))[0], { metric_value: "1500", rank: 1, projected_xp: "1000000" })
    }).pipe(Effect.scoped)
  )

  test(
    "is counted though another one cannot be read",
    Effect.gen(function* () {
      const { commit, fill } = stream()
      const competitions = yield* Competitions
      const store = yield* CompetitionStore
      const created = yield* Effect.forEach(["first", "second", "third"], (slug) =>
        competitions.create({ ...winter, slug, scoring: plain("volume") })
      )
      const [first, broken, third] = created.map(({ id }) => id)
      const there = yield* anotherGateway(
        Context.make(CompetitionStore, {
          ...store,
          tally: (id) =>
            id === broken ? Effect.fail(new AccountsUnavailable({ cause: "a row has another form" })) : store.tally(id)
        })
      )
      yield* clock.set(START + HOUR_MS)
      yield* commit(fill(bob, START, { exec_value: "1000" }))
      assert.strictEqual((yield* Effect.flip(there.count))._tag, "AccountsUnavailable")
      for (const id of [first!, third!])
        assert.deepInclude((yield* placements(id, bob))[0], { metric_value: "1000", rank: 1 })
    }).pipe(Effect.scoped)
  )

  test(
    "without a prize grants nothing",
    Effect.gen(function* () {
      const { commit, fill, tick } = stream()
      const competitions = yield* Competitions
      const rewards = yield* RewardStore
      const { count } = yield* CompetitionScoring
      yield* login(alice)
      const { id } = yield* competitions.create({
        ...winter,
        prize_usdc: 0,
        scoring: { ...scoring, min_active_days: 1 }
      })
      const over = winter.end_time_ms + HOUR_MS
      yield* commit(fill(alice, START, { exec_value: "1000" }), tick(over))
      yield* clock.set(over)
      yield* count
      assert.strictEqual((yield* competitions.get(id)).status, "finalized")
      assert.lengthOf((yield* competitions.leaderboard(id, {})).data, 1)
      const granted = yield* rewards.list({ user_id: alice.user_id, status: undefined, limit: 10, after: undefined })
      assert.deepStrictEqual(granted, [])
      const changed = yield* competitions.change(id, { description_md: "over" })
      assert.deepInclude(changed, { description_md: "over", status: "finalized" })
      const late = yield* Effect.flip(competitions.change(id, { status: "cancelled" }))
      assert.deepInclude(late, {
        reason: "CompetitionStarted",
        message: "it was canceled concurrently, or its prizes are granted"
      })
    })
  )

  test(
    "changes while it is a draft, and afterwards only in words or by its end",
    Effect.gen(function* () {
      const competitions = yield* Competitions
      const reason = (change: Partial<CompetitionFields>, of: string) =>
        Effect.match(competitions.change(of, change), {
          onSuccess: ({ status }) => status,
          onFailure: (error) => (error._tag === "Refused" ? error.reason : error._tag)
        })
      const { id, status } = yield* competitions.create({ ...winter, status: "draft" })
      assert.strictEqual(status, "draft")
      assert.strictEqual(yield* reason({ end_time_ms: START }, id), "OutOfRange")
      assert.strictEqual(yield* reason({ end_time_ms: START + 367 * DAY_MS }, id), "OutOfRange")
      assert.strictEqual(yield* reason({ status: "finalized" }, id), "InvalidField")
      assert.strictEqual(yield* reason({ prize_usdc: 5, slug: "spring" }, id), "draft")
      assert.strictEqual(yield* reason({ status: "scheduled" }, id), "scheduled")
      assert.strictEqual(yield* reason({ prize_usdc: 6 }, id), "CompetitionStarted")
      assert.strictEqual(yield* reason({ status: "draft" }, id), "CompetitionStarted")
      assert.strictEqual(yield* reason({ prize_usdc: 5, description_md: "new" }, id), "scheduled")
      assert.strictEqual(yield* reason({ status: "cancelled" }, id), "cancelled")
      assert.strictEqual(yield* reason({ status: "scheduled" }, id), "CompetitionStarted")
      const other = yield* competitions.create(winter)
      assert.strictEqual(yield* reason({ slug: "winter" }, other.id), "scheduled")
      const taken = yield* Effect.flip(competitions.create(winter))
      assert.strictEqual(taken._tag === "Refused" ? taken.reason : taken._tag, "SlugTaken")
      const now = yield* Clock.currentTimeMillis
      const late = yield* Effect.flip(
        competitions.create({ ...winter, slug: "late", start_time_ms: 0, end_time_ms: now })
      )
      assert.strictEqual(late._tag === "Refused" ? late.reason : late._tag, "OutOfRange")
    })
  )

  test(
    "keeps every field that two administrators change at once while it is a draft",
    Effect.gen(function* () {
      const competitions = yield* Competitions
      const store = yield* CompetitionStore
      const { id } = yield* competitions.create({ ...winter, status: "draft" })
      // after the other gateway has read the draft
      const meanwhile = once(Effect.orDie(Effect.asVoid(competitions.change(id, { title: "Theirs" }))))
      const there = yield* anotherGateway(
        Context.make(CompetitionStore, { ...store, get: (id) => Effect.tap(store.get(id), () => meanwhile) })
      )
      assert.deepInclude(yield* there.change(id, { prize_usdc: 5 }), { title: "Theirs", prize_usdc: 5 })
      assert.deepInclude(yield* competitions.get(id), { title: "Theirs", prize_usdc: 5 })
    }).pipe(Effect.scoped)
  )

  test(
    "counts its first fills, also if its draft is changed while another administrator publishes it",
    Effect.gen(function* () {
      const { commit, fill } = stream()
      const competitions = yield* Competitions
      const { count } = yield* CompetitionScoring
      const store = yield* CompetitionStore
      yield* commit(fill(bob, START, { exec_value: "1000" }))
      yield* clock.set(START + HOUR_MS)
      const { id } = yield* competitions.create({ ...winter, status: "draft", scoring: plain("volume") })
      const meanwhile = once(Effect.orDie(Effect.asVoid(competitions.change(id, { status: "scheduled" }))))
      const there = yield* anotherGateway(
        Context.make(CompetitionStore, { ...store, get: (id) => Effect.tap(store.get(id), () => meanwhile) })
      )
      const refused = yield* Effect.flip(there.change(id, { start_time_ms: START + DAY_MS }))
      assert.deepInclude(refused, { reason: "CompetitionStarted" })
      yield* count
      assert.deepInclude((yield* placements(id, bob))[0], { metric_value: "1000", rank: 1 })
    }).pipe(Effect.scoped)
  )

  test(
    "counts nothing of its last day after its end",
    Effect.gen(function* () {
      const { commit, fill } = stream()
      const competitions = yield* Competitions
      const { count } = yield* CompetitionScoring
      const end_time_ms = START + DAY_MS + HOUR_MS
      const { id } = yield* competitions.create({ ...winter, end_time_ms, scoring: plain("volume") })
      yield* clock.set(START + 2 * DAY_MS)
      yield* commit(
        fill(alice, START + DAY_MS, { exec_value: "1000" }),
        fill(alice, end_time_ms, { exec_value: "7000" })
      )
      yield* count
      assert.deepInclude((yield* placements(id))[0], { metric_value: "1000" })
    })
  )

  test(
    "is finalized only after all fills, also if they take exactly one step",
    Effect.gen(function* () {
      const { commit, fill, tick } = stream()
      const competitions = yield* Competitions
      const { count } = yield* CompetitionScoring
      const { id } = yield* competitions.create({ ...winter, scoring: plain("volume") })
      const over = winter.end_time_ms + HOUR_MS
      const fills = Array.from({ length: 1_000 }, (_, i) => fill(alice, START + i, { exec_value: "1" }))
      yield* commit(...fills, fill(bob, START + DAY_MS, { exec_value: "3000" }), tick(over))
      yield* clock.set(over)
      yield* count
      assert.strictEqual((yield* competitions.get(id)).status, "finalized")
      assert.deepInclude((yield* placements(id, bob))[0], { metric_value: "3000", rank: 1, projected_xp: "750000" })
    })
  )

  test(
    "that is canceled while its end is counted grants nothing",
    Effect.gen(function* () {
      const { commit, fill, tick } = stream()
      const competitions = yield* Competitions
      const store = yield* CompetitionStore
      const rewards = yield* RewardStore
      yield* login(alice)
      const { id } = yield* competitions.create({ ...winter, scoring: plain("volume") })
      const canceled = once(Effect.orDie(Effect.asVoid(competitions.change(id, { status: "cancelled" }))))
      const there = yield* anotherGateway(
        Context.make(CompetitionStore, { ...store, settle: (id) => Effect.andThen(canceled, store.settle(id)) })
      )
      const over = winter.end_time_ms + HOUR_MS
      yield* commit(fill(alice, START, { exec_value: "1000" }), tick(over))
      yield* clock.set(over)
      yield* there.count
      assert.strictEqual((yield* competitions.get(id)).status, "cancelled")
      const granted = yield* rewards.list({ user_id: alice.user_id, status: undefined, limit: 10, after: undefined })
      assert.deepStrictEqual(granted, [])
    }).pipe(Effect.scoped)
  )

  test(
    "grants nothing to a wallet without a rank",
    Effect.gen(function* () {
      const { commit, fill, tick } = stream()
      const competitions = yield* Competitions
      const rewards = yield* RewardStore
      const { count } = yield* CompetitionScoring
      yield* Effect.all([login(alice), login(bob)])
      yield* competitions.create({ ...winter, scoring: { ...plain("volume"), min_active_days: 2 } })
      const over = winter.end_time_ms + HOUR_MS
      yield* commit(
        fill(alice, START, { exec_value: "1000" }),
        fill(bob, START + 1, { exec_value: "500" }),
        fill(bob, START + DAY_MS, { exec_value: "500" }),
        tick(over)
      )
      yield* clock.set(over)
      yield* count
      const granted = (user: typeof alice) =>
        Effect.map(rewards.list({ user_id: user.user_id, status: undefined, limit: 10, after: undefined }), (list) =>
          list.map(({ amount }) => amount)
        )
      assert.deepStrictEqual([yield* granted(alice), yield* granted(bob)], [[], ["10000"]])
    })
  )

  test(
    "lasts 366 days at most, and names the bounds of its end",
    Effect.gen(function* () {
      const competitions = yield* Competitions
      const details = (change: Partial<CompetitionFields>) =>
        Effect.match(competitions.create({ ...winter, slug: "long", ...change }), {
          onSuccess: ({ status }): unknown => status,
          onFailure: (error) => (error._tag === "Refused" ? error.details : error._tag)
        })
      const longest = START + 366 * DAY_MS
      assert.deepStrictEqual(yield* details({ end_time_ms: longest + 1 }), { field: "end_time_ms", max: longest })
      assert.deepStrictEqual(yield* details({ end_time_ms: START }), { field: "end_time_ms", min: START + 1 })
      assert.deepStrictEqual(yield* details({ start_time_ms: 0, end_time_ms: START - 1 }), {
        field: "end_time_ms",
        max: 366 * DAY_MS
      })
      const now = yield* Clock.currentTimeMillis
      assert.deepStrictEqual(yield* details({ start_time_ms: now - DAY_MS, end_time_ms: now }), {
        field: "end_time_ms",
        min: now + 1
      })
      assert.strictEqual(yield* details({ end_time_ms: longest }), "scheduled")
    })
  )

  test(
    "that has ended takes a new description along with its status as shown",
    Effect.gen(function* () {
      const competitions = yield* Competitions
      const { id } = yield* competitions.create(winter)
      yield* clock.set(winter.end_time_ms)
      const changed = yield* competitions.change(id, { description_md: "over", status: "ended" })
      assert.deepInclude(changed, { description_md: "over", status: "ended" })
    })
  )

  test(
    "keeps the multipliers that wallets had when it was finalized",
    Effect.gen(function* () {
      const { commit, fill, tick } = stream()
      const competitions = yield* Competitions
      const accounts = yield* Accounts
      yield* login(alice)
      const there = yield* anotherGateway(
        Context.make(Accounts, {
          ...accounts,
          user: (id) => Effect.map(accounts.user(id), (user) => user && { ...user, multiplier_bps: 20_000 })
        })
      )
      const { id } = yield* competitions.create({ ...winter, scoring: plain("volume") })
      const over = winter.end_time_ms + HOUR_MS
      yield* commit(fill(alice, START, { exec_value: "1000" }), tick(over))
      yield* clock.set(over)
      yield* there.count
      // since then it is 10,000 again
      assert.deepInclude((yield* placements(id))[0], { rank: 1, projected_xp: "2000000" })
    }).pipe(Effect.scoped)
  )

  it.effect.each([new AccountsUnavailable({}), new HistoryUnavailable({}), new Outpaced()])(
    "is counted every five seconds, also after a failure: $_tag",
    (failure) => {
      let counts = 0
      const running = () => Effect.suspend(() => (counts++ === 0 ? Effect.fail(failure as never) : Effect.succeed([])))
      const mocked = CompetitionScoring.layer.pipe(
        Layer.provide([
          Layer.mock(Accounts)({}),
          Layer.mock(BanList)({ isBanned: () => false, refusedThrough: () => 0, apply: () => {} }),
          Layer.mock(CompetitionStore)({ running }),
          Layer.mock(History)({}),
          Layer.mock(TradingStatistics)({}),
          Layer.mock(RewardStore)({})
        ])
      )
      return Effect.gen(function* () {
        yield* TestClock.adjust("4999 millis")
        assert.strictEqual(counts, 1)
        yield* TestClock.adjust("1 millis")
        assert.strictEqual(counts, 2)
        yield* TestClock.adjust("5 seconds")
        assert.strictEqual(counts, 3)
      }).pipe(Effect.provide(mocked))
    }
  )
})
