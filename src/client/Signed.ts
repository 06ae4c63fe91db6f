/**
 * What goes with a signature: a nonce, and the headers of a request. Source: docs/contract/authentication.md#login,
 * #api-keys.
 */
import { etc } from "@noble/ed25519"
import { requestMessage } from "../domain/SigningMessages.ts"

/** A nonce that nobody has used: 128 random bits. */
export const nonce = (): string => etc.bytesToHex(globalThis.crypto.getRandomValues(new Uint8Array(16)))

/** A request to be signed by an API key: the text that is signed, and the headers that carry the signature. */
export const signed = (request: {
  readonly method: string
  /** Path and query, byte for byte as sent. */
  readonly uri: string
  readonly timestamp_ms: number
  /** SHA-256 of a body that the signature binds too, in hex; `undefined`: it binds none. */
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
