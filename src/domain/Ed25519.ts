/**
 * The strict rules of Ed25519 that libraries do not agree on, as a cheap filter in front of any of them.
 *
 * Strict means: `S` below the group order, `A` and `R` canonically encoded, neither of small order. What remains is the
 * equation without cofactor, on which libraries do agree. Source: contract 4.1; RFC 8032, 5.1.
 */
import { Point } from "@noble/ed25519"

export const PUBLIC_KEY_BYTES = 32
export const SIGNATURE_BYTES = 64

const bytesOfHex = (hex: string): Uint8Array => Uint8Array.from(hex.match(/../gu)!, (byte) => Number.parseInt(byte, 16))

/** Group order L, little-endian. */
const ORDER = bytesOfHex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
/** Field prime p, little-endian. */
const PRIME = bytesOfHex("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f")
/** The y coordinates of the eight points whose order divides 8; x only decides the sign bit. */
const SMALL_ORDER = [
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"
].map(bytesOfHex)

/** Whether 32 little-endian bytes at `offset` are below `bound`; `mask` keeps the bits of the last byte that count. */
const below = (bytes: Uint8Array, offset: number, mask: number, bound: Uint8Array): boolean => {
  const last = (bytes[offset + 31]! & mask) - bound[31]!
  if (last !== 0) return last < 0
  for (let i = 30; i >= 0; i--) {
    const difference = bytes[offset + i]! - bound[i]!
    if (difference !== 0) return difference < 0
  }
  return false
}

const equals = (bytes: Uint8Array, offset: number, y: Uint8Array): boolean => {
  if ((bytes[offset + 31]! & 0x7f) !== y[31]!) return false
  for (let i = 0; i < 31; i++) if (bytes[offset + i]! !== y[i]!) return false
  return true
}

/** Whether the encoding at `offset` has y below p and is none of the points of small order. */
const isStrictPoint = (bytes: Uint8Array, offset: number): boolean =>
  below(bytes, offset, 0x7f, PRIME) && !SMALL_ORDER.some((y) => equals(bytes, offset, y))

/** Whether key and signature have the lengths and encodings that strict verification asks for; says nothing of a match. */
export const mayVerify = (publicKey: Uint8Array, signature: Uint8Array): boolean =>
  publicKey.length === PUBLIC_KEY_BYTES &&
  signature.length === SIGNATURE_BYTES &&
  below(signature, 32, 0xff, ORDER) &&
  isStrictPoint(signature, 0) &&
  isStrictPoint(publicKey, 0)

/** Whether 32 bytes are a public key: a canonical encoding of a point of the curve that is not of small order. */
export const isPublicKey = (bytes: Uint8Array): boolean => {
  if (bytes.length !== PUBLIC_KEY_BYTES || !isStrictPoint(bytes, 0)) return false
  try {
    Point.fromBytes(bytes, false)
    return true
  } catch {
    return false
  }
}
