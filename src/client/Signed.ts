/**
 * Nonces, and the signature headers of a request. Source: docs/contract/authentication.md#login,
 * #api-keys.
 */
import { etc } from "@noble/ed25519"
import { requestMessage } from "../domain/SigningMessages.ts"

/** A new nonce: 128 random bits in hex. */
export const nonce = (): string => etc.bytesToHex(globalThis.crypto.getRandomValues(new Uint8Array(16)))

/** The text that an API key signs for a request, and the headers with the signature. */
export const signed = (request: {
  readonly method: string
  /** Path and query, byte for byte as sent. */
  readonly uri: string
  readonly timestamp_ms: number
  /** SHA-256 of the body in hex, to cover it by the signature; `undefined`: the body is not covered. */
  readonly body_sha256: string | undefined
}) => {
  const { body_sha256 } = request
  const fresh = nonce()
  return {
    message: requestMessage({ ...request, nonce: fresh }),
    headers: (public_key: string, signature: string): Record<string, string> => ({
      "x-api-key": public_key,
      "x-signature": signature,
      "x-timestamp-ms": String(request.timestamp_ms),
      "x-nonce": fresh,
      ...(body_sha256 === undefined ? {} : { "x-body-sha256": body_sha256 })
    })
  }
}
