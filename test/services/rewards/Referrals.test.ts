import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Accounts } from "../../../src/services/identity/Accounts.ts"
import { Referrals } from "../../../src/services/rewards/Referrals.ts"
import { ReferralStore } from "../../../src/services/rewards/ReferralStore.ts"
import { START, userOf } from "../../../verification/harness/Records.ts"
import { stillClock } from "../../doubles/StillClock.ts"
import * as SqliteStores from "../../doubles/SqliteStores.ts"
import { callerOf } from "./CommittedEvents.ts"

const layer = Referrals.layer.pipe(Layer.provideMerge(Layer.mergeAll(SqliteStores.accounts, SqliteStores.referrals)))
const clock = stillClock(START)
const test = <E>(name: string, run: Effect.Effect<void, E, Layer.Success<typeof layer>>) =>
  it.effect(name, () =>
    Effect.andThen(clock.set(START), Effect.provide(run, Layer.fresh(layer))).pipe(Effect.provide(clock.layer))
  )
/** Users who have logged in, with their codes. */
const enlisted = (count: number) =>
  Effect.forEach(
    Array.from({ length: count }, (_, i) => userOf(i + 1)),
    Effect.fnUntraced(function* ({ root, user_id, ...user }) {
      const accounts = yield* Accounts
      yield* accounts.ensureUser({ user_id, root_address: root, rail: "address", party_id: undefined })
      const { referral_code } = (yield* accounts.user(user_id))!
      return { user_id, referral_code, caller: callerOf({ root, user_id, ...user }) }
    })
  )
const reasonOf = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), (error) => (error as { readonly reason?: string }).reason)

describe("a referral", () => {
  test(
    "is none at first",
    Effect.gen(function* () {
      const { get } = yield* Referrals
      const [user] = yield* enlisted(1)
      assert.deepStrictEqual(yield* get(user!.caller), {
        downline_count: 0,
        referral_code: user!.referral_code,
        referrer_code: "",
        referrer_user_id: ""
      })
    })
  )

  test(
    "begins when the code is named, in any case and with spaces, and its repetition changes nothing",
    Effect.gen(function* () {
      const { get, refer } = yield* Referrals
      const store = yield* ReferralStore
      const [above, user] = yield* enlisted(2)
      const expected = {
        downline_count: 0,
        referral_code: user!.referral_code,
        referrer_code: above!.referral_code,
        referrer_user_id: above!.user_id
      }
      assert.deepStrictEqual(yield* refer(user!.caller, ` ${above!.referral_code.toLowerCase()} `), expected)
      yield* clock.set(START + 5)
      assert.deepStrictEqual(yield* refer(user!.caller, above!.referral_code), expected)
      assert.deepStrictEqual(yield* store.referrer(user!.user_id), { referrer_id: above!.user_id, since: START })
      assert.strictEqual((yield* get(above!.caller)).downline_count, 1)
    })
  )

  test(
    "is refused for a text that is no code, a code of nobody, a second referrer and the user itself",
    Effect.gen(function* () {
      const { refer } = yield* Referrals
      const [above, user, other] = yield* enlisted(3)
      const refused = (text: string) => reasonOf(refer(user!.caller, text))
      assert.strictEqual(yield* refused("short"), "InvalidField")
      assert.strictEqual(yield* refused("00000000"), "ReferralCodeNotFound")
      assert.strictEqual(yield* refused(user!.referral_code), "SelfReferral")
      yield* refer(user!.caller, above!.referral_code)
      assert.strictEqual(yield* refused(other!.referral_code), "ReferrerAlreadySet")
      // above would be its own referrer in two steps
      assert.strictEqual(yield* reasonOf(refer(above!.caller, user!.referral_code)), "SelfReferral")
    })
  )
})
