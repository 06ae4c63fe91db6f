/**
 * Policy: authentication of callers, by login, bearer token or API key. Failures count against the address of the client.
 * Source: docs/contract/authentication.md, docs/contract/rest-access.md#authorize.
 */
import { Clock, Context, Duration, Effect, identity, Layer } from "effect"
import { networkOf } from "../../domain/Ip.ts"
import type { Caller } from "../../domain/User.ts"
import { type Bucket, RateLimiter } from "../operations/RateLimiter.ts"
import type { History } from "../History.ts"
import type { Sequencer } from "../Sequencer.ts"
import type { Accounts } from "./Accounts.ts"
import * as ApiKeyAuthentication from "./ApiKeyAuthentication.ts"
import type { SignedRequest, SignedSocket } from "./ApiKeyAuthentication.ts"
import type { ApiKeys } from "./ApiKeys.ts"
import * as AuthAttemptLimiter from "./AuthAttemptLimiter.ts"
import {
  type AuthError,
  AuthLimited,
  AuthRefused,
  type AuthUnavailable,
  endedBy,
  type LoginReason,
  orUnavailable,
  refuse,
  type SignatureReason,
  type TokenReason
} from "./AuthErrors.ts"
import * as AuthFailureMetrics from "./AuthFailureMetrics.ts"
import type { BanList } from "./BanList.ts"
import { current } from "./CredentialLease.ts"
import type { NonceStore } from "./NonceStore.ts"
import * as SignatureChecks from "./SignatureChecks.ts"
import type { Signatures } from "./Signatures.ts"
import { type TokenFault, Tokens } from "./Tokens.ts"
import * as WalletLogin from "./WalletLogin.ts"
import type { Login } from "./WalletLogin.ts"

export interface AuthenticatorOptions {
  /** Accepted difference between a login's `timestamp_ms` and the server's time. Default 60 seconds. */
  readonly loginWindow?: Duration.Input
  /** The same for API keys. Default 30 seconds. The {@link NonceStore} must keep nonces for twice as long. */
  readonly apiKeyWindow?: Duration.Input
  /** Whether nonces of API keys are in the database of credentials, and may be lost with it. Default `true`. */
  readonly noncesInDatabase?: boolean
  /** Whether the error of a wrong signature explains what was verified. Default `false`, as in production. */
  readonly explainSignatures?: boolean
}

/** Completes when the gateway knows that no other one has ended the grant. */
const whileFresh = <E>(check: Effect.Effect<Caller, E>) =>
  Effect.tap(check, ({ grant }) => (grant.lease.isCurrent() ? Effect.void : orUnavailable(current(grant.lease))))

export class Authenticator extends Context.Service<
  Authenticator,
  {
    /**
     * Logs a wallet in; creates its user and sub-account 0 at the first login. The server limits the rate of the
     * address.
     */
    readonly login: (body: Login) => Effect.Effect<
      {
        readonly token: string
        readonly user_id: string
        readonly expires_at_ms: number
        readonly root_address: string
      },
      AuthError<LoginReason>
    >
    /** Ends the caller's token. */
    readonly logout: (caller: Caller) => Effect.Effect<void, AuthUnavailable>
    /** Authenticates a bearer token. Failures count against the client's address, like those of `signed`. */
    readonly bearer: (token: string, client_ip: string) => Effect.Effect<Caller, AuthError<TokenReason>>
    /**
     * Synchronous {@link bearer} for a token that was verified before and is valid; `undefined`: call {@link bearer}.
     */
    readonly bearerNow?: (token: string) => Caller | undefined
    /**
     * Authenticates a bearer token on a WebSocket. The connection counts the failures.
     * Source: docs/contract/websocket.md#limits, docs/contract/limits.md.
     */
    readonly bearerSocket: (token: string) => Effect.Effect<Caller, AuthError<TokenReason>>
    /**
     * Authenticates a signed request. The nonce is not used yet, so that the rate limit of the key can be checked
     * first.
     */
    readonly signed: (
      request: SignedRequest
    ) => Effect.Effect<
      { readonly caller: Caller; readonly claimNonce: Effect.Effect<void, AuthError<SignatureReason>> },
      AuthError<SignatureReason>
    >
    /** Authenticates a WebSocket with an API key; uses the nonce. */
    readonly signedSocket: (
      frame: SignedSocket
    ) => Effect.Effect<Caller, AuthError<SignatureReason | "InsufficientScope">>
    /** Public keys that verify tokens, as a JSON Web Key Set. */
    readonly jwks: { readonly keys: ReadonlyArray<Record<string, string>> }
  }
>()("gateway/services/Authenticator") {
  static readonly layer = (
    options: AuthenticatorOptions
  ): Layer.Layer<
    Authenticator,
    never,
    Accounts | ApiKeys | BanList | History | NonceStore | RateLimiter | Sequencer | Signatures | Tokens
  > => Layer.effect(Authenticator, make(options))
}

const faultOf = (fault: TokenFault) =>
  fault === "BannedUser" ? endedBy("banned") : fault === "RevokedToken" ? endedBy("revoked") : refuse(fault)

const make = Effect.fnUntraced(function* (options: AuthenticatorOptions) {
  const clock = yield* Clock.Clock
  const limiter = yield* RateLimiter
  const tokens = yield* Tokens
  const attempts = AuthAttemptLimiter.make()
  const counted = yield* AuthFailureMetrics.counting

  const check = yield* SignatureChecks.make(options.explainSignatures ?? false)
  const login = yield* WalletLogin.make(check, Duration.toMillis(options.loginWindow ?? "60 seconds"))
  const apiKey = yield* ApiKeyAuthentication.make(check, {
    window_ms: Duration.toMillis(options.apiKeyWindow ?? "30 seconds"),
    noncesInDatabase: options.noncesInDatabase ?? true
  })

  /** Refuses an address with too many failures before any signature is verified; counts the failures of `check`. */
  const guarded =
    (bucket: Bucket, client_ip: string) =>
    <A, E>(check: Effect.Effect<A, E>): Effect.Effect<A, E | AuthLimited> =>
      attempts.run(`${bucket}|${networkOf(client_ip)}`, {
        left: limiter.peek(bucket, client_ip),
        check,
        isFailure: (error) => error instanceof AuthRefused,
        count: limiter.take(bucket, client_ip),
        refuse: (rate) => new AuthLimited({ rate })
      })

  const verifyToken = (token: string) =>
    Effect.flatMap(tokens.verify(token), (verdict) =>
      typeof verdict === "string" ? Effect.fail(faultOf(verdict)) : Effect.succeed(verdict)
    )
  const missing = Effect.suspend(() => Effect.fail(refuse("MissingToken")))

  type TokenCheck = Effect.Effect<Caller, AuthError<TokenReason>>
  const holderOf = (token: string, around: (check: TokenCheck) => TokenCheck): TokenCheck =>
    Effect.clockWith((clock) => {
      const known = tokens.known(token, clock.currentTimeMillisUnsafe())
      if (typeof known === "object") return Effect.succeed(known)
      const check =
        known !== undefined
          ? Effect.suspend(() => Effect.fail(faultOf(known)))
          : token === ""
            ? missing
            : verifyToken(token)
      return counted(around(check))
    })

  return Authenticator.of({
    login: (body) => counted(login(body)),
    logout: (caller) =>
      orUnavailable(
        tokens.revoke({ jti: caller.credential, user_id: caller.user_id, expires_at_ms: caller.expires_at_ms! })
      ),
    bearer: (token, client_ip) => holderOf(token, guarded("auth-failures", client_ip)),
    bearerNow: (token) => {
      const known = tokens.known(token, clock.currentTimeMillisUnsafe())
      return typeof known === "object" ? known : undefined
    },
    bearerSocket: (token) => whileFresh(holderOf(token, identity)),
    signed: (request) =>
      Effect.map(
        counted(guarded("auth-failures", request.client_ip)(apiKey.request(request))),
        ({ caller, claimNonce }) => ({ caller, claimNonce: counted(claimNonce) })
      ),
    signedSocket: (frame) => whileFresh(counted(apiKey.socket(frame))),
    jwks: tokens.jwks
  })
})
