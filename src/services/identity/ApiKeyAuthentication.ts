/**
 * The authentication by API key, of requests and of WebSockets. The checks follow the order of
 * docs/contract/authentication.md#api-keys, #websocket-authentication.
 */
import { Clock, Effect } from "effect"
import { Hex } from "effect/encoding"
import { bytesOfPublicKey, bytesOfSignature, isNonce } from "../../domain/Identity.ts"
import type { Caller } from "../../domain/User.ts"
import { Accounts } from "./Accounts.ts"
import type { ActiveKey } from "./ActiveKeys.ts"
import { ApiKeys } from "./ApiKeys.ts"
import { endedBy, inForce, orUnavailable, refuse } from "./AuthErrors.ts"
import { BanList } from "./BanList.ts"
import type { NonceSpace } from "./NonceStore.ts"
import { noSignature, type SignatureChecks } from "./SignatureChecks.ts"

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

/** The `auth` message of a WebSocket with an API key. */
export interface SignedSocket {
  readonly api_key: string
  readonly signature: string
  readonly timestamp_ms: number
  readonly nonce: string
  readonly client_ip: string
}

/** SHA-256 of an empty body, the X-BODY-SHA256 of a request without a body. */
const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

export interface ApiKeyOptions {
  /** Accepted difference between the time of a signature and the server's. */
  readonly window_ms: number
  /** Whether nonces are in the database of credentials, and may be lost with it. */
  readonly noncesInDatabase: boolean
}

/** The checks of requests and sockets. They fail with the reason of the refusal, or as unavailable. */
export const make = Effect.fnUntraced(function* (
  check: SignatureChecks,
  { noncesInDatabase, window_ms }: ApiKeyOptions
) {
  const accounts = yield* Accounts
  const apiKeys = yield* ApiKeys
  const bans = yield* BanList

  const checkTrusted = (timestamp_ms: number) =>
    noncesInDatabase ? check.trusted(timestamp_ms, window_ms) : Effect.void

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
    yield* check.nonce(space, publicKey, nonce)
    yield* checkTrusted(timestamp_ms)
    yield* inForce(caller.grant)
    apiKeys.touch(caller.credential, yield* Clock.currentTimeMillis)
  })

  return {
    /** Checks a request; its nonce is not used yet. */
    request: Effect.fnUntraced(function* (request: SignedRequest) {
      const { method, uri, timestamp_ms, nonce, body_sha256 } = request
      if (request.api_key === undefined || request.api_key === "") return yield* refuse("MissingToken")
      const publicKey = bytesOfPublicKey(request.api_key)
      if (publicKey === undefined) return yield* refuse("InvalidPublicKey")
      if (request.signature === undefined || request.signature === "") return yield* noSignature()
      const signature = bytesOfSignature(request.signature)
      if (signature === undefined) return yield* check.malformed()
      if (timestamp_ms === undefined || !/^\d{1,15}$/u.test(timestamp_ms)) {
        return yield* refuse("StaleTimestamp", { server_time_ms: yield* Clock.currentTimeMillis, window_ms })
      }
      if (nonce === undefined || !isNonce(nonce)) return yield* refuse("InvalidNonce")

      const key = yield* activeKey(publicKey)
      yield* check.time(Number(timestamp_ms), window_ms)
      yield* checkTrusted(Number(timestamp_ms))
      if (body_sha256 === undefined) {
        if (key.require_body_hash && request.actual_body_sha256 !== undefined) {
          const hint = `this key signs bodies: X-BODY-SHA256 must be ${request.actual_body_sha256}`
          return yield* check.unsigned({ hint })
        }
      } else {
        const arrived = request.actual_body_sha256 ?? EMPTY_SHA256
        if (body_sha256.toLowerCase() !== arrived) {
          return yield* check.unsigned({ hint: `the body that arrived has the SHA-256 ${arrived}` })
        }
      }
      // a raw "|" in the target would allow two requests with the same message
      if (uri.includes("|")) return yield* check.unsigned({ hint: "write | in a request target as %7C" })
      const message = `SERVICE_API|${method}|${uri}|${timestamp_ms}|${nonce}`
      yield* check.signature(publicKey, body_sha256 === undefined ? message : `${message}|${body_sha256}`, signature)
      yield* checkAddress(key, request.client_ip)
      return { caller: key.caller, claimNonce: useNonce("rest", publicKey, nonce, Number(timestamp_ms), key.caller) }
    }),

    /** Checks a WebSocket, and uses the nonce. */
    socket: Effect.fnUntraced(function* (frame: SignedSocket) {
      const publicKey = bytesOfPublicKey(frame.api_key)
      if (publicKey === undefined) return yield* refuse("InvalidPublicKey")
      const signature = bytesOfSignature(frame.signature)
      if (signature === undefined) return yield* check.malformed()
      if (!isNonce(frame.nonce)) return yield* refuse("InvalidNonce")
      const key = yield* activeKey(publicKey)
      yield* check.time(frame.timestamp_ms, window_ms)
      yield* checkTrusted(frame.timestamp_ms)
      yield* check.signature(publicKey, `SERVICE_WS|AUTH|${frame.timestamp_ms}|${frame.nonce}`, signature)
      yield* checkAddress(key, frame.client_ip)
      yield* useNonce("ws", publicKey, frame.nonce, frame.timestamp_ms, key.caller)
      if (!key.caller.scopes.has("read")) return yield* refuse("InsufficientScope", { required: "read" })
      return key.caller
    })
  }
})
