/**
 * Ids that the engine gives: UUIDs of version 7 from engine time and a counter, without randomness.
 *
 * The 62 low bits hold the number that was counted; the 12 bits after the version hold a check over time, number and a
 * seed of the installation, so that an id which was never given does not pass for one. Orders, executions and trades
 * count apart and have seeds of their own.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { utf8ToBytes } from "@noble/hashes/utils.js"

/** A 32-bit seed: ids of another installation or kind do not pass the check. */
export const seedOf = (epoch: string, kind: "order" | "execution" | "trade"): number =>
  new DataView(sha256(utf8ToBytes(`${kind}:${epoch}`)).buffer).getUint32(0)

const check = (seed: number, at_ms: number, number: number): number => {
  let h = seed ^ Math.imul(at_ms >>> 0, 0x9e3779b1) ^ Math.imul(number >>> 0, 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 16), 0xc2b2ae35)
  h ^= h >>> 13
  return (h >>> 8) & 0xfff
}

/** Prints the id of a number given at a time. */
export const print = (seed: number, at_ms: number, number: number): string => {
  const time = at_ms.toString(16).padStart(12, "0")
  const salt = check(seed, at_ms, number).toString(16).padStart(3, "0")
  const low = number.toString(16).padStart(12, "0")
  return `${time.slice(0, 8)}-${time.slice(8)}-7${salt}-8000-${low}`
}

const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8000-[0-9a-f]{12}$/u

/** The number in an id; `undefined` for an id that was not given here. */
export const read = (seed: number, id: string): number | undefined => {
  if (!FORM.test(id)) return undefined
  const at_ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
  const number = Number.parseInt(id.slice(24), 16)
  return Number.parseInt(id.slice(15, 18), 16) === check(seed, at_ms, number) ? number : undefined
}
