/**
 * An aggregated order book, maintained from snapshots and changes, and its checksum. Gateway and clients use the same
 * code.
 * Source: docs/contract/websocket.md#order-book.
 */
import type { Level } from "./Market.ts"
import { parse } from "./Scaled.ts"

interface Entry {
  readonly key: bigint
  readonly level: Level
}

/** Levels of one side, best first. */
class Ladder {
  readonly entries: Array<Entry> = []
  private readonly sign: 1n | -1n
  constructor(side: "bids" | "asks") {
    this.sign = side === "bids" ? -1n : 1n
  }
  /** Sets the total of a level; "0" removes it. */
  set(level: Level): void {
    const key = parse(level[0]) * this.sign
    let low = 0
    let high = this.entries.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.entries[middle]!.key < key) low = middle + 1
      else high = middle
    }
    const found = low < this.entries.length && this.entries[low]!.key === key
    if (level[1] === "0") {
      if (found) this.entries.splice(low, 1)
    } else if (found) this.entries[low] = { key, level }
    else this.entries.splice(low, 0, { key, level })
  }
  levels(depth?: number): ReadonlyArray<Level> {
    return (depth === undefined ? this.entries : this.entries.slice(0, depth)).map((entry) => entry.level)
  }
}

export class Book {
  private bidLadder = new Ladder("bids")
  private askLadder = new Ladder("asks")
  seq = 0

  reset(bids: ReadonlyArray<Level>, asks: ReadonlyArray<Level>, seq: number): void {
    this.bidLadder = new Ladder("bids")
    this.askLadder = new Ladder("asks")
    this.apply(bids, asks, seq)
  }
  apply(bids: ReadonlyArray<Level>, asks: ReadonlyArray<Level>, seq: number): void {
    for (const level of bids) this.bidLadder.set(level)
    for (const level of asks) this.askLadder.set(level)
    this.seq = seq
  }
  bids(depth?: number): ReadonlyArray<Level> {
    return this.bidLadder.levels(depth)
  }
  asks(depth?: number): ReadonlyArray<Level> {
    return this.askLadder.levels(depth)
  }
  /** Whether the best bid is at or above the best ask. A valid book is never crossed. */
  crossed(): boolean {
    const bid = this.bidLadder.entries[0]
    const ask = this.askLadder.entries[0]
    return bid !== undefined && ask !== undefined && -bid.key >= ask.key
  }
}

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1
  return c >>> 0
})

/** CRC-32 (IEEE) of ASCII text. */
export const crc32 = (text: string): number => {
  let c = 0xffffffff
  for (let i = 0; i < text.length; i++) c = CRC[(c ^ text.charCodeAt(i)) & 0xff]! ^ (c >>> 8)
  return (c ^ 0xffffffff) >>> 0
}

/** Levels per side that a checksum covers. */
export const CHECKSUM_LEVELS = 25

/** Checksum of a book's best 25 levels, interleaved bid first, a missing side skipped; 0 for an empty book. */
export const checksum = (bids: ReadonlyArray<Level>, asks: ReadonlyArray<Level>): number => {
  const parts: Array<string> = []
  const count = Math.min(CHECKSUM_LEVELS, Math.max(bids.length, asks.length))
  for (let i = 0; i < count; i++) {
    const bid = bids[i]
    const ask = asks[i]
    if (bid !== undefined) parts.push(bid[0], bid[1])
    if (ask !== undefined) parts.push(ask[0], ask[1])
  }
  return parts.length === 0 ? 0 : crc32(parts.join(":"))
}
