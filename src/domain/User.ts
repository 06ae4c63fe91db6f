/**
 * Users, their sub-accounts and API keys, and the authenticated caller.
 * Source: docs/contract/rest-user.md, docs/contract/authentication.md.
 */
import { Schema } from "effect"
import { Address } from "./Address.ts"
import { Scope } from "./Enumerations.ts"
import { field, measure } from "./Field.ts"
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

/** Whether a credential may access a sub-account, if that is one of its user. */
export const mayAccess = ({ bound_to }: Pick<Caller, "bound_to">, sub_account_address: string): boolean =>
  bound_to === undefined || bound_to.has(sub_account_address)

export const SubAccount = Schema.Struct({
  sub_account_address: field(Address, "Sub-account"),
  index: measure(Schema.Int, "Index of the sub-account, from 0; never reused", "position"),
  label: field(Schema.String, "Your label"),
  frozen: field(Schema.Boolean, "Whether the sub-account is frozen: no new or amended orders, cancels are allowed"),
  created_time: field(Millis, "Creation time")
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
  api_key_id: field(Uuid, "API key id"),
  public_key: field(Schema.String, "0x and 64 lower-case hex digits"),
  label: field(Schema.String, "Your label"),
  scopes: field(Schema.Array(Scope), "Permissions of the key"),
  sub_account_addresses: Schema.optionalKey(field(Schema.Array(Address), "Absent: all sub-accounts, later ones too")),
  ip_allowlist: field(Schema.Array(Schema.String), "CIDR blocks; empty: any address"),
  expires_time: Schema.optionalKey(field(Millis, "Expiry; absent: never")),
  require_body_hash: field(Schema.Boolean, "Whether requests with a body must sign X-BODY-SHA256"),
  created_time: field(Millis, "Creation time"),
  last_used_time: Schema.optionalKey(field(Millis, "Time of the last use"))
}).annotate({ identifier: "ApiKey" })
export type ApiKey = typeof ApiKey.Type

export const Me = Schema.Struct({
  user_id: field(Uuid, "User; derived from the root address, permanent"),
  root_address: field(Address, "Root address of the wallet"),
  rail: field(Rail, "Login method of the wallet: by address, or as a party"),
  party_id: Schema.optionalKey(field(Schema.String, "Party id, on the party rail", `alice::1220${"80".repeat(32)}`)),
  whitelisted: field(Schema.Boolean, "Whether the wallet is admitted"),
  activated: field(Schema.Boolean, "Whether the wallet has activated an access code"),
  badge: field(Schema.Boolean, "Whether the wallet has the badge of its access code"),
  multiplier_bps: measure(Schema.Int, "Multiplier of rewards; 10000 is one", "basis points"),
  referral_code: field(Schema.String, "Referral code of the user: 8 characters of Crockford base32"),
  scopes: field(Schema.Array(Scope), "Permissions of the credential in use"),
  created_time: field(Millis, "Creation time")
}).annotate({ identifier: "Me" })
export type Me = typeof Me.Type
