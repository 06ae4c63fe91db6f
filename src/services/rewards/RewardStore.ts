/**
 * Port: rewards of users.
 *
 * Guarantee: a reward exists once, whoever grants it again; of all who mark it claimed one succeeds; additions are counted
 * once, since they move on with the place up to which their source was read.
 * Source: docs/contract/rest-user.md#rewards, docs/contract/boundary.md#ownership, docs/contract/exchange.md#referrals.
 */
import { Context, type Effect, Schema } from "effect"
import type { RewardKind, RewardStatus } from "../../domain/Enumerations.ts"
import type { AccountsUnavailable } from "../identity/Accounts.ts"

export interface RewardRecord {
  readonly reward_id: string
  readonly user_id: string
  readonly kind: RewardKind
  readonly asset: string
  readonly amount: string
  readonly status: RewardStatus
  readonly source_id: string
  /** Unix ms. */
  readonly created_time: number
  /** From when it can be claimed, Unix ms. */
  readonly due_time: number
  readonly claimed_time: number | undefined
  /** Where it is paid to: fixed before it is paid, so that a repetition pays the same. */
  readonly paid_to: string | undefined
}
export type NewReward = Omit<RewardRecord, "status" | "claimed_time" | "paid_to">

/** Place of a reward in its list, newest first. */
export interface RewardKey {
  readonly created_time: number
  readonly reward_id: string
}

/** Up to where a source was counted. */
export interface Counted {
  /** Id of the last row of the history that was looked at. */
  readonly to: number
  /** Engine time up to which nothing can be added any more, Unix ms. */
  readonly through: number
}

/** Somebody else has counted on from there. Nothing was written. */
export class Outpaced extends Schema.TaggedError<Outpaced>()("Outpaced", {}) {}

export class RewardStore extends Context.Service<
  RewardStore,
  {
    readonly get: (user_id: string, reward_id: string) => Effect.Effect<RewardRecord | undefined, AccountsUnavailable>
    /** Rewards of a user, newest first. */
    readonly list: (query: {
      readonly user_id: string
      readonly status: RewardStatus | undefined
      readonly limit: number
      readonly after: RewardKey | undefined
    }) => Effect.Effect<ReadonlyArray<RewardRecord>, AccountsUnavailable>
    /** Makes rewards claimable that do not exist yet. */
    readonly grant: (rewards: ReadonlyArray<NewReward>) => Effect.Effect<void, AccountsUnavailable>

    readonly counted: (source: string) => Effect.Effect<Counted, AccountsUnavailable>
    /**
     * Adds amounts to pending rewards, making those that are new, and moves the source on from `from.to`. What is due by
     * `to.through` becomes claimable. All in one transaction.
     */
    readonly accrue: (
      source: string,
      from: Counted,
      to: Counted,
      additions: ReadonlyArray<NewReward>
    ) => Effect.Effect<void, Outpaced | AccountsUnavailable>

    /** Fixes where a reward is paid to unless that is fixed; answers where. */
    readonly direct: (reward_id: string, sub_account_address: string) => Effect.Effect<string, AccountsUnavailable>
    /** Forgets where an unclaimed reward is paid to, if it is there. */
    readonly undirect: (reward_id: string, sub_account_address: string) => Effect.Effect<void, AccountsUnavailable>
    /** Marks a claimable reward as claimed; whether this call did. */
    readonly claim: (
      reward_id: string,
      paid_to: string,
      claimed_time: number
    ) => Effect.Effect<boolean, AccountsUnavailable>
  }
>()("gateway/services/RewardStore") {}
