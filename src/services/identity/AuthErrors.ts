/** Errors of authentication: why credentials are refused, and why they cannot be checked now. */
import { Effect, Schema } from "effect"
import { type Grant, refusalOf } from "../../domain/Grant.ts"
import { Rate } from "../../domain/RateHeaders.ts"
import { Details, Reason } from "../../domain/Reason.ts"

/** Why a bearer token is refused. */
export type TokenReason = "MissingToken" | "InvalidToken" | "ExpiredToken" | "RevokedToken"
/** Why a signature of an API key is refused. */
export type SignatureReason =
  | "ExpiredApiKey"
  | "InvalidNonce"
  | "InvalidPublicKey"
  | "InvalidSignature"
  | "IpNotAllowed"
  | "MissingToken"
  | "NonceReused"
  | "RevokedToken"
  | "StaleTimestamp"
  | "UnknownApiKey"
/** Why a login is refused. */
export type LoginReason =
  "InvalidNonce" | "InvalidPublicKey" | "InvalidSignature" | "NonceReused" | "StaleTimestamp" | "UnknownPartyKey"
/** Why credentials of any kind are refused. */
export type AuthReason = TokenReason | SignatureReason | LoginReason | "BadCredentials" | "InsufficientScope"

/** The credentials were not accepted. `details` contains facts for the caller (server time, skew). */
export class AuthRefused<out R extends Reason = AuthReason> extends Schema.TaggedError<AuthRefused>()("AuthRefused", {
  reason: Reason,
  details: Details,
  /** Replaces the text of the catalogue. */
  text: Schema.optionalKey(Schema.String)
}) {
  declare readonly reason: R
  constructor({ reason, ...rest }: { readonly reason: R; readonly details: Details; readonly text?: string }) {
    super({ reason, ...rest })
  }
}
/** A rate limit refused the authentication, before or after the check of a signature. */
export class AuthLimited extends Schema.TaggedError<AuthLimited>()("AuthLimited", { rate: Rate }) {
  readonly reason = "RateLimitExceeded"
}
/** A store or backend that the check needs does not respond. */
export class AuthUnavailable extends Schema.TaggedError<AuthUnavailable>()("AuthUnavailable", {
  cause: Schema.optionalKey(Schema.Defect())
}) {
  readonly reason = "DatabaseUnavailable"
}

export type AuthError<R extends AuthReason = AuthReason> = AuthRefused<R> | AuthLimited | AuthUnavailable

/** The error of refused credentials; `text` replaces that of the catalogue. */
export const refuse = <R extends AuthReason>(reason: R, details: Details = {}, text?: string) =>
  new AuthRefused({ reason, details, ...(text === undefined ? {} : { text }) })

/** The error of a credential whose grant has ended. */
export const endedBy = (why: NonNullable<Grant["ended"]>): AuthRefused<"RevokedToken"> => {
  const { details, message, reason } = refusalOf(why)
  return refuse(reason, details, message)
}
/** The error if the grant has ended; `undefined` if it is valid. Synchronous. */
export const refusalOfGrant = ({ ended }: Grant): AuthRefused<"RevokedToken"> | undefined =>
  ended === undefined ? undefined : endedBy(ended)
/** Fails if the grant has ended. */
export const inForce = (grant: Grant): Effect.Effect<void, AuthRefused<"RevokedToken">> =>
  Effect.suspend(() => {
    const refused = refusalOfGrant(grant)
    return refused === undefined ? Effect.void : Effect.fail(refused)
  })

/** Fails, because a store or backend does not respond. */
export const unavailable = (cause: unknown): Effect.Effect<never, AuthUnavailable> =>
  Effect.fail(new AuthUnavailable({ cause }))
/** A store failure is not a verdict on the credentials. */
export const orUnavailable = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, AuthUnavailable> =>
  Effect.catch(effect, unavailable)
