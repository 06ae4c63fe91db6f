/**
 * An index in memory from the command_ids of the last 24 hours to their positions in the journal.
 *
 * Positions are divided into portions of equal length. Each portion is a hash table with eight bytes per id. A full
 * portion never changes, so the journal stores it and a start reads tables instead of commands. A lookup by hash
 * returns candidates; the caller compares the id in the entry. A lookup of an unknown id reads one or two words per
 * portion.
 */
import { hash as digest } from "node:crypto"

/** Positions per portion; an offset fits in two bytes. */
export const PORTION = 65_536
/** Words per table; at least half of them are empty. */
const SLOTS = 2 * PORTION
/** Bytes per table. */
export const PORTION_BYTES = 4 * SLOTS
/** Maximum number of portions, 1 GiB: beyond it the oldest commands of the 24 h are dropped. */
export const PORTIONS_MAX = 2048

/**
 * A word of a table: a bit that marks it as used, 15 bits of the hash beyond those that chose the word, offset within
 * the portion.
 */
const TAKEN = 0x8000_0000
const wordOf = (hash: number, offset: number): number => (TAKEN | ((hash >>> 17) << 16) | offset) >>> 0

/** Bytes of a key. */
export const KEY_BYTES = 8

/**
 * The hash of a command_id with a key of 16 hex digits, never 0: the first four bytes of SHA-256 of the key and the id.
 * Clients choose their ids, so the key is random and secret. Otherwise a client could choose ids with colliding hashes,
 * and each command would search through all of them.
 */
export const hashOf = (key: string, command_id: string): number => {
  // as text, because a buffer takes five times as long
  const bytes = digest("sha256", key + command_id, "binary")
  const byte = (index: number) => bytes.charCodeAt(index) << (8 * index)
  return (byte(0) | byte(1) | byte(2) | byte(3)) >>> 0 || 1
}

export interface Portion {
  /** Its first position is `number * PORTION`. */
  readonly number: number
  readonly table: Uint32Array
  /** Time of its last entry, Unix ms. */
  until_ms: number
}

export const portionOf = (position: number): number => Math.floor(position / PORTION)

export const emptyPortion = (number: number): Portion => ({ number, table: new Uint32Array(SLOTS), until_ms: 0 })

/** Adds the id at a position of the portion; hash 0 marks an entry without an id. */
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
  /** Newest first; new ids go to the first one. */
  private readonly portions: Array<Portion>

  constructor(portions: ReadonlyArray<Portion>) {
    this.portions = [...portions]
  }

  /** Candidate positions of a hash, the last one first. */
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

  /** Adds the entry at the next position. Returns the portion that the previous entry has filled, if any. */
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
