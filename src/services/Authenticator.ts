/**
 * Policy: who is calling. Signature, clock, nonce and revocation decide; the order of the checks is that of contract 3.2,
 * 4.4 and 4.8.
 */
import { Context, type Effect, Schema } from "effect"
import type { Details } from "../domain/Reason.ts"
import { Reason } from "../domain/Reason.ts"
import type { Caller } from "../domain/User.ts"
import type { Rate } from "./RateLimiter.ts"

/** The credentials were not accepted. `details` holds facts that the caller may know (server time, skew). */
export class AuthRefused extends Schema.TaggedError<AuthRefused>()("AuthRefused", {
  reason: Reason,
  details: Schema.Record(Schema.String, Schema.Unknown)
}) {
  get facts(): Details {
    return this.details as Details
  }
}
/** A rate limit stands before, or after, the check of a signature. */
export class AuthLimited extends Schema.TaggedError<AuthLimited>()("AuthLimited", { rate: Schema.Unknown }) {
  get decision(): Rate {
    return this.rate as Rate
  }
}
/** A store or backend that the check needs does not answer. */
export class AuthUnavailable extends Schema.TaggedError<AuthUnavailable>()("AuthUnavailable", {
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export type AuthError = AuthRefused | AuthLimited | AuthUnavailable

/** The API-key headers of a request as they came; absent ones are `undefined`. */
export interface SignedRequest {
  readonly method: string
  /** Request target, byte for byte. */
  readonly uri: string
  readonly api_key: string | undefined
  readonly signature: string | undefined
  readonly timestamp_ms: string | undefined
  readonly nonce: string | undefined
  /** X-BODY-SHA256 as sent. */
  readonly body_sha256: string | undefined
  /** SHA-256 of the body that arrived, lower-case hex; `undefined`: the request has none. */
  readonly actual_body_sha256: string | undefined
  readonly client_ip: string
}

export class Authenticator extends Context.Service<
  Authenticator,
  {
    readonly login: (
      body: {
        readonly public_key: string
        readonly signature: string
        readonly timestamp_ms: number
        readonly nonce: string
        readonly verifying_key: string | undefined
      },
      client_ip: string
    ) => Effect.Effect<
      {
        readonly token: string
        readonly user_id: string
        readonly expires_at_ms: number
        readonly root_address: string
      },
      AuthError
    >
    readonly logout: (caller: Caller) => Effect.Effect<void, AuthUnavailable>
    /** Whoever holds the token. */
    readonly bearer: (token: string, client_ip: string) => Effect.Effect<Caller, AuthError>
    /** Whoever signed the request; the nonce is not claimed yet, so that the rate of the key can be checked first. */
    readonly signed: (
      request: SignedRequest
    ) => Effect.Effect<{ readonly caller: Caller; readonly claimNonce: Effect.Effect<void, AuthError> }, AuthError>
    /** WebSocket auth with an API key; claims the nonce. */
    readonly signedSocket: (frame: {
      readonly api_key: string
      readonly signature: string
      readonly timestamp_ms: number
      readonly nonce: string
      readonly client_ip: string
    }) => Effect.Effect<Caller, AuthError>
    /** Admins. */
    readonly basic: (username: string, password: string, client_ip: string) => Effect.Effect<void, AuthError>
    /** Calls back whenever a credential (jti or api_key_id) is refused from now on. */
    readonly onRevoked: (listener: (credential: string) => void) => Effect.Effect<void>
    /** Public keys that verify tokens, as a JSON Web Key Set. */
    readonly jwks: { readonly keys: ReadonlyArray<Record<string, string>> }
  }
>()("gateway/services/Authenticator") {}
