/**
 * Port: what the gateway itself knows of users: wallets, keys of parties, admission, API keys, labels, revocations.
 *
 * Guarantee: every write is durable when it succeeds; unique things (a public key, a wallet) are unique over all gateways
 * that share the store. Source: docs/contract/authentication.md, docs/contract/boundary.md#ownership.
 */
import { Context, type Effect, Schema } from "effect"
import type { Scope } from "../../domain/Enumerations.ts"
import type { Rail } from "../../domain/Identity.ts"

/** The database does not answer. */
export class AccountsUnavailable extends Schema.TaggedError<AccountsUnavailable>()("AccountsUnavailable", {
  cause: Schema.optionalKey(Schema.Defect())
}) {}
/** The public key is, or was, registered: a key is registered once, service-wide, for ever. */
export class KeyRegistered extends Schema.TaggedError<KeyRegistered>()("KeyRegistered", {}) {}
/** The user holds as many keys as allowed. */
export class TooManyKeys extends Schema.TaggedError<TooManyKeys>()("TooManyKeys", { max: Schema.Int }) {}

/** What an access code gave a wallet. */
export interface Activation {
  readonly badge: boolean
  readonly multiplier_bps: number
}

export interface User {
  readonly user_id: string
  readonly root_address: string
  readonly rail: Rail
  readonly party_id: string | undefined
  readonly referral_code: string
  /** Whether an access code was used; it may have been before the first login. */
  readonly activated: boolean
  readonly badge: boolean
  readonly multiplier_bps: number
  readonly created_time: number
}

export interface ApiKeyRecord {
  readonly api_key_id: string
  readonly user_id: string
  /** 32 bytes as lower-case hex, without 0x. */
  readonly public_key: string
  readonly label: string
  readonly scopes: ReadonlyArray<Scope>
  readonly sub_account_addresses: ReadonlyArray<string> | undefined
  readonly ip_allowlist: ReadonlyArray<string>
  readonly expires_time: number | undefined
  readonly require_body_hash: boolean
  readonly created_time: number
  readonly last_used_time: number | undefined
  readonly revoked: boolean
}

/** What is written of a change of an API key; absent: stays as it is, whatever another change has made of it meanwhile. */
export type ApiKeyPatch = Partial<
  Pick<
    ApiKeyRecord,
    "label" | "scopes" | "sub_account_addresses" | "ip_allowlist" | "expires_time" | "require_body_hash" | "revoked"
  >
>

type Answer<A, E = never> = Effect.Effect<A, E | AccountsUnavailable>

export class Accounts extends Context.Service<
  Accounts,
  {
    /** Creates the user at its first login; later ones answer what is there. */
    readonly ensureUser: (user: {
      readonly user_id: string
      readonly root_address: string
      readonly rail: Rail
      readonly party_id: string | undefined
    }) => Answer<{ readonly user: User; readonly created: boolean }>
    readonly user: (user_id: string) => Answer<User | undefined>
    /** The user who holds a referral code. */
    readonly userOfCode: (referral_code: string) => Answer<User | undefined>
    /** Marks that sub-account 0 exists, so that later logins need no backend. */
    readonly markReady: (user_id: string) => Answer<void>
    readonly isReady: (user_id: string) => Answer<boolean>

    /** Key of a party, 32 bytes as hex; bound by its first valid login, for ever. */
    readonly partyKey: (party_id: string) => Answer<string | undefined>
    readonly bindPartyKey: (party_id: string, public_key: string) => Answer<void>

    readonly isWhitelisted: (root_address: string) => Answer<boolean>
    readonly setWhitelisted: (root_address: string, whitelisted: boolean) => Answer<void>
    /**
     * Whitelists a wallet and stores what its access code gave, both or nothing; `false` where it is whitelisted or
     * activated already. The wallet need not have logged in.
     */
    readonly activate: (root_address: string, activation: Activation) => Answer<boolean>
    /** What an access code gave the wallet; `undefined` where none was used. */
    readonly activation: (root_address: string) => Answer<Activation | undefined>

    /** Keys of a user, in no order; revoked ones are left out. */
    readonly apiKeys: (user_id: string) => Answer<ReadonlyArray<ApiKeyRecord>>
    /** The key with these raw bytes (hex), revoked ones too. */
    readonly apiKeyOf: (public_key: string) => Answer<ApiKeyRecord | undefined>
    /** Creates a key unless its public key was ever registered, or the user holds `max` unrevoked ones. */
    readonly createApiKey: (key: ApiKeyRecord, max: number) => Answer<void, KeyRegistered | TooManyKeys>
    /** Writes the fields of a patch and answers the record; `undefined`: there is no such key, or it is revoked for good. */
    readonly changeApiKey: (api_key_id: string, patch: ApiKeyPatch) => Answer<ApiKeyRecord | undefined>
    /** Keys changed or revoked at `since` (Unix ms, by the clock of the gateway that did) or later. */
    readonly changedApiKeys: (since: number) => Answer<ReadonlyArray<ApiKeyRecord>>
    /** Sets the time of last use, which never goes back. */
    readonly touchApiKey: (api_key_id: string, at_ms: number) => Answer<void>

    /** Labels of a user's sub-accounts, by address. */
    readonly labels: (user_id: string) => Answer<ReadonlyMap<string, string>>
    readonly setLabel: (user_id: string, sub_account_address: string, label: string) => Answer<void>

    /** Refuses a token from now on; kept until `expires_at_ms`. */
    readonly revokeToken: (jti: string, expires_at_ms: number) => Answer<void>
    /** Tokens revoked at `since` (Unix ms, by the clock of the gateway that did) or later, and not yet expired. */
    readonly revokedTokens: (
      since: number
    ) => Answer<ReadonlyArray<{ readonly jti: string; readonly expires_at_ms: number }>>
  }
>()("gateway/services/Accounts") {}
