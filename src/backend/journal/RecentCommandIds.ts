/**
 * The positions of the command_ids of the last 24 h: {@link CommandIds} in memory, read from {@link PortionTable}, or
 * from the entries where that lacks a portion.
 */
import type { DatabaseSync } from "node:sqlite"
import type { BlockTable } from "./BlockTable.ts"
import { CommandIds, emptyPortion, PORTION, type Portion, portionOf, PORTIONS_MAX, put } from "./CommandIds.ts"
import { PortionTable } from "./PortionTable.ts"

/** A repeated command_id gets the stored result for this long. Source: docs/contract/boundary.md#command-ids. */
export const COMMAND_ID_RETENTION_MS = 24 * 60 * 60 * 1000

/** The ids of a portion, from the entries up to the last stored one. */
const scan = (blocks: BlockTable, number: number, stored: number): Portion => {
  const portion = emptyPortion(number)
  const begin = number * PORTION
  const end = Math.min(begin + PORTION - 1, stored)
  let position = blocks.endBefore(begin)
  for (const { entries, first, last } of blocks.read(position)) {
    position = first
    for (const { at_ms, hash } of entries) {
      if (portionOf(position) === number) put(portion, position, at_ms, hash)
      position++
    }
    position = last
    if (last >= end) break
  }
  if (position < end) throw blocks.damaged(`entries are missing after position ${position}`)
  return portion
}

export class RecentCommandIds {
  private readonly index: CommandIds
  private readonly table: PortionTable

  /** `last`: position of the last entry. `stored`: that of the last one in a row. Throws {@link JournalError}. */
  constructor(db: DatabaseSync, blocks: BlockTable, last: number, stored: number) {
    this.table = new PortionTable(db)
    const portions: Array<Portion> = []
    for (let number = portionOf(last); number >= 0 && portions.length < PORTIONS_MAX; number--) {
      const portion = this.table.read(number) ?? scan(blocks, number, stored)
      if (portions.length > 0 && portion.until_ms < portions[0]!.until_ms - COMMAND_ID_RETENTION_MS) break
      portions.push(portion)
    }
    this.index = new CommandIds(portions)
  }

  /** Positions at which an id of this hash may be, the last one first. */
  find(hash: number): ReadonlyArray<number> {
    return this.index.find(hash)
  }

  /** Adds the entry at the next position, in the open transaction. */
  add(position: number, at_ms: number, hash: number): void {
    const full = this.index.add(position, at_ms, hash, COMMAND_ID_RETENTION_MS)
    if (full !== undefined) this.table.write(full)
  }
}
