/**
 * Port: who referred whom.
 *
 * Guarantee: a user has one referrer, for ever, and no chain of referrers leads back to where it began, however many are
 * set at once on all gateways that share the store. Source: docs/contract/rest-user.md#referral.
 */
import { Context, type Effect, Schema } from "effect"
import type { AccountsUnavailable } from "../identity/Accounts.ts"

/** The user has a referrer already. */
export class ReferrerSet extends Schema.TaggedError<ReferrerSet>()("ReferrerSet", { referrer_id: Schema.String }) {}
/** The referrer is the user, or was referred by it, directly or not. */
export class ReferralLoop extends Schema.TaggedError<ReferralLoop>()("ReferralLoop", {}) {}

export interface Referrer {
  readonly referrer_id: string
  /** Since when, Unix ms: fees from then on count. */
  readonly since: number
}

export class ReferralStore extends Context.Service<
  ReferralStore,
  {
    readonly referrer: (user_id: string) => Effect.Effect<Referrer | undefined, AccountsUnavailable>
    /** The referrers of those users who have one. */
    readonly referrers: (
      user_ids: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyMap<string, Referrer>, AccountsUnavailable>
    /** Names the referrer of a user. */
    readonly refer: (
      user_id: string,
      referrer: Referrer
    ) => Effect.Effect<void, ReferrerSet | ReferralLoop | AccountsUnavailable>
    /** How many users named this one. */
    readonly downline: (user_id: string) => Effect.Effect<number, AccountsUnavailable>
  }
>()("gateway/services/ReferralStore") {}
