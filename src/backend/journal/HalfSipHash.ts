/**
 * HalfSipHash-2-4 with 32 bits of output: a keyed hash of short texts, for tables whose entries others choose. Without the
 * key nobody can find texts that collide. Source: Aumasson and Bernstein, SipHash: a fast short-input PRF.
 */

/** Two words of 32 bits. */
export type Key = readonly [low: number, high: number]

/** Bytes of a key. */
export const KEY_BYTES = 8

/** A key from 16 hex digits. Throws where the text is something else. */
export const keyOf = (hex: string): Key => {
  if (!/^[0-9a-f]{16}$/u.test(hex)) throw new Error("a key is 16 hex digits")
  const bytes = Buffer.from(hex, "hex")
  return [bytes.readUInt32LE(0), bytes.readUInt32LE(4)]
}

const COMPRESSION_ROUNDS = 2
const FINAL_ROUNDS = 4

/** Four bytes as a word; the last word holds the bytes that are left, and the length. */
const wordAt = (bytes: Uint8Array, at: number, length: number): number => {
  if (at + 4 <= length) return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
  let word = length << 24
  for (let i = at; i < length; i++) word |= bytes[i]! << (8 * (i - at))
  return word
}

/** The hash of the first `length` bytes, as an unsigned word. */
export const hash = ([low, high]: Key, bytes: Uint8Array, length: number): number => {
  let v0 = low
  let v1 = high
  let v2 = 0x6c796765 ^ low
  let v3 = 0x74656462 ^ high
  const last = length & ~3
  for (let at = 0; at <= last + 4; at += 4) {
    const isFinal = at > last
    const word = isFinal ? 0 : wordAt(bytes, at, length)
    v3 ^= word
    if (isFinal) v2 ^= 0xff
    for (let round = isFinal ? FINAL_ROUNDS : COMPRESSION_ROUNDS; round > 0; round--) {
      v0 = (v0 + v1) | 0
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
      v0 = (v0 << 16) | (v0 >>> 16)
      v2 = (v2 + v3) | 0
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
      v0 = (v0 + v3) | 0
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
      v2 = (v2 + v1) | 0
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
      v2 = (v2 << 16) | (v2 >>> 16)
    }
    v0 ^= word
  }
  return (v1 ^ v3) >>> 0
}
