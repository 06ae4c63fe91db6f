/**
 * Port: the withdrawal destinations of users, and the withdrawals in progress.
 *
 * Guarantee: a write is durable when it succeeds, and every later read on all gateways that share the store includes
 * it. So if a withdrawal calls `begin` before it reads the rules, and a change is written before it reads `open`, at
 * least one of them sees the other.
 */
import { Context, type Effect, Schema } from "effect"
import type { WithdrawalAddress, WithdrawalRules } from "../../domain/WithdrawalAddress.ts"
import type { AccountsUnavailable } from "../identity/Accounts.ts"

/** The user has the maximum number of destinations. */
export class TooManyAddresses extends Schema.TaggedError<TooManyAddresses>()("TooManyAddresses", {
  max: Schema.Int
}) {}

export class WithdrawalAddressStore extends Context.Service<
  WithdrawalAddressStore,
  {
    /** The list is ordered by time of creation, then destination. */
    readonly of: (user_id: string) => Effect.Effect<WithdrawalRules, AccountsUnavailable>
    /** Adds a destination, unless it is listed already, and returns the listed one. */
    readonly add: (
      user_id: string,
      address: WithdrawalAddress,
      max: number
    ) => Effect.Effect<WithdrawalAddress, AccountsUnavailable | TooManyAddresses>
    /** Removes a destination; returns whether it was listed. */
    readonly remove: (user_id: string, destination: string) => Effect.Effect<boolean, AccountsUnavailable>
    readonly restrict: (
      user_id: string,
      only_listed: boolean,
      loosens_time: number | undefined
    ) => Effect.Effect<void, AccountsUnavailable>
    /** Records a withdrawal that is about to be checked and submitted. */
    readonly begin: (user_id: string, attempt: string) => Effect.Effect<void, AccountsUnavailable>
    /** Ends an attempt: the withdrawal is not in progress any more. */
    readonly end: (user_id: string, attempt: string) => Effect.Effect<void, AccountsUnavailable>
    /** Attempts of a user that have begun and not ended. */
    readonly open: (user_id: string) => Effect.Effect<ReadonlyArray<string>, AccountsUnavailable>
  }
>()("gateway/services/WithdrawalAddressStore") {}
