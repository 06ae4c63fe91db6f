/**
 * Port: wallets banned by the administrator. Gateways read them through `CredentialChangeStore`.
 *
 * Guarantee: a write is durable when it succeeds, and visible to every gateway that shares the store.
 * Source: docs/contract/rest-user.md#bans.
 */
import { Context, type Effect } from "effect"
import type { AccountsUnavailable } from "./Accounts.ts"

export interface Ban {
  readonly root_address: string
  readonly user_id: string
  /** `false`: lifted. Credentials issued before remain refused. */
  readonly banned: boolean
  readonly reason: string
  /** Time of the ban or its lifting, Unix ms. */
  readonly changed_time: number
}

export class BanStore extends Context.Service<
  BanStore,
  {
    /** The current or lifted ban of a wallet. */
    readonly get: (root_address: string) => Effect.Effect<Ban | undefined, AccountsUnavailable>
    /**
     * Sets or lifts the ban of a wallet, and returns it as stored: a later change has a later `changed_time`, whichever
     * gateway makes it.
     */
    readonly put: (ban: Ban) => Effect.Effect<Ban, AccountsUnavailable>
  }
>()("gateway/services/BanStore") {}
