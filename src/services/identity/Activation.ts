/**
 * Policy: a wallet is admitted by an access code and its signature.
 *
 * The checks follow the order of docs/contract/rest-access.md#activate. The signature is checked before the code, so
 * that codes cannot be probed, and before the rate limit of the wallet, so that others cannot lock it out. The HTTP
 * server checks, before it reads the body, whether the module is enabled and the rate limit of the address.
 * Source: docs/contract/authentication.md#activation.
 */
import { hexToBytes } from "@noble/hashes/utils.js"
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { Hex } from "effect/encoding"
import { activationMessage, hashOfCode } from "../../domain/AccessCode.ts"
import { rootOfKey, rootOfParty } from "../../domain/Address.ts"
import { isPublicKey } from "../../domain/Ed25519.ts"
import {
  bytesOfPublicKey,
  bytesOfSignature,
  isKeyOfParty,
  isNonce,
  parseParty,
  PARTY_ID
} from "../../domain/Identity.ts"
import type { Reason } from "../../domain/Reason.ts"
import { AccessCodes, type CodeUnusable } from "./AccessCodes.ts"
import { Accounts, type Activation as Activated, type AccountsUnavailable } from "./Accounts.ts"
import { AuthLimited, AuthUnavailable } from "./AuthErrors.ts"
import { NonceStore } from "./NonceStore.ts"
import { RateLimiter } from "../operations/RateLimiter.ts"
import { DomainError } from "../DomainError.ts"
import * as SignatureDiagnostics from "./SignatureDiagnostics.ts"
import { Signatures } from "./Signatures.ts"

export interface ActivationOptions {
  /** Accepted difference between `signed_at` and the server's time, in whole seconds. Default 300 seconds. */
  readonly window?: Duration.Input
  /** As in {@link AuthenticatorOptions}. */
  readonly explainSignatures?: boolean
}

/** The body of a request, as sent. */
export interface ActivationRequest {
  readonly code: string
  readonly public_key: string
  readonly signature: string
  /** Unix seconds. */
  readonly signed_at: number
  /** Used on the party rail only. */
  readonly nonce: string | undefined
  /** Selects the party rail. */
  readonly party_id: string | undefined
}

const utf8 = new TextEncoder()
const invalidKey = new DomainError("InvalidPublicKey")
const otherParty = new DomainError(
  "InvalidPublicKey",
  { field: "public_key" },
  "expected the key of this party: one with the fingerprint in the party id"
)
// the nonce is part of the request's shape here, so 400; InvalidNonce belongs to failed authentication
const badNonce = new DomainError(
  "InvalidField",
  { field: "nonce" },
  "expected 8 to 64 characters of A-Z, a-z, 0-9, - and _"
)
const reasons = {
  unknown: "InvalidCode",
  revoked: "CodeRevoked",
  expired: "CodeExpired",
  used: "CodeAlreadyUsed"
} as const satisfies Record<CodeUnusable["why"], Reason>

/** Why an activation is refused. */
export type ActivationReason =
  | (typeof reasons)[CodeUnusable["why"]]
  | "InvalidField"
  | "MissingField"
  | "InvalidPublicKey"
  | "InvalidSignature"
  | "NonceReused"
  | "StaleTimestamp"
  | "WalletAlreadyActivated"

export class Activation extends Context.Service<
  Activation,
  {
    /** Admits the wallet and returns the benefits of the code. */
    readonly activate: (
      request: ActivationRequest
    ) => Effect.Effect<Activated, DomainError<ActivationReason> | AuthLimited | AuthUnavailable | AccountsUnavailable>
  }
>()("gateway/services/Activation") {
  static readonly layer = (
    options: ActivationOptions = {}
  ): Layer.Layer<Activation, never, AccessCodes | Accounts | NonceStore | RateLimiter | Signatures> =>
    Layer.effect(Activation, make(options))
}

const make = Effect.fnUntraced(function* (options: ActivationOptions) {
  const accounts = yield* Accounts
  const codes = yield* AccessCodes
  const limiter = yield* RateLimiter
  const nonces = yield* NonceStore
  const signatures = yield* Signatures
  const signatureFacts = SignatureDiagnostics.make(options.explainSignatures ?? false)
  const window_s = Math.floor(Duration.toSeconds(options.window ?? "300 seconds"))

  /** The signer: the wallet of the key or, on the party rail, the party with the fingerprint of the key. */
  const walletOf = Effect.fnUntraced(function* ({ nonce, party_id, public_key }: ActivationRequest) {
    const party = party_id === undefined ? undefined : parseParty(party_id)
    if (party_id !== undefined) {
      if (party === undefined)
        return yield* Effect.fail(new DomainError("InvalidField", { field: "party_id" }, `expected ${PARTY_ID}`))
      if (nonce === undefined)
        return yield* Effect.fail(
          new DomainError("MissingField", { field: "nonce" }, "expected a nonce on the party rail")
        )
      if (!isNonce(nonce)) return yield* Effect.fail(badNonce)
    }
    const publicKey = bytesOfPublicKey(public_key)
    if (publicKey === undefined || !isPublicKey(publicKey)) return yield* Effect.fail(invalidKey)
    if (party === undefined) return { publicKey, root_address: rootOfKey(publicKey), party: undefined }
    if (!isKeyOfParty(party, publicKey)) return yield* Effect.fail(otherParty)
    return { publicKey, root_address: rootOfParty(party.id), party: { id: party.id, nonce: nonce! } }
  })

  const checkTime = (signed_at: number) =>
    Effect.flatMap(Clock.currentTimeMillis, (server_time_ms) => {
      const skew_s = signed_at - Math.floor(server_time_ms / 1000)
      if (Math.abs(skew_s) <= window_s) return Effect.succeed(server_time_ms)
      const facts = { server_time_ms, window_ms: window_s * 1000, skew_ms: skew_s * 1000 }
      const message = "signed_at is outside the accepted window; expected are Unix seconds"
      return Effect.fail(new DomainError("StaleTimestamp", facts, message))
    })

  /** Uses the nonce of a party, and binds its key as a login does. */
  const claim = Effect.fnUntraced(function* (
    party: { readonly id: string; readonly nonce: string },
    root_address: string,
    publicKey: Uint8Array
  ) {
    yield* nonces.claim("activation", hexToBytes(root_address.slice(2)), party.nonce).pipe(
      Effect.catchTags({
        NonceReused: () => Effect.fail(new DomainError("NonceReused")),
        NonceStoreUnavailable: (cause) => Effect.fail(new AuthUnavailable({ cause }))
      })
    )
    yield* accounts.bindPartyKey(party.id, Hex.encode(publicKey))
  })

  return Activation.of({
    activate: Effect.fnUntraced(function* (request) {
      const { party, publicKey, root_address } = yield* walletOf(request)
      const now_ms = yield* checkTime(request.signed_at)
      const code_hash = hashOfCode(request.code)
      const message = activationMessage({ code_hash, root_address, signed_at: request.signed_at, nonce: party?.nonce })
      const signature = bytesOfSignature(request.signature)
      if (signature === undefined || !(yield* signatures.verify(publicKey, utf8.encode(message), signature))) {
        return yield* Effect.fail(new DomainError("InvalidSignature", signatureFacts({ signed_string: message })))
      }
      const rate = yield* limiter.take("activate-root", root_address)
      if (rate?.allowed === false) return yield* new AuthLimited({ rate })
      if (party !== undefined) yield* claim(party, root_address, publicKey)
      return yield* codes.redeem(code_hash, root_address, now_ms).pipe(
        Effect.catchTags({
          WalletActivated: () => Effect.fail(new DomainError("WalletAlreadyActivated")),
          CodeUnusable: ({ why }) => Effect.fail(new DomainError(reasons[why]))
        })
      )
    })
  })
})
