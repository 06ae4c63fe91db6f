/**
 * Port: the changes of credentials by every gateway that shares the store, in one read.
 *
 * Guarantee: a read contains every change that was durable before the read began, and that is as recent as the read asks.
 * Source: docs/contract/authentication.md#fresh-gateways.
 */
import { Context, type Effect } from "effect"
import type { AccountsUnavailable, ApiKeyRecord } from "./Accounts.ts"
import type { Ban } from "./BanStore.ts"

/** A token that was revoked. */
export interface RevokedToken {
  readonly jti: string
  readonly expires_at_ms: number
}
/** A key after its last change. */
export interface ChangedKey {
  readonly key: ApiKeyRecord
  /** Unix ms; a later change of the key has a later time. */
  readonly changed_time: number
}
export interface ChangedCredentials {
  readonly tokens: ReadonlyArray<RevokedToken>
  readonly keys: ReadonlyArray<ChangedKey>
  /** Bans set or lifted. */
  readonly bans: ReadonlyArray<Ban>
  /**
   * Unix ms: changes that were confirmed up to then may be lost, because the store was replaced by a copy. Tokens issued up
   * to then are not trusted, nor are logins signed up to then. 0: nothing is lost.
   */
  readonly untrusted_until_ms: number
  /** When the read began, Unix ms: by the clock of the store, or by that of the gateway if it is earlier. */
  readonly read_ms: number
}

export class CredentialChangeStore extends Context.Service<
  CredentialChangeStore,
  {
    /**
     * The changes at `since` (Unix ms, by the later of the clocks of the store and of the gateway that made the change) or
     * later. `undefined`: what a gateway needs at its start, every revoked token and every ban; it has no keys in memory
     * yet. Tokens are among them for as long after their expiry as they were valid: a clock that is ahead for some time
     * makes none valid again.
     */
    readonly changes: (since: number | undefined) => Effect.Effect<ChangedCredentials, AccountsUnavailable>
  }
>()("gateway/services/CredentialChangeStore") {}
