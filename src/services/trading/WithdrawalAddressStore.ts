/**
 * Port: the destinations that users list for their withdrawals, and the withdrawals that are being submitted.
 *
 * Guarantee: what an effect changed is durable when it succeeds, and every later read on all gateways that share the store
 * holds it. So of a withdrawal that calls `begin` before it reads the rules, and a change that is written before it reads
 * `open`, at least one sees the other.
 */
import { Context, type Effect, Schema } from "effect"
import type { WithdrawalAddress, WithdrawalRules } from "../../domain/WithdrawalAddress.ts"
import type { AccountsUnavailable } from "../identity/Accounts.ts"

/** The user lists as many destinations as he may. */
export class TooManyAddresses extends Schema.TaggedError<TooManyAddresses>()("TooManyAddresses", {
  max: Schema.Int
}) {}

export class WithdrawalAddressStore extends Context.Service<
  WithdrawalAddressStore,
  {
    /** The list is by time of creation, then destination. */
    readonly of: (user_id: string) => Effect.Effect<WithdrawalRules, AccountsUnavailable>
    /** Lists a destination; one that is listed already stays as it is. Answers what is listed. */
    readonly add: (
      user_id: string,
      address: WithdrawalAddress,
      max: number
    ) => Effect.Effect<WithdrawalAddress, AccountsUnavailable | TooManyAddresses>
    /** Whether the destination was listed. */
    readonly remove: (user_id: string, destination: string) => Effect.Effect<boolean, AccountsUnavailable>
    readonly restrict: (
      user_id: string,
      only_listed: boolean,
      loosens_time: number | undefined
    ) => Effect.Effect<void, AccountsUnavailable>
    /** Notes a withdrawal that is about to be checked and submitted; after `until_ms` it counts no more. */
    readonly begin: (user_id: string, attempt: string, until_ms: number) => Effect.Effect<void, AccountsUnavailable>
    /** The fate of the withdrawal is known. */
    readonly end: (user_id: string, attempt: string) => Effect.Effect<void, AccountsUnavailable>
    /** Attempts of a user that have begun, not ended, and still count. */
    readonly open: (user_id: string, now_ms: number) => Effect.Effect<ReadonlyArray<string>, AccountsUnavailable>
  }
>()("gateway/services/WithdrawalAddressStore") {}
