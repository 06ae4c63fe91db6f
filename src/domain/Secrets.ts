/** Comparison of secrets, and the one-way form in which nonces are stored. */
import { sha256 } from "@noble/hashes/sha2.js"
import { concatBytes, utf8ToBytes } from "@noble/hashes/utils.js"

/** Whether two texts are equal, in constant time. Source: docs/contract/authentication.md#signatures. */
export const sameSecret = (left: string, right: string): boolean => {
  const a = sha256(utf8ToBytes(left))
  const b = sha256(utf8ToBytes(right))
  let difference = 0
  for (let i = 0; i < a.length; i++) difference |= a[i]! ^ b[i]!
  return difference === 0
}

/**
 * SHA-256 over owner, a zero byte and nonce: 32 bytes for any nonce. Source: docs/contract/authentication.md#login.
 */
export const nonceDigest = (owner: Uint8Array, nonce: string): Uint8Array =>
  sha256(concatBytes(owner, Uint8Array.of(0), utf8ToBytes(nonce)))
