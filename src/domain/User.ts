/**
 * Users, their sub-accounts and API keys, and the authenticated caller.
 * Source: docs/contract/rest-user.md, docs/contract/authentication.md.
 */
import { Schema } from "effect"
import { Address } from "./Address.ts"
import { Scope } from "./Enumerations.ts"
import type { Grant } from "./Grant.ts"
import { Rail, Uuid } from "./Identity.ts"
import { Millis } from "./Time.ts"

export const allScopes: ReadonlyArray<Scope> = Scope.literals

/** Context key of a request's {@link Caller}. */
export const CALLER_KEY = "gateway/http/CurrentCaller"

/** The user and the credential of an authenticated request. */
export interface Caller {
  readonly user_id: string
  readonly root_address: string
  readonly rail: Rail
  readonly via: "token" | "api-key"
  /** `jti` of the token, or `api_key_id`: the key of the rate bucket, and the id that a revocation names. */
  readonly credential: string
  readonly scopes: ReadonlySet<Scope>
  /** Sub-accounts that the credential may access; `undefined`: all of the user. */
  readonly bound_to: ReadonlySet<Address> | undefined
  /** Unix ms; `undefined`: a key without expiry. */
  readonly expires_at_ms: number | undefined
  /** Validity of the credential. Code checks it in the turn of the event loop in which an effect happens. */
  readonly grant: Grant
}

export const SubAccount = Schema.Struct({
  sub_account_address: Address,
  index: Schema.Int,
  label: Schema.String,
  frozen: Schema.Boolean,
  created_time: Millis
}).annotate({ identifier: "SubAccount" })
export type SubAccount = typeof SubAccount.Type

/** A sub-account as the backend reports it. The gateway stores the labels. */
export interface SubAccountState {
  readonly sub_account_address: Address
  readonly user_id: string
  readonly root_address: Address
  readonly index: number
  readonly frozen: boolean
  readonly deleted: boolean
  readonly created_time: number
}

export const ApiKey = Schema.Struct({
  api_key_id: Uuid,
  public_key: Schema.String.annotate({ description: "0x and 64 lower-case hex digits" }),
  label: Schema.String,
  scopes: Schema.Array(Scope),
  sub_account_addresses: Schema.optionalKey(
    Schema.Array(Address).annotate({ description: "Absent: all sub-accounts, later ones too" })
  ),
  ip_allowlist: Schema.Array(Schema.String).annotate({ description: "CIDR blocks; empty: any address" }),
  expires_time: Schema.optionalKey(Millis),
  require_body_hash: Schema.Boolean,
  created_time: Millis,
  last_used_time: Schema.optionalKey(Millis)
}).annotate({ identifier: "ApiKey" })
export type ApiKey = typeof ApiKey.Type

export const Me = Schema.Struct({
  user_id: Uuid,
  root_address: Address,
  rail: Rail,
  party_id: Schema.optionalKey(Schema.String),
  whitelisted: Schema.Boolean,
  activated: Schema.Boolean,
  badge: Schema.Boolean,
  multiplier_bps: Schema.Int,
  referral_code: Schema.String,
  scopes: Schema.Array(Scope).annotate({ description: "Of the credential in use" }),
  created_time: Millis
}).annotate({ identifier: "Me" })
export type Me = typeof Me.Type
