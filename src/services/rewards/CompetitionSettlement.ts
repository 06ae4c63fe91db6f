/**
 * The settlement of a competition that is over: multipliers are fixed, and the prize is granted as rewards.
 * Source: docs/contract/rest-user.md#competitions.
 */
import { Effect } from "effect"
import * as Decimal from "../../domain/Decimal.ts"
import { rewardIdOf } from "../../domain/Reward.ts"
import { prizeShare } from "../../domain/Scoring.ts"
import { Accounts } from "../identity/Accounts.ts"
import { type CompetitionRecord, CompetitionStore, type Entry } from "./CompetitionStore.ts"
import { type NewReward, RewardStore } from "./RewardStore.ts"

/** Entries per step of a settlement. */
const STEP_ENTRIES = 500
/** Multiplier of a wallet without activation. */
const MULTIPLIER_BPS = 10_000

/** The settlement of one competition, at a time in Unix ms. */
export const make = Effect.gen(function* () {
  const accounts = yield* Accounts
  const rewards = yield* RewardStore
  const store = yield* CompetitionStore

  /** Fixes the multipliers and grants the prize. May be interrupted and repeated anywhere with the same result. */
  return Effect.fnUntraced(function* (competition: CompetitionRecord, now: number) {
    const { id, prize_usdc } = competition
    const prize = BigInt(prize_usdc) * Decimal.ONE
    // from here on it cannot be canceled: grants are final
    if (!(yield* store.settle(id))) return
    let after = ""
    for (;;) {
      const tally = yield* store.tally(id)
      const entries = yield* store.walk(id, after, STEP_ENTRIES)
      const total = Decimal.parse(tally.eligible_total)
      const granted: Array<NewReward> = []
      const fixed: Array<Entry> = []
      for (const entry of entries) {
        const user = yield* accounts.user(entry.user_id)
        fixed.push({ ...entry, multiplier_bps: user?.multiplier_bps ?? MULTIPLIER_BPS })
        if (entry.ineligible_reason !== undefined) continue
        const amount = prizeShare(prize, Decimal.parse(entry.score), total)
        if (amount === 0n) continue
        granted.push({
          reward_id: rewardIdOf("competition", entry.sub_account_address, id),
          user_id: entry.user_id,
          kind: "competition",
          asset: "USDC",
          amount: Decimal.format(amount),
          source_id: id,
          created_time: now,
          due_time: now
        })
      }
      yield* store.advance(id, { ...tally, revision: tally.revision + 1 }, fixed)
      yield* rewards.grant(granted)
      if (entries.length < STEP_ENTRIES) break
      after = entries.at(-1)!.sub_account_address
      yield* Effect.yieldNow
    }
    yield* store.finalize(id, now)
  })
})
