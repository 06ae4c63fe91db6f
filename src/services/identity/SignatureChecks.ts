/**
 * The checks that logins and API keys share: the signature, its time, and its nonce.
 * Source: docs/contract/authentication.md#signatures, #api-keys.
 */
import { Clock, Effect } from "effect"
import { isPublicKey } from "../../domain/Ed25519.ts"
import { fieldText } from "../../domain/InputText.ts"
import { bytesOfPublicKey } from "../../domain/Identity.ts"
import { refuse, unavailable } from "./AuthErrors.ts"
import { type NonceSpace, NonceStore } from "./NonceStore.ts"
import * as SignatureDiagnostics from "./SignatureDiagnostics.ts"
import { Signatures } from "./Signatures.ts"
import { Tokens } from "./Tokens.ts"

const utf8 = new TextEncoder()

/** The bytes of a public key, in any accepted encoding. Fails with `InvalidPublicKey`. */
export const readKey = (text: string) => {
  const bytes = bytesOfPublicKey(text)
  return bytes !== undefined && isPublicKey(bytes) ? Effect.succeed(bytes) : Effect.fail(refuse("InvalidPublicKey"))
}

/** The error of a request without a signature. */
export const noSignature = () =>
  refuse(
    "InvalidSignature",
    { field: "X-SIGNATURE" },
    fieldText("X-SIGNATURE", "the signature, 64 bytes in hex or base64", undefined)
  )

/** The checks; each fails with the reason of its refusal. */
export type SignatureChecks = Effect.Success<ReturnType<typeof make>>

/** @param explain - whether the error of a wrong signature explains what was verified. */
export const make = Effect.fnUntraced(function* (explain: boolean) {
  const nonces = yield* NonceStore
  const signatures = yield* Signatures
  const tokens = yield* Tokens
  const facts = SignatureDiagnostics.make(explain)

  const unsigned = (diagnostics: Parameters<typeof facts>[0], text?: string) =>
    refuse("InvalidSignature", facts(diagnostics), text)
  const malformed = () =>
    unsigned(
      { hint: "a signature is 64 bytes in one of these encodings" },
      "the signature is not 64 bytes in hex, 0x-hex, base64 or base64url"
    )

  return {
    /** The error of a signature that does not cover the request. */
    unsigned,
    /** The error of a text that is no signature. */
    malformed,

    /** Refuses a time that differs from the server's by more than the window. */
    time: (timestamp_ms: number, window_ms: number) =>
      Effect.flatMap(Clock.currentTimeMillis, (server_time_ms) => {
        const skew_ms = timestamp_ms - server_time_ms
        return Math.abs(skew_ms) <= window_ms
          ? Effect.void
          : Effect.fail(refuse("StaleTimestamp", { server_time_ms, window_ms, skew_ms }))
      }),

    /**
     * Refuses a signature that may have been used before the database was replaced by a copy: the nonces of its time may be
     * lost. A client whose clock is ahead may have signed it before.
     */
    trusted: Effect.fnUntraced(function* (timestamp_ms: number, window_ms: number) {
      const untrusted_ms = tokens.untrustedUntil()
      if (untrusted_ms === 0 || timestamp_ms > untrusted_ms + window_ms) return
      return yield* refuse(
        "StaleTimestamp",
        { server_time_ms: yield* Clock.currentTimeMillis, window_ms, skew_ms: 0 },
        `the database was replaced: sign with a timestamp_ms after ${untrusted_ms + window_ms}`
      )
    }),

    /** `signature`: `undefined` if it is malformed. */
    signature: (publicKey: Uint8Array, message: string, signature: Uint8Array | undefined) =>
      signature === undefined
        ? Effect.fail(malformed())
        : Effect.flatMap(signatures.verify(publicKey, utf8.encode(message), signature), (matches) =>
            matches ? Effect.void : Effect.fail(unsigned({ signed_string: message }))
          ),

    /** Uses a nonce. */
    nonce: (space: NonceSpace, owner: Uint8Array, nonce: string) =>
      Effect.catchTags(nonces.claim(space, owner, nonce), {
        NonceReused: () => Effect.fail(refuse("NonceReused")),
        NonceStoreUnavailable: unavailable
      })
  }
})
