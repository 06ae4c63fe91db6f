/**
 * Port: referrals.
 *
 * Guarantee: a user has at most one referrer, permanently. Chains of referrers have no cycle, even under concurrent
 * writes on all gateways that share the store.
 * Source: docs/contract/rest-user.md#referral.
 */
import { Context, type Effect, Schema } from "effect"
import type { AccountsUnavailable } from "../identity/Accounts.ts"

/** The user has a referrer already. */
export class ReferrerSet extends Schema.TaggedError<ReferrerSet>()("ReferrerSet", { referrer_id: Schema.String }) {}
/** The referrer is the user itself, or was referred by it, directly or indirectly. */
export class ReferralLoop extends Schema.TaggedError<ReferralLoop>()("ReferralLoop", {}) {}

export interface Referrer {
  readonly referrer_id: string
  /** Start of the referral, Unix ms: later fees count. */
  readonly since: number
}

export class ReferralStore extends Context.Service<
  ReferralStore,
  {
    readonly referrer: (user_id: string) => Effect.Effect<Referrer | undefined, AccountsUnavailable>
    /** The referrers of the given users; users without one are omitted. */
    readonly referrers: (
      user_ids: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyMap<string, Referrer>, AccountsUnavailable>
    /** Sets the referrer of a user. */
    readonly refer: (
      user_id: string,
      referrer: Referrer
    ) => Effect.Effect<void, ReferrerSet | ReferralLoop | AccountsUnavailable>
    /** Number of users referred by this one. */
    readonly downline: (user_id: string) => Effect.Effect<number, AccountsUnavailable>
  }
>()("gateway/services/ReferralStore") {}
