/**
 * The strict rules of Ed25519 on which libraries disagree, as a cheap check before any of them.
 *
 * Strict means: `S` is below the group order, `A` and `R` are canonically encoded, and neither has small order. The
 * remaining check is the equation without cofactor, on which libraries agree.
 * Source: docs/contract/authentication.md#signatures; RFC 8032, 5.1.
 */
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

/**
 * Whether 32 little-endian bytes at `offset` are below `bound`; `mask` selects the significant bits of the last byte.
 */
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

/** Whether the encoding at `offset` has y below p and is not a point of small order. */
const isStrictPoint = (bytes: Uint8Array, offset: number): boolean =>
  below(bytes, offset, 0x7f, PRIME) && !SMALL_ORDER.some((y) => equals(bytes, offset, y))

/** Whether key and signature pass the strict checks of length and encoding. Does not verify the signature. */
export const mayVerify = (publicKey: Uint8Array, signature: Uint8Array): boolean =>
  publicKey.length === PUBLIC_KEY_BYTES &&
  signature.length === SIGNATURE_BYTES &&
  below(signature, 32, 0xff, ORDER) &&
  isStrictPoint(signature, 0) &&
  isStrictPoint(publicKey, 0)

const P = 2n ** 255n - 19n
/** d of the curve equation -x² + y² = 1 + d·x²·y². */
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n

/** base^((p - 1) / 2) modulo p: 1 for a square, p - 1 for none (Euler). Of the 254 bits of 2^254 - 10 only 3 and 0 are clear. */
const euler = (base: bigint): bigint => {
  let power = base
  for (let bit = 252; bit >= 0; bit--) {
    power = (power * power) % P
    if (bit !== 3 && bit !== 0) power = (power * base) % P
  }
  return power
}

/** Whether some x has this y: x² = (y² - 1) / (d·y² + 1). */
const isOnCurve = (bytes: Uint8Array): boolean => {
  let y = BigInt(bytes[31]! & 0x7f)
  for (let i = 30; i >= 0; i--) y = (y << 8n) | BigInt(bytes[i]!)
  const yy = (y * y) % P
  // a quotient is a square if the product is; y = ±1, where the product is 0, has small order
  return euler(((yy + P - 1n) * (D * yy + 1n)) % P) === 1n
}

/** Whether 32 bytes are a public key: a canonical encoding of a point of the curve that is not of small order. */
export const isPublicKey = (bytes: Uint8Array): boolean =>
  bytes.length === PUBLIC_KEY_BYTES && isStrictPoint(bytes, 0) && isOnCurve(bytes)
