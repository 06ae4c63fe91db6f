/**
 * Port: wallets that the administrator has shut out.
 *
 * Guarantee: what is put is durable when it succeeds, and seen by every gateway that shares the store.
 * Source: docs/contract/rest-user.md#bans.
 */
import { Context, type Effect } from "effect"
import type { AccountsUnavailable } from "./Accounts.ts"

export interface Ban {
  readonly root_address: string
  readonly user_id: string
  /** `false`: lifted. What was issued before stays refused. */
  readonly banned: boolean
  readonly reason: string
  /** When it was set or lifted, Unix ms. */
  readonly changed_time: number
}

export class BanStore extends Context.Service<
  BanStore,
  {
    /** Sets the ban of a wallet, or lifts it. */
    readonly put: (ban: Ban) => Effect.Effect<void, AccountsUnavailable>
    /** Bans that were set or lifted at this time or later. */
    readonly since: (changed_time: number) => Effect.Effect<ReadonlyArray<Ban>, AccountsUnavailable>
  }
>()("gateway/services/BanStore") {}
