/**
 * Where in the journal a command_id may stand, for the ids of the last 24 hours, in memory.
 *
 * Positions are divided into portions of equal length. A portion is a hash table of its own, eight bytes an id, which
 * never changes once its positions are full: the journal then writes it down as it is, so that a start reads tables
 * instead of commands. An answer is a guess by hash: the entry says whether it is the id. A search for an id that was never given
 * looks at one or two words of every portion.
 */
import { hash as digest } from "node:crypto"

/** Positions of a portion: two bytes say which of them. */
export const PORTION = 65_536
/** Words of its table, half of which stay empty. */
const SLOTS = 2 * PORTION
/** Bytes of a portion's table. */
export const PORTION_BYTES = 4 * SLOTS
/** Portions kept at most, 1 GiB: of 24 h with more commands than these hold the oldest are forgotten. */
export const PORTIONS_MAX = 2048

/** A word of a table: taken, 15 bits of the hash beyond those that chose the word, position within the portion. */
const TAKEN = 0x8000_0000
const wordOf = (hash: number, offset: number): number => (TAKEN | ((hash >>> 17) << 16) | offset) >>> 0

/** Bytes of a key. */
export const KEY_BYTES = 8

/**
 * The hash of a command_id under a key of 16 hex digits, never 0: the first four bytes of SHA-256 of the key and the id.
 * Clients choose their ids, so the key is random and secret: without it nobody can find ids that share a place in the
 * table, where each command would search through all of them.
 */
export const hashOf = (key: string, command_id: string): number =>
  digest("sha256", key + command_id, "buffer").readUInt32LE(0) || 1

export interface Portion {
  /** Its positions are those from `number * PORTION` on. */
  readonly number: number
  readonly table: Uint32Array
  /** Time of its last entry, Unix ms. */
  until_ms: number
}

export const portionOf = (position: number): number => Math.floor(position / PORTION)

export const emptyPortion = (number: number): Portion => ({ number, table: new Uint32Array(SLOTS), until_ms: 0 })

/** Puts an id of a position of the portion into it; hash 0 is that of an entry without one. */
export const put = (portion: Portion, position: number, at_ms: number, hash: number): void => {
  const { table } = portion
  portion.until_ms = at_ms
  if (hash === 0) return
  let slot = hash & (SLOTS - 1)
  while (table[slot] !== 0) slot = (slot + 1) & (SLOTS - 1)
  table[slot] = wordOf(hash, position - portion.number * PORTION)
}

const NONE: ReadonlyArray<number> = []

export class CommandIds {
  /** Newest first; the first one is being filled. */
  private readonly portions: Array<Portion>

  constructor(portions: ReadonlyArray<Portion>) {
    this.portions = [...portions]
  }

  /** Positions where the id of a hash may stand, the last one first. */
  find(hash: number): ReadonlyArray<number> {
    let found: Array<number> | undefined
    const mark = wordOf(hash, 0)
    for (let i = 0; i < this.portions.length; i++) {
      const { number, table } = this.portions[i]!
      for (let slot = hash & (SLOTS - 1); ; slot = (slot + 1) & (SLOTS - 1)) {
        const word = table[slot]!
        if (word === 0) break
        if ((word & 0xffff_0000) >>> 0 === mark) (found ??= []).push(number * PORTION + (word & 0xffff))
      }
    }
    return found === undefined ? NONE : found.sort((a, b) => b - a)
  }

  /** Adds the entry at the next position. Returns the portion that is full with the one before, if there is such. */
  add(position: number, at_ms: number, hash: number, horizon_ms: number): Portion | undefined {
    const [newest] = this.portions
    const number = portionOf(position)
    if (newest?.number === number) {
      put(newest, position, at_ms, hash)
      return undefined
    }
    const portion = emptyPortion(number)
    put(portion, position, at_ms, hash)
    this.portions.unshift(portion)
    while (this.portions.length > PORTIONS_MAX || this.portions.at(-1)!.until_ms < at_ms - horizon_ms)
      this.portions.pop()
    return newest
  }
}
