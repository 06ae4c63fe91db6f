import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { DAY_MS } from "../../../src/domain/Time.ts"
import { AccountsUnavailable } from "../../../src/services/identity/Accounts.ts"
import { Cursors } from "../../../src/services/operations/Cursors.ts"
import { BackendAvailability } from "../../../src/services/operations/BackendAvailability.ts"
import { DomainError } from "../../../src/services/DomainError.ts"
import { History, HistoryUnavailable } from "../../../src/services/History.ts"
import { commandIdOf } from "../../../src/services/operations/Ids.ts"
import { ReferralFees } from "../../../src/services/rewards/ReferralFees.ts"
import { ReferralStore } from "../../../src/services/rewards/ReferralStore.ts"
import { Rewards } from "../../../src/services/rewards/Rewards.ts"
import { Outpaced, RewardStore } from "../../../src/services/rewards/RewardStore.ts"
import {
  type Command,
  CommandRefused,
  OutcomeUnknown,
  Sequencer,
  type SubmitError
} from "../../../src/services/Sequencer.ts"
import { SubAccounts } from "../../../src/services/identity/SubAccounts.ts"
import { START, uuid } from "../../../verification/harness/Records.ts"
import { stillClock } from "../../doubles/StillClock.ts"
import { signingKeys } from "../../doubles/Wallets.ts"
import * as SqliteStores from "../../doubles/SqliteStores.ts"
import { alice, bob, callerOf, stream } from "./CommittedEvents.ts"

const caller = callerOf(alice)
const [v0, v1] = [alice.account(0), alice.account(1)]
const reward_id = uuid(7)

/** A sequencer that keeps what it was sent, and answers what a test says. */
const submitted: Array<Command> = []
/** Whether the backend is away. */
let isAway = false
let answer: () => Effect.Effect<void, SubmitError> = () => Effect.void
const sequencer = Layer.mock(Sequencer)({
  commands_down_ms: () => 0,
  submit: (command) =>
    Effect.suspend(() => {
      submitted.push(command)
      return Effect.as(answer(), {
        seq: 1,
        accepted_at_ms: START,
        orders: [],
        duplicate: false,
        version: undefined,
        result: undefined
      })
    })
})
const clock = stillClock(START)
const layer = Layer.mergeAll(Rewards.layer, ReferralFees.layer).pipe(
  Layer.provideMerge(Cursors.layer),
  Layer.provideMerge(
    Layer.mergeAll(
      SqliteStores.history,
      SqliteStores.referrals,
      SqliteStores.rewards,
      sequencer,
      signingKeys(1),
      Layer.mock(BackendAvailability)({
        sequencer: Effect.suspend(() => (isAway ? Effect.fail(new DomainError("BackendUnavailable")) : Effect.void))
      }),
      Layer.mock(SubAccounts)({
        resolve: (_, address) =>
          address === bob.account(0) ? Effect.fail(new DomainError("SubAccountNotFound")) : Effect.succeed([address!])
      })
    )
  )
)
const test = <E>(name: string, run: Effect.Effect<void, E, Layer.Success<typeof layer>>) =>
  it.effect(name, () => {
    submitted.length = 0
    answer = () => Effect.void
    isAway = false
    return Effect.andThen(clock.set(START), Effect.provide(run, Layer.fresh(layer))).pipe(Effect.provide(clock.layer))
  })

const grant = Effect.flatMap(RewardStore, (store) =>
  store.grant([
    {
      reward_id,
      user_id: alice.user_id,
      kind: "competition",
      asset: "USDC",
      amount: "12.5",
      source_id: uuid(9),
      created_time: START,
      due_time: START
    }
  ])
)
/** What became of a claim: its status, or why not. */
const claim = (address: string, id = reward_id) =>
  Effect.flatMap(Rewards, (rewards) =>
    Effect.match(rewards.claim(caller, id, address), {
      onSuccess: ({ status }): string => status,
      onFailure: (error) => (error._tag === "OutcomeUnknown" ? error._tag : error.reason)
    })
  )
const paidTo = () => submitted.map(({ sub_account_address }) => sub_account_address)

describe("the list of rewards", () => {
  test(
    "is read by pages, and a last page that is full ends it",
    Effect.gen(function* () {
      const store = yield* RewardStore
      const rewards = yield* Rewards
      const ids = [1, 2, 3, 4].map(uuid)
      yield* store.grant(
        ids.map((id, i) => ({
          reward_id: id,
          user_id: alice.user_id,
          kind: "competition",
          asset: "USDC",
          amount: "1",
          source_id: uuid(9),
          created_time: START + i,
          due_time: START
        }))
      )
      const walk = Effect.fnUntraced(function* (limit: number) {
        const pages: Array<ReadonlyArray<string>> = []
        let cursor: string | undefined
        do {
          const page: Effect.Success<ReturnType<typeof rewards.list>> = yield* rewards.list(caller, {
            limit,
            ...(cursor !== undefined && { cursor })
          })
          pages.push(page.list.map((reward) => reward.reward_id))
          cursor = page.next_page_cursor === "" ? undefined : page.next_page_cursor
        } while (cursor !== undefined)
        return pages
      })
      const [d, c, b, a] = ids as [string, string, string, string]
      assert.deepStrictEqual(yield* walk(2), [
        [a, b],
        [c, d]
      ])
      assert.deepStrictEqual(yield* walk(3), [[a, b, c], [d]])
      assert.deepStrictEqual(yield* walk(4), [[a, b, c, d]])
    })
  )
})

describe("a claim", () => {
  test(
    "pays a reward by one command that is always the same, and once",
    Effect.gen(function* () {
      yield* grant
      assert.strictEqual(yield* claim(v0, uuid(8)), "RewardNotFound")
      assert.strictEqual(yield* claim(v0), "claimed")
      assert.deepStrictEqual(submitted, [
        {
          command_id: commandIdOf("credit", alice.user_id, reward_id),
          user_id: alice.user_id,
          sub_account_address: v0,
          body: { type: "credit", reward_id, asset: "USDC", amount: "12.5" }
        }
      ])
      assert.strictEqual(yield* claim(v1), "AlreadyClaimed")
      assert.strictEqual(submitted.length, 1)
    })
  )

  test(
    "that was broken off after its payment is repeated to the same place, whatever the second one names",
    Effect.gen(function* () {
      yield* grant
      answer = () => Effect.fail(new OutcomeUnknown())
      assert.strictEqual(yield* claim(v0), "OutcomeUnknown")
      answer = () => Effect.void
      assert.strictEqual(yield* claim(v1), "claimed")
      assert.deepStrictEqual(paidTo(), [v0, v0])
      assert.strictEqual(new Set(submitted.map(({ command_id }) => command_id)).size, 1)
      assert.strictEqual((yield* (yield* RewardStore).get(alice.user_id, reward_id))?.paid_to, v0)
    })
  )

  test(
    "that the sequencer refused paid nothing, and another may name another place",
    Effect.gen(function* () {
      yield* grant
      answer = () => Effect.fail(new CommandRefused({ reason: "SubAccountNotFound", message: "", details: {} }))
      assert.strictEqual(yield* claim(v0), "SubAccountNotFound")
      answer = () => Effect.void
      assert.strictEqual(yield* claim(v1), "claimed")
      assert.deepStrictEqual(paidTo(), [v0, v1])
    })
  )

  test(
    "that was paid long ago elsewhere is found to be claimed",
    Effect.gen(function* () {
      yield* grant
      answer = () => Effect.fail(new CommandRefused({ reason: "DuplicateRequestId", message: "", details: {} }))
      assert.strictEqual(yield* claim(v1), "AlreadyClaimed")
      assert.strictEqual(yield* claim(v1), "AlreadyClaimed")
    })
  )

  test(
    "before the reward's day is over pays nothing",
    Effect.gen(function* () {
      const store = yield* RewardStore
      const reward = {
        reward_id,
        user_id: alice.user_id,
        kind: "referral" as const,
        asset: "USDC",
        amount: "1",
        source_id: "2026-01-01",
        created_time: START,
        due_time: START + DAY_MS
      }
      const to = { to: 1, stream: "s", through: START }
      yield* store.accrue("referral", yield* store.counted("referral"), to, [reward])
      assert.strictEqual(yield* claim(v0), "RewardPending")
      assert.deepStrictEqual(submitted, [])
    })
  )

  test(
    "while the backend is away sets no destination, and one to a foreign sub-account pays nothing",
    Effect.gen(function* () {
      yield* grant
      isAway = true
      assert.strictEqual(yield* claim(v0), "BackendUnavailable")
      isAway = false
      assert.strictEqual(yield* claim(bob.account(0)), "SubAccountNotFound")
      assert.deepStrictEqual(submitted, [])
      assert.strictEqual(yield* claim(v1), "claimed")
      assert.deepStrictEqual(paidTo(), [v1])
    })
  )

  test(
    "of many at once succeeds once",
    Effect.gen(function* () {
      yield* grant
      answer = () => Effect.yieldNow
      const outcomes = yield* Effect.forEach([v0, v1, v0, v1], (address) => claim(address), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(outcomes.toSorted(), ["AlreadyClaimed", "AlreadyClaimed", "AlreadyClaimed", "claimed"])
      assert.strictEqual(new Set(paidTo()).size, 1)
    })
  )
})

describe("referral fees", () => {
  const earned = Effect.flatMap(Rewards, (rewards) =>
    Effect.map(rewards.list(caller, {}), ({ list }) =>
      list.map(({ amount, source_id, status }) => `${source_id} ${amount} ${status}`)
    )
  )

  test(
    "are a tenth of each taker fee, truncated, by day; each day's can be claimed when it is over",
    Effect.gen(function* () {
      const { commit, fill, tick } = stream()
      const { count } = yield* ReferralFees
      yield* (yield* ReferralStore).refer(bob.user_id, { referrer_id: alice.user_id, since: START + 10 })
      yield* commit(
        fill(bob, START + 9, { base_fee: "100" }),
        fill(bob, START + 10, { base_fee: "6.6" }),
        fill(bob, START + 11, { base_fee: "0.000000000000000019" }),
        fill(bob, START + 12, { base_fee: "50", is_maker: true }),
        fill(bob, START + 13, { base_fee: "50", exec_type: "Funding" }),
        fill(alice, START + 14, { base_fee: "50" }),
        fill(bob, START + DAY_MS, { base_fee: "1" })
      )
      yield* count
      // all of the first day is counted: the stream has passed it
      assert.deepStrictEqual(yield* earned, ["2026-01-02 0.1 pending", "2026-01-01 0.660000000000000001 claimable"])
      yield* count
      yield* commit(fill(bob, START + 2 * DAY_MS - 1, { base_fee: "2" }))
      yield* count
      assert.deepStrictEqual((yield* earned)[0], "2026-01-02 0.3 pending")
      yield* commit(tick(START + 2 * DAY_MS))
      yield* count
      assert.deepStrictEqual((yield* earned)[0], "2026-01-02 0.3 claimable")
      const { list } = yield* (yield* Rewards).list(caller, { status: "claimable", limit: 1 })
      // begun with its first fee, not with the day: the account may be younger than that
      const { list: both } = yield* (yield* Rewards).list(caller, {})
      assert.deepStrictEqual(
        both.map(({ created_time }) => created_time),
        [START + DAY_MS, START + 10]
      )
      assert.strictEqual(yield* claim(v0, list[0]!.reward_id), "claimed")
    })
  )

  test(
    "go on over more executions than one step takes",
    Effect.gen(function* () {
      const { commit, fill } = stream()
      const { count } = yield* ReferralFees
      yield* (yield* ReferralStore).refer(bob.user_id, { referrer_id: alice.user_id, since: START })
      yield* commit(...Array.from({ length: 2_500 }, (_, i) => fill(bob, START + i, { base_fee: "1" })))
      yield* count
      assert.deepStrictEqual(yield* earned, ["2026-01-01 250 pending"])
    })
  )

  test(
    "are counted again for the open days of a history that a restored backend began",
    Effect.gen(function* () {
      const { count } = yield* ReferralFees
      const history = yield* History
      yield* (yield* ReferralStore).refer(bob.user_id, { referrer_id: alice.user_id, since: START })
      const { commit, fill } = stream()
      const fills = (start: number, n: number, of = fill) =>
        Array.from({ length: n }, (_, i) => of(bob, start + i, { base_fee: "1" }))
      yield* commit(...fills(START, 20))
      yield* commit(...fills(START + DAY_MS, 50))
      yield* count
      assert.deepStrictEqual(yield* earned, ["2026-01-02 5 pending", "2026-01-01 2 claimable"])
      yield* history.clear((yield* history.position)!, { epoch: "e1", seq: 0, began: 0, ts_ms: 0, stream: "f2-0" })
      // before the first event of the new history
      yield* count
      assert.deepStrictEqual(yield* earned, ["2026-01-01 2 claimable"])
      const restored = stream()
      yield* restored.commit(...fills(START, 20, restored.fill), ...fills(START + DAY_MS, 10, restored.fill))
      yield* count
      // the first day is final
      assert.deepStrictEqual(yield* earned, ["2026-01-02 1 pending", "2026-01-01 2 claimable"])
      yield* restored.commit(...fills(START + DAY_MS + 100, 5, restored.fill), restored.tick(START + 2 * DAY_MS))
      yield* count
      assert.deepStrictEqual(yield* earned, ["2026-01-02 1.5 claimable", "2026-01-01 2 claimable"])
    })
  )

  test(
    "of a day that ended exactly at the last count are final",
    Effect.gen(function* () {
      const { count } = yield* ReferralFees
      const history = yield* History
      yield* (yield* ReferralStore).refer(bob.user_id, { referrer_id: alice.user_id, since: START })
      const { commit, fill, tick } = stream()
      yield* commit(fill(bob, START, { base_fee: "10" }), tick(START + DAY_MS))
      yield* count
      assert.deepStrictEqual(yield* earned, ["2026-01-01 1 claimable"])
      yield* history.clear((yield* history.position)!, { epoch: "e1", seq: 0, began: 0, ts_ms: 0, stream: "f2-0" })
      const restored = stream()
      yield* restored.commit(restored.fill(bob, START, { base_fee: "30" }))
      yield* count
      assert.deepStrictEqual(yield* earned, ["2026-01-01 1 claimable"])
    })
  )

  test(
    "of a day stay open until all its executions are counted",
    Effect.gen(function* () {
      const { commit, fill, tick } = stream()
      const { count } = yield* ReferralFees
      yield* (yield* ReferralStore).refer(bob.user_id, { referrer_id: alice.user_id, since: START })
      const fills = Array.from({ length: 1_500 }, (_, i) => fill(bob, START + i, { base_fee: "1" }))
      yield* commit(...fills, tick(START + DAY_MS))
      yield* count
      assert.deepStrictEqual(yield* earned, ["2026-01-01 150 claimable"])
    })
  )

  it.effect.each([new AccountsUnavailable({}), new HistoryUnavailable({}), new Outpaced()])(
    "are counted every five seconds, also after a failure: $_tag",
    (failure) => {
      let counts = 0
      const counted = () =>
        Effect.suspend(() =>
          counts++ === 0 ? Effect.fail(failure as never) : Effect.succeed({ to: 0, stream: undefined, through: 0 })
        )
      const mocked = ReferralFees.layer.pipe(
        Layer.provide([
          Layer.mock(History)({ moment: () => Effect.undefined as never }),
          Layer.mock(ReferralStore)({}),
          Layer.mock(RewardStore)({ counted })
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
