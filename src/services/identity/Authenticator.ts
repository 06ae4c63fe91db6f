/**
 * Policy: authentication, by signature, clock, nonce and revocation. The checks follow the order of
 * docs/contract/rest-access.md#authorize, docs/contract/authentication.md#api-keys, #websocket-authentication.
 */
import { Clock, Context, Data, Duration, Effect, identity, Layer, Schema } from "effect"
import { Hex } from "effect/encoding"
import { rootOfKey, rootOfParty, subAccountAddress, userIdOf } from "../../domain/Address.ts"
import { isPublicKey } from "../../domain/Ed25519.ts"
import { fieldText } from "../../domain/InputText.ts"
import { type Grant, type GrantEnd, refusalOf } from "../../domain/Grant.ts"
import { networkOf } from "../../domain/Ip.ts"
import {
  bytesOfPublicKey,
  bytesOfSignature,
  isKeyOfParty,
  isNonce,
  parseParty,
  type Rail
} from "../../domain/Identity.ts"
import type { Details, Reason } from "../../domain/Reason.ts"
import type { Caller } from "../../domain/User.ts"
import { Accounts } from "./Accounts.ts"
import { type ActiveKey, ApiKeys } from "./ApiKeys.ts"
import * as AuthAttemptLimiter from "./AuthAttemptLimiter.ts"
import * as AuthFailureMetrics from "./AuthFailureMetrics.ts"
import { BanList } from "./BanList.ts"
import { current } from "./CredentialLease.ts"
import { commandIdOf } from "../operations/Ids.ts"
import { type NonceSpace, NonceStore } from "./NonceStore.ts"
import { type Bucket, RateLimiter, type Rate } from "../operations/RateLimiter.ts"
import { Sequencer } from "../Sequencer.ts"
import * as SignatureDiagnostics from "./SignatureDiagnostics.ts"
import { Signatures } from "./Signatures.ts"
import { type TokenFault, Tokens } from "./Tokens.ts"

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
export class AuthRefused<out R extends Reason = AuthReason> extends Data.TaggedError("AuthRefused")<{
  readonly reason: Reason
  readonly details: Details
  /** Replaces the text of the catalogue. */
  readonly text?: string | undefined
}> {
  declare readonly reason: R
  constructor({
    details,
    reason,
    text
  }: {
    readonly reason: R
    readonly details: Details
    readonly text?: string | undefined
  }) {
    super({ reason, details, ...(text === undefined ? {} : { text }) })
  }
}
/** A rate limit refused the authentication, before or after the check of a signature. */
export class AuthLimited extends Data.TaggedError("AuthLimited")<{ readonly rate: Rate }> {
  readonly reason = "RateLimitExceeded"
}
/** A store or backend that the check needs does not respond. */
export class AuthUnavailable extends Schema.TaggedError<AuthUnavailable>()("AuthUnavailable", {
  cause: Schema.optionalKey(Schema.Defect())
}) {
  readonly reason = "DatabaseUnavailable"
}

export type AuthError<R extends AuthReason = AuthReason> = AuthRefused<R> | AuthLimited | AuthUnavailable

/** The API-key headers of a request as sent; absent ones are `undefined`. */
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
  /** SHA-256 of the received body, lower-case hex; `undefined` without a body. */
  readonly actual_body_sha256: string | undefined
  readonly client_ip: string
}

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

const utf8 = new TextEncoder()
/** SHA-256 of an empty body, the X-BODY-SHA256 of a request without a body. */
const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

const refuse = <R extends AuthReason>(reason: R, details: Details = {}, text?: string) =>
  new AuthRefused({ reason, details, ...(text === undefined ? {} : { text }) })

/** The error of a credential whose grant has ended. */
const endedBy = (why: GrantEnd): AuthRefused<"RevokedToken"> => {
  const { details, message, reason } = refusalOf(why)
  return refuse(reason, details, message)
}
/** The error if the grant has ended; `undefined` if it is valid. Synchronous. */
export const refusalOfGrant = ({ ended }: Grant): AuthRefused<"RevokedToken"> | undefined =>
  ended === undefined ? undefined : endedBy(ended)
const inForce = (grant: Grant) =>
  Effect.suspend(() => {
    const refused = refusalOfGrant(grant)
    return refused === undefined ? Effect.void : Effect.fail(refused)
  })
const unavailable = (cause: unknown) => Effect.fail(new AuthUnavailable({ cause }))
/** Completes when the gateway knows that no other one has ended the grant. */
const whileFresh = <E>(check: Effect.Effect<Caller, E>) =>
  Effect.tap(check, ({ grant }) => (grant.lease.isCurrent() ? Effect.void : orUnavailable(current(grant.lease))))
/** A store failure is not a verdict on the credentials. */
const orUnavailable = <A, E>(effect: Effect.Effect<A, E>) => Effect.catch(effect, unavailable)

/** The wallet of a login. */
interface Wallet {
  readonly rail: Rail
  readonly root_address: string
  readonly party_id: string | undefined
  readonly publicKey: Uint8Array
  /** The key of the party is not stored yet; a valid signature binds it. */
  readonly binds: boolean
  /** Owner of the nonces. */
  readonly owner: Uint8Array
}

export class Authenticator extends Context.Service<
  Authenticator,
  {
    /**
     * Logs a wallet in; creates its user and sub-account 0 at the first login. The server limits the rate of the
     * address.
     */
    readonly login: (body: {
      readonly public_key: string
      readonly signature: string
      readonly timestamp_ms: number
      readonly nonce: string
      readonly verifying_key: string | undefined
    }) => Effect.Effect<
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
    readonly signedSocket: (frame: {
      readonly api_key: string
      readonly signature: string
      readonly timestamp_ms: number
      readonly nonce: string
      readonly client_ip: string
    }) => Effect.Effect<Caller, AuthError<SignatureReason | "InsufficientScope">>
    /** Public keys that verify tokens, as a JSON Web Key Set. */
    readonly jwks: { readonly keys: ReadonlyArray<Record<string, string>> }
  }
>()("gateway/services/Authenticator") {
  static readonly layer = (
    options: AuthenticatorOptions
  ): Layer.Layer<
    Authenticator,
    never,
    Accounts | ApiKeys | BanList | NonceStore | RateLimiter | Sequencer | Signatures | Tokens
  > => Layer.effect(Authenticator, make(options))
}

const make = Effect.fnUntraced(function* (options: AuthenticatorOptions) {
  const clock = yield* Clock.Clock
  const accounts = yield* Accounts
  const apiKeys = yield* ApiKeys
  const bans = yield* BanList
  const nonces = yield* NonceStore
  const limiter = yield* RateLimiter
  const sequencer = yield* Sequencer
  const signatures = yield* Signatures
  const tokens = yield* Tokens

  const loginWindow = Duration.toMillis(options.loginWindow ?? "60 seconds")
  const apiKeyWindow = Duration.toMillis(options.apiKeyWindow ?? "30 seconds")
  const noncesInDatabase = options.noncesInDatabase ?? true
  const attempts = AuthAttemptLimiter.make()
  const signatureFacts = SignatureDiagnostics.make(options.explainSignatures ?? false)
  const counted = yield* AuthFailureMetrics.counting

  /** Counts against a bucket and refuses if it is full. */
  const limit = (bucket: Bucket, key: string) =>
    Effect.flatMap(limiter.take(bucket, key), (rate) =>
      rate === undefined || rate.allowed ? Effect.void : Effect.fail(new AuthLimited({ rate }))
    )
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

  const checkTime = (timestamp_ms: number, window_ms: number) =>
    Effect.flatMap(Clock.currentTimeMillis, (server_time_ms) => {
      const skew_ms = timestamp_ms - server_time_ms
      return Math.abs(skew_ms) <= window_ms
        ? Effect.void
        : Effect.fail(refuse("StaleTimestamp", { server_time_ms, window_ms, skew_ms }))
    })

  /**
   * Refuses a signature that may have been used before the database was replaced by a copy: the nonces of its time may be
   * lost. A client whose clock is ahead may have signed it before.
   */
  const checkTrusted = Effect.fnUntraced(function* (timestamp_ms: number, window_ms: number) {
    const untrusted_ms = tokens.untrustedUntil()
    if (untrusted_ms === 0 || timestamp_ms > untrusted_ms + window_ms) return
    return yield* refuse(
      "StaleTimestamp",
      { server_time_ms: yield* Clock.currentTimeMillis, window_ms, skew_ms: 0 },
      `the database was replaced: sign with a timestamp_ms after ${untrusted_ms + window_ms}`
    )
  })
  const checkKeyTrusted = (timestamp_ms: number) =>
    noncesInDatabase ? checkTrusted(timestamp_ms, apiKeyWindow) : Effect.void

  const unsigned = (facts: Parameters<typeof signatureFacts>[0], text?: string) =>
    refuse("InvalidSignature", signatureFacts(facts), text)
  const malformedSignature = () =>
    unsigned(
      { hint: "a signature is 64 bytes in one of these encodings" },
      "the signature is not 64 bytes in hex, 0x-hex, base64 or base64url"
    )
  const noSignature = () =>
    refuse(
      "InvalidSignature",
      { field: "X-SIGNATURE" },
      fieldText("X-SIGNATURE", "the signature, 64 bytes in hex or base64", undefined)
    )

  const checkSignature = (publicKey: Uint8Array, message: string, signature: Uint8Array | undefined) =>
    signature === undefined
      ? Effect.fail(malformedSignature())
      : Effect.flatMap(signatures.verify(publicKey, utf8.encode(message), signature), (matches) =>
          matches ? Effect.void : Effect.fail(unsigned({ signed_string: message }))
        )

  const claim = (space: NonceSpace, owner: Uint8Array, nonce: string) =>
    Effect.catchTags(nonces.claim(space, owner, nonce), {
      NonceReused: () => Effect.fail(refuse("NonceReused")),
      NonceStoreUnavailable: unavailable
    })

  const otherParty = () =>
    refuse(
      "InvalidPublicKey",
      { field: "verifying_key" },
      fieldText("verifying_key", "the key of this party, one with the fingerprint in the party id", "")
    )
  const readKey = (text: string) => {
    const bytes = bytesOfPublicKey(text)
    return bytes !== undefined && isPublicKey(bytes) ? Effect.succeed(bytes) : Effect.fail(refuse("InvalidPublicKey"))
  }

  /** The wallet of `public_key`, which is a key or, if it contains `::`, a party. */
  const walletOf = Effect.fnUntraced(function* (public_key: string, verifying_key: string | undefined) {
    if (!public_key.includes("::")) {
      const publicKey = yield* readKey(public_key)
      const wallet: Wallet = {
        rail: "address",
        root_address: rootOfKey(publicKey),
        party_id: undefined,
        publicKey,
        binds: false,
        owner: publicKey
      }
      return wallet
    }
    const party = parseParty(public_key)
    if (party === undefined) return yield* refuse("InvalidPublicKey")
    const bound = yield* orUnavailable(accounts.partyKey(party.id))
    const text = verifying_key ?? bound
    if (text === undefined) return yield* refuse("UnknownPartyKey")
    const publicKey = yield* readKey(text)
    if (!isKeyOfParty(party, publicKey)) return yield* otherParty()
    const wallet: Wallet = {
      rail: "party",
      root_address: rootOfParty(party.id),
      party_id: party.id,
      publicKey,
      binds: bound === undefined,
      owner: utf8.encode(party.id)
    }
    return wallet
  })

  /** Creates the wallet's user and sub-account 0 if necessary. */
  const admit = Effect.fnUntraced(function* (wallet: Wallet) {
    const { rail, root_address, party_id } = wallet
    const user_id = userIdOf(root_address)
    if (wallet.binds) yield* accounts.bindPartyKey(party_id!, Hex.encode(wallet.publicKey))
    yield* accounts.ensureUser({ user_id, root_address, rail, party_id })
    if (!(yield* accounts.isReady(user_id))) {
      yield* sequencer.submit({
        command_id: commandIdOf("create_sub_account", root_address, 0),
        user_id,
        sub_account_address: subAccountAddress(root_address, 0),
        body: { type: "create_sub_account", root_address, index: 0 }
      })
      yield* accounts.markReady(user_id)
    }
    return user_id
  }, orUnavailable)

  /** Looks up a key that is registered and not expired. */
  const activeKey = Effect.fnUntraced(function* (publicKey: Uint8Array) {
    const key = yield* orUnavailable(apiKeys.find(Hex.encode(publicKey)))
    // a ban revokes the keys of its user; report the ban rather than an unknown key
    const owner = key?.caller.user_id ?? (yield* orUnavailable(accounts.apiKeyOf(Hex.encode(publicKey))))?.user_id
    if (owner !== undefined && bans.isBanned(owner)) return yield* endedBy("banned")
    if (key === undefined) return yield* refuse("UnknownApiKey")
    const { expires_at_ms } = key.caller
    if (expires_at_ms !== undefined && expires_at_ms <= (yield* Clock.currentTimeMillis)) {
      return yield* refuse("ExpiredApiKey")
    }
    return key
  })

  const checkAddress = (key: ActiveKey, client_ip: string) =>
    key.allows(client_ip) ? Effect.void : Effect.fail(refuse("IpNotAllowed"))

  /**
   * Uses the nonce of a key whose grant is valid before and after; only then does the request count as a use of the
   * key.
   */
  const useNonce = Effect.fnUntraced(function* (
    space: NonceSpace,
    publicKey: Uint8Array,
    nonce: string,
    timestamp_ms: number,
    caller: Caller
  ) {
    yield* inForce(caller.grant)
    yield* claim(space, publicKey, nonce)
    yield* checkKeyTrusted(timestamp_ms)
    yield* inForce(caller.grant)
    apiKeys.touch(caller.credential, yield* Clock.currentTimeMillis)
  })

  const login: Authenticator["Service"]["login"] = Effect.fnUntraced(function* (body) {
    const { public_key, timestamp_ms, nonce } = body
    if (!isNonce(nonce)) return yield* refuse("InvalidNonce", { field: "nonce" })
    const wallet = yield* walletOf(public_key, body.verifying_key)
    yield* checkTime(timestamp_ms, loginWindow)
    yield* checkTrusted(timestamp_ms, loginWindow)
    yield* checkSignature(
      wallet.publicKey,
      `SERVICE_AUTH|LOGIN|${public_key}|${timestamp_ms}|${nonce}`,
      bytesOfSignature(body.signature)
    )
    yield* limit("authorize-key", wallet.party_id ?? Hex.encode(wallet.publicKey))
    yield* claim("login", wallet.owner, nonce)
    const user_id = yield* admit(wallet)
    const { root_address, rail } = wallet
    const issued = yield* tokens.issue({ user_id, root_address, rail })
    // a token that was issued before the database was replaced is itself not trusted; this one may be later
    yield* checkTrusted(timestamp_ms, loginWindow)
    return { ...issued, user_id, root_address }
  })

  const faultOf = (fault: TokenFault) =>
    fault === "BannedUser" ? endedBy("banned") : fault === "RevokedToken" ? endedBy("revoked") : refuse(fault)
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

  const checkRequest = Effect.fnUntraced(function* (request: SignedRequest) {
    const { method, uri, timestamp_ms, nonce, body_sha256 } = request
    if (request.api_key === undefined || request.api_key === "") return yield* missing
    const publicKey = bytesOfPublicKey(request.api_key)
    if (publicKey === undefined) return yield* refuse("InvalidPublicKey")
    if (request.signature === undefined || request.signature === "") return yield* noSignature()
    const signature = bytesOfSignature(request.signature)
    if (signature === undefined) return yield* malformedSignature()
    if (timestamp_ms === undefined || !/^\d{1,15}$/u.test(timestamp_ms)) {
      return yield* refuse("StaleTimestamp", {
        server_time_ms: yield* Clock.currentTimeMillis,
        window_ms: apiKeyWindow
      })
    }
    if (nonce === undefined || !isNonce(nonce)) return yield* refuse("InvalidNonce")

    const key = yield* activeKey(publicKey)
    yield* checkTime(Number(timestamp_ms), apiKeyWindow)
    yield* checkKeyTrusted(Number(timestamp_ms))
    if (body_sha256 === undefined) {
      if (key.require_body_hash && request.actual_body_sha256 !== undefined) {
        return yield* unsigned({ hint: `this key signs bodies: X-BODY-SHA256 must be ${request.actual_body_sha256}` })
      }
    } else {
      const arrived = request.actual_body_sha256 ?? EMPTY_SHA256
      if (body_sha256.toLowerCase() !== arrived) {
        return yield* unsigned({ hint: `the body that arrived has the SHA-256 ${arrived}` })
      }
    }
    // a raw "|" in the target would allow two requests with the same message
    if (uri.includes("|")) return yield* unsigned({ hint: "write | in a request target as %7C" })
    const message = `SERVICE_API|${method}|${uri}|${timestamp_ms}|${nonce}`
    yield* checkSignature(publicKey, body_sha256 === undefined ? message : `${message}|${body_sha256}`, signature)
    yield* checkAddress(key, request.client_ip)
    return { caller: key.caller, claimNonce: useNonce("rest", publicKey, nonce, Number(timestamp_ms), key.caller) }
  })

  const signedSocket: Authenticator["Service"]["signedSocket"] = Effect.fnUntraced(function* (frame) {
    const publicKey = bytesOfPublicKey(frame.api_key)
    if (publicKey === undefined) return yield* refuse("InvalidPublicKey")
    const signature = bytesOfSignature(frame.signature)
    if (signature === undefined) return yield* malformedSignature()
    if (!isNonce(frame.nonce)) return yield* refuse("InvalidNonce")
    const key = yield* activeKey(publicKey)
    yield* checkTime(frame.timestamp_ms, apiKeyWindow)
    yield* checkKeyTrusted(frame.timestamp_ms)
    yield* checkSignature(publicKey, `SERVICE_WS|AUTH|${frame.timestamp_ms}|${frame.nonce}`, signature)
    yield* checkAddress(key, frame.client_ip)
    yield* useNonce("ws", publicKey, frame.nonce, frame.timestamp_ms, key.caller)
    if (!key.caller.scopes.has("read")) return yield* refuse("InsufficientScope", { required: "read" })
    return key.caller
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
        counted(guarded("auth-failures", request.client_ip)(checkRequest(request))),
        ({ caller, claimNonce }) => ({ caller, claimNonce: counted(claimNonce) })
      ),
    signedSocket: (frame) => whileFresh(counted(signedSocket(frame))),
    jwks: tokens.jwks
  })
})
