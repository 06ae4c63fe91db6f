/** Withdrawals that a user has closed to listed destinations. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { Caller } from "../../../src/domain/User.ts"
import { AccountsUnavailable } from "../../../src/services/identity/Accounts.ts"
import { Funds } from "../../../src/services/trading/Funds.ts"
import { CommandRefused, OutcomeUnknown, type Sequencer } from "../../../src/services/Sequencer.ts"
import { ADDRESSES_MAX, WithdrawalAddresses } from "../../../src/services/trading/WithdrawalAddresses.ts"
import { WithdrawalAddressStore } from "../../../src/services/trading/WithdrawalAddressStore.ts"
import * as Ids from "../../doubles/Ids.ts"
import { shiftedClock } from "../../doubles/ShiftedClock.ts"
import * as SqliteStores from "../../doubles/SqliteStores.ts"
import { stillClock } from "../../doubles/StillClock.ts"
import { Stop } from "../../doubles/Stop.ts"
import { orderId, policies, tokenCaller, userId, v1 } from "../../http/Fixture.ts"

const DAY_MS = 86_400_000
const cold = `0x${"c0".repeat(32)}`
const hot = `0x${"07".repeat(32)}`
const withdrawal = (destination: string) => ({
  withdrawal_id: orderId,
  sub_account_address: v1,
  asset: "USDC",
  amount: "1",
  destination
})
const movement = {
  transfer_id: orderId,
  user_id: userId,
  kind: "withdrawal" as const,
  from_sub_account_address: v1,
  to_sub_account_address: undefined,
  asset: "USDC",
  amount: "1",
  status: "pending" as const,
  reference: cold,
  created_time: 1,
  updated_time: 1
}
const done = {
  seq: 1,
  accepted_at_ms: 1,
  orders: [],
  duplicate: false,
  version: undefined,
  result: { type: "movement" as const, movement }
}
const withdraw = (destination: string, caller: Caller = tokenCaller) =>
  Effect.flatMap(Funds, (funds) => funds.withdraw(caller, withdrawal(destination)))
const refusal = (failure: unknown): Record<string, unknown> => {
  const { details, reason } = failure as { readonly reason: string; readonly details: Record<string, unknown> }
  return { reason, ...details }
}
const refused = (destination: string) => Effect.map(Effect.flip(withdraw(destination)), refusal)
const notListed = { reason: "DestinationNotListed", field: "destination" }

describe("withdrawal addresses", () => {
  it.effect("are effective a day after they were added; with only_listed all other withdrawals are refused", () =>
    Effect.gen(function* () {
      const addresses = yield* WithdrawalAddresses
      const added = yield* addresses.add(tokenCaller, { destination: "C0".repeat(32), label: "cold" })
      assert.deepStrictEqual(added, { destination: cold, label: "cold", created_time: 0, effective_time: DAY_MS })
      yield* withdraw(hot)
      assert.isTrue((yield* addresses.restrict(tokenCaller, true)).only_listed)
      assert.deepStrictEqual(yield* refused(hot), notListed)
      assert.deepStrictEqual(yield* refused(cold), { ...notListed, effective_time: DAY_MS })
      yield* TestClock.adjust(DAY_MS - 1)
      assert.deepStrictEqual(yield* refused(cold), { ...notListed, effective_time: DAY_MS })
      yield* TestClock.adjust(1)
      yield* withdraw(cold)
      assert.strictEqual((yield* addresses.add(tokenCaller, { destination: cold })).effective_time, DAY_MS)
      assert.strictEqual(yield* addresses.remove(tokenCaller, cold), cold)
      assert.deepStrictEqual(yield* refused(cold), notListed)
      const again = yield* addresses.add(tokenCaller, { destination: cold })
      assert.strictEqual(again.effective_time, 2 * DAY_MS)
    }).pipe(Effect.provide(policies({})))
  )

  it.effect("are unrestricted a day after the request, unless it is revoked", () =>
    Effect.gen(function* () {
      const addresses = yield* WithdrawalAddresses
      yield* addresses.restrict(tokenCaller, true)
      assert.strictEqual((yield* addresses.restrict(tokenCaller, false)).loosens_time, DAY_MS)
      yield* TestClock.adjust(DAY_MS - 1)
      assert.strictEqual((yield* addresses.restrict(tokenCaller, false)).loosens_time, DAY_MS)
      assert.deepStrictEqual(yield* addresses.restrict(tokenCaller, true), { only_listed: true, list: [] })
      yield* TestClock.adjust(DAY_MS)
      assert.deepStrictEqual(yield* refused(hot), notListed)
      yield* addresses.restrict(tokenCaller, false)
      yield* TestClock.adjust(DAY_MS)
      assert.deepStrictEqual(yield* addresses.rules(tokenCaller), { only_listed: false, list: [] })
      yield* withdraw(hot)
    }).pipe(Effect.provide(policies({})))
  )

  it.effect("are full addresses, bounded in number, and not changed by a key that is bound to sub-accounts", () =>
    Effect.gen(function* () {
      const addresses = yield* WithdrawalAddresses
      assert.deepStrictEqual(refusal(yield* Effect.flip(addresses.add(tokenCaller, { destination: "0xdad" }))), {
        reason: "InvalidField",
        field: "destination"
      })
      assert.deepStrictEqual(refusal(yield* Effect.flip(addresses.remove(tokenCaller, cold))), {
        reason: "DestinationNotFound",
        field: "destination"
      })
      const bound: Caller = { ...tokenCaller, bound_to: new Set([v1]) }
      for (const change of [
        addresses.add(bound, { destination: cold }),
        addresses.remove(bound, cold),
        addresses.restrict(bound, false)
      ] as ReadonlyArray<Effect.Effect<unknown, unknown>>)
        assert.strictEqual(refusal(yield* Effect.flip(change)).reason, "InsufficientScope")
      for (let n = 0; n < ADDRESSES_MAX; n++)
        yield* addresses.add(tokenCaller, { destination: n.toString(16).padStart(64, "0") })
      assert.deepStrictEqual(refusal(yield* Effect.flip(addresses.add(tokenCaller, { destination: cold }))), {
        reason: "LimitReached",
        max: ADDRESSES_MAX
      })
    }).pipe(Effect.provide(policies({})))
  )

  for (const ahead_ms of [0, 30_000, -30_000])
    it.effect(
      `a tightening change is acknowledged after the withdrawals checked before it, by a clock ${ahead_ms} ms ahead`,
      () =>
        Effect.gen(function* () {
          yield* TestClock.setTime(DAY_MS)
          const submitted = new Stop()
          const sequencer: Partial<Sequencer["Service"]> = { submit: () => Effect.as(submitted.here, done) }
          yield* Effect.gen(function* () {
            const addresses = yield* WithdrawalAddresses
            const early = yield* Effect.forkChild(withdraw(hot))
            yield* submitted.reached
            const change = yield* addresses.restrict(tokenCaller, true).pipe(
              Effect.provideServiceEffect(
                Clock.Clock,
                shiftedClock(() => ahead_ms)
              ),
              Effect.forkChild
            )
            yield* TestClock.adjust("1 second")
            assert.isUndefined(change.pollUnsafe(), "the withdrawal is still on its way")
            assert.deepStrictEqual(yield* refused(hot), notListed)
            yield* submitted.release
            yield* Fiber.join(early)
            yield* TestClock.adjust("1 second")
            assert.isTrue((yield* Fiber.join(change)).only_listed)
          }).pipe(Effect.provide(policies({ sequencer })))
        })
    )

  it.effect("a removal is acknowledged after the withdrawals checked before it, and waits for no later one", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(DAY_MS)
      const answers = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      let submitted = 0
      const sequencer: Partial<Sequencer["Service"]> = {
        submit: () => Effect.suspend(() => Effect.as(Deferred.await(answers[submitted++]!), done))
      }
      yield* Effect.gen(function* () {
        const addresses = yield* WithdrawalAddresses
        yield* addresses.add(tokenCaller, { destination: cold })
        yield* TestClock.adjust(DAY_MS)
        const early = yield* Effect.forkChild(withdraw(cold))
        yield* TestClock.adjust("100 millis")
        const removal = yield* Effect.forkChild(addresses.remove(tokenCaller, cold))
        yield* TestClock.adjust("1 second")
        assert.isUndefined(removal.pollUnsafe(), "the withdrawal is still on its way")
        yield* Effect.forkChild(withdraw(hot))
        yield* TestClock.adjust("100 millis")
        assert.strictEqual(submitted, 2)
        yield* Deferred.succeed(answers[0]!, undefined)
        yield* Fiber.join(early)
        yield* TestClock.adjust("1 second")
        assert.isDefined(removal.pollUnsafe(), "a withdrawal that began later may still be on its way")
      }).pipe(Effect.provide(policies({ sequencer })))
    })
  )

  it.effect("a change waits for no withdrawal that was refused, or that was done", () => {
    const answers = [
      Effect.succeed(done),
      Effect.fail(new CommandRefused({ reason: "InsufficientBalance", message: "", details: {} }))
    ]
    const submit = () => answers.shift()!
    return Effect.gen(function* () {
      const addresses = yield* WithdrawalAddresses
      yield* withdraw(hot)
      assert.strictEqual((yield* refused(hot)).reason, "InsufficientBalance")
      const change = yield* Effect.forkChild(addresses.restrict(tokenCaller, true))
      yield* TestClock.adjust("100 millis")
      assert.isDefined(change.pollUnsafe())
    }).pipe(Effect.provide(policies({ sequencer: { submit } })))
  })

  it.effect("a change waits ten seconds at most for a withdrawal with an unknown outcome", () =>
    Effect.gen(function* () {
      const addresses = yield* WithdrawalAddresses
      assert.instanceOf(yield* Effect.flip(withdraw(hot)), OutcomeUnknown)
      const change = yield* Effect.forkChild(addresses.restrict(tokenCaller, true))
      yield* TestClock.adjust(9_900)
      assert.isUndefined(change.pollUnsafe())
      yield* TestClock.adjust(200)
      yield* Fiber.join(change)
      // the withdrawal cannot be sequenced any more
      yield* addresses.restrict(tokenCaller, true)
    }).pipe(Effect.provide(policies({ sequencer: { submit: () => Effect.fail(new OutcomeUnknown()) } })))
  )

  it.effect("a withdrawal is not submitted five seconds after it began, though the clock was set back meanwhile", () =>
    Effect.gen(function* () {
      const clock = stillClock(DAY_MS)
      const slow = Effect.map(WithdrawalAddressStore, (store) => ({
        ...store,
        of: (user_id: string) => store.of(user_id).pipe(Effect.tap(clock.pass(5_000)), Effect.tap(clock.step(-DAY_MS)))
      }))
      const late = Effect.flatMap(WithdrawalAddresses, ({ guarded }) =>
        guarded(userId, hot, Effect.die("submitted"), () => false)
      ).pipe(
        Effect.provide(WithdrawalAddresses.layer({ delay: "1 day" })),
        Effect.provide([
          Ids.layer,
          Layer.effect(WithdrawalAddressStore, slow).pipe(Layer.provide(SqliteStores.withdrawalAddresses))
        ]),
        Effect.provide(clock.layer)
      )
      assert.instanceOf(yield* Effect.flip(late), AccountsUnavailable)
    })
  )

  it.live("no withdrawal is sequenced after a change was acknowledged, in any interleaving", () =>
    Effect.gen(function* () {
      const answered = new Set<string>()
      const late: Array<string> = []
      let sequenced = 0
      const sequencer: Partial<Sequencer["Service"]> = {
        submit: ({ user_id }) =>
          Effect.repeat(Effect.yieldNow, { times: 3 }).pipe(
            Effect.tap(() => Effect.sync(() => (answered.has(user_id) ? late.push(user_id) : sequenced++))),
            Effect.as(done)
          )
      }
      const round = (n: number) => {
        const caller: Caller = { ...tokenCaller, user_id: `user-${n}` }
        const change = Effect.gen(function* () {
          yield* Effect.repeat(Effect.yieldNow, { times: n % 10 })
          yield* (yield* WithdrawalAddresses).restrict(caller, true)
          answered.add(caller.user_id)
        })
        const withdrawals = Array.from({ length: 16 }, (_, i) =>
          Effect.andThen(Effect.repeat(Effect.yieldNow, { times: i }), Effect.result(withdraw(hot, caller)))
        )
        return Effect.all([change, ...withdrawals], { concurrency: "unbounded" })
      }
      yield* Effect.forEach(
        Array.from({ length: 200 }, (_, n) => n),
        round,
        { concurrency: 20, discard: true }
      ).pipe(Effect.provide(policies({ sequencer })))
      assert.deepStrictEqual(late, [])
      assert.isAbove(sequenced, 100)
      assert.isBelow(sequenced, 200 * 16)
    })
  )
})
