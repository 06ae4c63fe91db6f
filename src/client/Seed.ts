/** Seeds of Ed25519 keys. Runs in Node and in a browser. */
import { etc } from "@noble/ed25519"

/** A seed as text. */
const TEXT = /^(0x)?[0-9a-fA-F]{64}$/u
const BYTES = 32

/**
 * The bytes of a seed: 32 bytes, or 64 hex digits with or without `0x`. They are a copy, because the caller may erase or reuse
 * its own. Throws a RangeError without the value, which is a secret.
 */
export const bytesOfSeed = (seed: unknown): Uint8Array => {
  if (typeof seed === "string" && TEXT.test(seed)) return etc.hexToBytes(seed.replace(/^0x/u, ""))
  if (seed instanceof Uint8Array && seed.length === BYTES) return Uint8Array.from(seed)
  throw new RangeError(`seed: expected ${BYTES} bytes, or 64 hex digits`)
}
