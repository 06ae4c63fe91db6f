/**
 * Ids of orders, executions and trades: UUIDs of version 7, made from engine time and a counter without randomness.
 *
 * The 62 low bits hold the counter and a slot (the index of an order in the order table). So an order is found by its
 * id without a table of ids. A slot is reused, a counter value never. A permutation, seeded per installation, scrambles
 * both, so that an id does not look like a counter. This is not a security measure: the owner of an order is always
 * checked. The 12 bits after the version are a checksum over the rest, so that an id that was never issued is rejected.
 * Orders, executions and trades have separate counters and seeds; executions and trades have no slot.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { utf8ToBytes } from "@noble/hashes/utils.js"
import type { Handle } from "../book/OpenOrders.ts"
import { SLOT_BITS } from "../book/Slots.ts"

/** Bits of each half of the 62 bits. */
const HALF_BITS = 31
const HALF = 2 ** HALF_BITS
const SLOTS = 2 ** SLOT_BITS
/** Values of the counter bits that share the low half with the slot. */
const BESIDE = HALF / SLOTS
/** End of the counter: reached after three years at 10,000 orders per second. */
const NUMBERS = HALF * BESIDE
const ROUNDS = 4

/** A 32-bit seed: ids of another installation or kind do not pass the check. */
export const seedOf = (epoch: string, kind: "order" | "execution" | "trade"): number =>
  new DataView(sha256(utf8ToBytes(`${kind}:${epoch}`)).buffer).getUint32(0)

const mix = (seed: number, value: number): number => {
  let h = Math.imul(value ^ seed, 0x9e3779b1)
  h = Math.imul(h ^ (h >>> 15), 0x85ebca6b)
  return h ^ (h >>> 13)
}

const check = (seed: number, at_ms: number, high: number, low: number): number =>
  mix(mix(mix(mix(seed, at_ms / 2 ** 32), at_ms), high), low) & 0xfff

// rounds of a Feistel network: invertible for any `mix`
const round = (seed: number, i: number, half: number): number => mix(seed + i, half) >>> 1

const HEX: ReadonlyArray<string> = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))
/** The two hex digits of a byte of a word; byte 0 is the most significant. */
const two = (word: number, byte: 0 | 1 | 2 | 3): string => HEX[(word >>> (24 - 8 * byte)) & 0xff]!

/** Formats the id of a counter value at an engine time. */
export const print = (seed: number, at_ms: number, number: number, slot = 0): string => {
  if (number >= NUMBERS) throw new RangeError(`the ids are exhausted after ${number}`)
  let high = Math.floor(number / BESIDE)
  let low = (number % BESIDE) * SLOTS + slot
  for (let i = 0; i < ROUNDS; i++) {
    const swapped = high ^ round(seed, i, low)
    high = low
    low = swapped
  }
  // four words: time; time, version and check; variant and the upper 30 of the 62 bits; the lower 32
  const w0 = Math.floor(at_ms / 2 ** 16)
  const w1 = ((at_ms % 2 ** 16) << 16) | 0x7000 | check(seed, at_ms, high, low)
  const w2 = 0x80000000 | (high >>> 1)
  const w3 = ((high & 1) << 31) | low
  return (
    `${two(w0, 0)}${two(w0, 1)}${two(w0, 2)}${two(w0, 3)}-${two(w1, 0)}${two(w1, 1)}-${two(w1, 2)}${two(w1, 3)}-` +
    `${two(w2, 0)}${two(w2, 1)}-${two(w2, 2)}${two(w2, 3)}${two(w3, 0)}${two(w3, 1)}${two(w3, 2)}${two(w3, 3)}`
  )
}

const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/u

/** Parses the lower-case hex digits in [from, to). */
const digits = (id: string, from: number, to: number): number => {
  let value = 0
  for (let i = from; i < to; i++) {
    const code = id.charCodeAt(i)
    value = value * 16 + (code < 58 ? code - 48 : code - 87)
  }
  return value
}

/** Decodes an id; `undefined` for an id that this installation did not issue. */
export const read = (seed: number, id: string): Handle | undefined => {
  if (!FORM.test(id)) return undefined
  const at_ms = digits(id, 0, 8) * 2 ** 16 + digits(id, 9, 13)
  const w2 = digits(id, 19, 23) * 2 ** 16 + digits(id, 24, 28)
  const w3 = digits(id, 28, 36)
  let high = ((w2 << 1) & (HALF - 1)) | (w3 >>> 31)
  let low = w3 & (HALF - 1)
  if (digits(id, 15, 18) !== check(seed, at_ms, high, low)) return undefined
  for (let i = ROUNDS - 1; i >= 0; i--) {
    const swapped = low ^ round(seed, i, high)
    low = high
    high = swapped
  }
  return { number: high * BESIDE + Math.floor(low / SLOTS), slot: low % SLOTS }
}
