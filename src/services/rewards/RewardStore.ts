/**
 * Port: rewards of users.
 *
 * Guarantee: a reward exists once, even if it is granted repeatedly. Of concurrent claims one succeeds. Additions
 * count once, because they are stored together with the position up to which their source was read.
 * Source: docs/contract/rest-user.md#rewards, docs/contract/boundary.md#ownership,
 * docs/contract/exchange.md#referrals.
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
  /** Time from which it can be claimed, Unix ms. */
  readonly due_time: number
  readonly claimed_time: number | undefined
  /** Its destination, fixed before it is paid, so that a retry pays the same. */
  readonly paid_to: string | undefined
}
export type NewReward = Omit<RewardRecord, "status" | "claimed_time" | "paid_to">

/** Sort key of a reward, newest first. */
export interface RewardKey {
  readonly created_time: number
  readonly reward_id: string
}

/** Position up to which a source was counted. */
export interface Counted {
  /** Id of the last counted row of the history, in `stream`. */
  readonly to: number
  /** Identity of the stream from which the rows were written; absent: an older version did not store it. */
  readonly stream: string | undefined
  /** Engine time before which nothing can be added, Unix ms. */
  readonly through: number
}

/** Whether the ids of counted rows are of another stream. An older version counted the current one. */
export const isOtherStream = (from: Counted, to: Pick<Counted, "stream">): boolean =>
  from.stream !== undefined && from.stream !== to.stream

/** Another gateway has changed the position concurrently. Nothing was written. */
export class Outpaced extends Schema.TaggedError<Outpaced>()("Outpaced", {}) {
  readonly reason = "DatabaseUnavailable"
}

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
    /** Creates claimable rewards; existing ones are unchanged. */
    readonly grant: (rewards: ReadonlyArray<NewReward>) => Effect.Effect<void, AccountsUnavailable>

    readonly counted: (source: RewardKind) => Effect.Effect<Counted, AccountsUnavailable>
    /**
     * Adds amounts to pending rewards, creates new ones, and advances the source from `from.to`. Rewards due by
     * `to.through` become claimable. If `from` is of another stream than `to`, pending rewards of the source are deleted
     * before. All in one transaction.
     */
    readonly accrue: (
      source: RewardKind,
      from: Counted,
      to: Counted,
      additions: ReadonlyArray<NewReward>
    ) => Effect.Effect<void, Outpaced | AccountsUnavailable>

    /** Sets the destination of a reward unless it is set; returns the destination. */
    readonly direct: (reward_id: string, sub_account_address: string) => Effect.Effect<string, AccountsUnavailable>
    /** Clears the destination of an unclaimed reward, if it is the given one. */
    readonly undirect: (reward_id: string, sub_account_address: string) => Effect.Effect<void, AccountsUnavailable>
    /** Marks a claimable reward as claimed; returns whether this call did. */
    readonly claim: (
      reward_id: string,
      paid_to: string,
      claimed_time: number
    ) => Effect.Effect<boolean, AccountsUnavailable>
  }
>()("gateway/services/RewardStore") {}
