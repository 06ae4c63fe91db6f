/**
 * Port: user data owned by the gateway: wallets, keys of parties, admission, API keys, labels, revocations. Gateways read
 * revocations and changes of keys through `CredentialChangeStore`.
 *
 * Guarantee: a write is durable when it succeeds. Unique values (a public key, a wallet) are unique over all gateways
 * that share the store.
 * Source: docs/contract/authentication.md, docs/contract/boundary.md#ownership.
 */
import { Context, type Effect, Schema } from "effect"
import type { Scope } from "../../domain/Enumerations.ts"
import type { Rail } from "../../domain/Identity.ts"

/** The database does not respond. */
export class AccountsUnavailable extends Schema.TaggedError<AccountsUnavailable>()("AccountsUnavailable", {
  cause: Schema.optionalKey(Schema.Defect())
}) {
  readonly reason = "DatabaseUnavailable"
}
/** The public key is or was registered: a key is registered only once in the whole service. */
export class KeyRegistered extends Schema.TaggedError<KeyRegistered>()("KeyRegistered", {}) {}
/** The user holds as many keys as allowed. */
export class TooManyKeys extends Schema.TaggedError<TooManyKeys>()("TooManyKeys", { max: Schema.Int }) {}

/** The benefits of an access code for a wallet. */
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
  /** Whether an access code was redeemed, possibly before the first login. */
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

/**
 * The fields that a change of an API key writes. Absent fields keep their value, including one from a concurrent
 * change.
 */
export type ApiKeyPatch = Partial<
  Pick<
    ApiKeyRecord,
    "label" | "scopes" | "sub_account_addresses" | "ip_allowlist" | "expires_time" | "require_body_hash" | "revoked"
  >
>

type Result<A, E = never> = Effect.Effect<A, E | AccountsUnavailable>

export class Accounts extends Context.Service<
  Accounts,
  {
    /** Creates the user at the first login; later calls return the existing user. */
    readonly ensureUser: (user: {
      readonly user_id: string
      readonly root_address: string
      readonly rail: Rail
      readonly party_id: string | undefined
    }) => Result<{ readonly user: User; readonly created: boolean }>
    readonly user: (user_id: string) => Result<User | undefined>
    /** The user who holds a referral code. */
    readonly userOfCode: (referral_code: string) => Result<User | undefined>
    /** Marks that sub-account 0 exists, so that later logins need no backend. */
    readonly markReady: (user_id: string) => Result<void>
    readonly isReady: (user_id: string) => Result<boolean>

    /** Key of a party, 32 bytes as hex; bound by its first valid login, for ever. */
    readonly partyKey: (party_id: string) => Result<string | undefined>
    readonly bindPartyKey: (party_id: string, public_key: string) => Result<void>

    readonly isWhitelisted: (root_address: string) => Result<boolean>
    readonly setWhitelisted: (root_address: string, whitelisted: boolean) => Result<void>
    /**
     * Whitelists a wallet and stores the benefits of its access code, in one transaction; `false` if it is
     * whitelisted or activated already. The wallet need not have logged in.
     */
    readonly activate: (root_address: string, activation: Activation) => Result<boolean>
    /** The benefits of the wallet's access code; `undefined` without one. */
    readonly activation: (root_address: string) => Result<Activation | undefined>

    /** Keys of a user, unordered, without revoked ones. */
    readonly apiKeys: (user_id: string) => Result<ReadonlyArray<ApiKeyRecord>>
    /** The key with these raw bytes (hex), including revoked ones. */
    readonly apiKeyOf: (public_key: string) => Result<ApiKeyRecord | undefined>
    /** Creates a key unless its public key was ever registered, or the user has `max` unrevoked keys. */
    readonly createApiKey: (key: ApiKeyRecord, max: number) => Result<void, KeyRegistered | TooManyKeys>
    /** Writes the fields of a patch and returns the record; `undefined` if the key does not exist or is revoked. */
    readonly changeApiKey: (api_key_id: string, patch: ApiKeyPatch) => Result<ApiKeyRecord | undefined>
    /** Sets the time of last use, which never decreases. */
    readonly touchApiKey: (api_key_id: string, at_ms: number) => Result<void>

    /** Labels of a user's sub-accounts, by address. */
    readonly labels: (user_id: string) => Result<ReadonlyMap<string, string>>
    readonly setLabel: (user_id: string, sub_account_address: string, label: string) => Result<void>

    /** Revokes a token; stored for as long again after `expires_at_ms` as a token is valid. */
    readonly revokeToken: (jti: string, expires_at_ms: number) => Result<void>
  }
>()("gateway/services/Accounts") {}
