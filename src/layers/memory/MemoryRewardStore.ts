/** Rewards in this process: a double for tests and trials, which forgets everything at its end. */
import { Effect, Layer } from "effect"
import * as Decimal from "../../domain/Decimal.ts"
import type { RewardStatus } from "../../domain/Enumerations.ts"
import {
  type Counted,
  type NewReward,
  Outpaced,
  type RewardRecord,
  RewardStore
} from "../../services/rewards/RewardStore.ts"

const recordOf = (reward: NewReward, status: RewardStatus): RewardRecord => ({
  ...reward,
  status,
  claimed_time: undefined,
  paid_to: undefined
})
/** Newest first. */
const newest = (a: RewardRecord, b: { readonly created_time: number; readonly reward_id: string }): number =>
  b.created_time - a.created_time || (a.reward_id < b.reward_id ? 1 : a.reward_id === b.reward_id ? 0 : -1)

export const layer: Layer.Layer<RewardStore> = Layer.sync(RewardStore, () => {
  const rewards = new Map<string, RewardRecord>()
  const sources = new Map<string, Counted>()
  const counted = (source: string): Counted => sources.get(source) ?? { to: 0, through: 0 }
  const change = (reward_id: string, fields: Partial<RewardRecord>) => {
    rewards.set(reward_id, { ...rewards.get(reward_id)!, ...fields })
  }

  return RewardStore.of({
    get: (user_id, reward_id) =>
      Effect.sync(() => {
        const found = rewards.get(reward_id)
        return found?.user_id === user_id ? found : undefined
      }),
    list: ({ user_id, status, limit, after }) =>
      Effect.sync(() =>
        [...rewards.values()]
          .filter(
            (reward) =>
              reward.user_id === user_id &&
              (status === undefined || reward.status === status) &&
              (after === undefined || newest(reward, after) > 0)
          )
          .sort(newest)
          .slice(0, limit)
      ),
    grant: (some) =>
      Effect.sync(() => {
        for (const reward of some) {
          if (!rewards.has(reward.reward_id)) rewards.set(reward.reward_id, recordOf(reward, "claimable"))
        }
      }),

    counted: (source) => Effect.sync(() => counted(source)),
    accrue: (source, from, to, additions) =>
      Effect.suspend((): Effect.Effect<void, Outpaced> => {
        const at = counted(source)
        if (at.to !== from.to || at.through !== from.through) return Effect.fail(new Outpaced())
        sources.set(source, to)
        for (const reward of additions) {
          const known = rewards.get(reward.reward_id)
          if (known === undefined) rewards.set(reward.reward_id, recordOf(reward, "pending"))
          else {
            const amount = Decimal.format(Decimal.parse(known.amount) + Decimal.parse(reward.amount))
            change(reward.reward_id, { amount })
          }
        }
        for (const { reward_id, status, due_time } of rewards.values()) {
          if (status === "pending" && due_time <= to.through) change(reward_id, { status: "claimable" })
        }
        return Effect.void
      }),

    direct: (reward_id, sub_account_address) =>
      Effect.sync(() => {
        const paid_to = rewards.get(reward_id)!.paid_to ?? sub_account_address
        change(reward_id, { paid_to })
        return paid_to
      }),
    undirect: (reward_id, sub_account_address) =>
      Effect.sync(() => {
        const known = rewards.get(reward_id)!
        if (known.paid_to === sub_account_address && known.status !== "claimed")
          change(reward_id, { paid_to: undefined })
      }),
    claim: (reward_id, paid_to, claimed_time) =>
      Effect.sync(() => {
        if (rewards.get(reward_id)?.status !== "claimable") return false
        change(reward_id, { status: "claimed", paid_to, claimed_time })
        return true
      })
  })
})
