/**
 * The table `blocks`: the entries of the journal in rows of about 64 KiB ({@link Block}), each with a checksum over all
 * entries up to its last one, which locates altered or lost entries.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import { crc32 } from "node:zlib"
import { type BlockEntry, entriesOf } from "./Block.ts"
import { JournalError, RECOVERY_HINT } from "./JournalError.ts"
import type { Row } from "./JournalSchema.ts"

/** The end of a journal; 0 and 0 while it is empty. */
export interface End {
  readonly position: number
  /** Checksum over all entries. */
  readonly chain: number
}

/** A row, verified. */
export interface VerifiedBlock {
  /** Positions of its first and its last entry. */
  readonly first: number
  readonly last: number
  readonly bytes: Uint8Array
  readonly entries: ReadonlyArray<BlockEntry>
  /** Checksum of all entries up to its last one. */
  readonly chain: number
}

export class BlockTable {
  private readonly db: DatabaseSync
  private readonly path: string
  private readonly insertStatement: StatementSync
  private readonly findStatement: StatementSync
  private readonly chainStatement: StatementSync

  constructor(db: DatabaseSync, path: string) {
    this.db = db
    this.path = path
    this.insertStatement = db.prepare("INSERT INTO blocks (position, first, entries, chain) VALUES (?, ?, ?, ?)")
    this.findStatement = db.prepare(
      "SELECT position, first, entries, chain FROM blocks WHERE position >= ? ORDER BY position LIMIT 1"
    )
    this.chainStatement = db.prepare("SELECT chain FROM blocks WHERE position = ?")
  }

  /** The end of the last row. */
  end(): End {
    const row = this.db.prepare("SELECT position, chain FROM blocks ORDER BY position DESC LIMIT 1").get() as
      Row | undefined
    return {
      position: (row?.["position"] as number | undefined) ?? 0,
      chain: (row?.["chain"] as number | undefined) ?? 0
    }
  }

  /** Stores a row in the open transaction. */
  add(first: number, last: number, bytes: Uint8Array, chain: number): void {
    this.insertStatement.run(last, first, bytes, chain)
  }

  /** Checksum of the entries up to a position; undefined where the position is not the end of a row. */
  chainAt(position: number): number | undefined {
    if (position === 0) return 0
    return (this.chainStatement.get(position) as Row | undefined)?.["chain"] as number | undefined
  }

  /** The end of the last row before a position; 0 where there is none. */
  endBefore(position: number): number {
    const { last } = this.db.prepare("SELECT MAX(position) AS last FROM blocks WHERE position < ?").get(position) as Row
    return (last ?? 0) as number
  }

  /** The entry at a position. Throws {@link JournalError}. */
  entryAt(position: number): BlockEntry {
    const row = this.findStatement.get(position) as Row | undefined
    const before = row === undefined ? undefined : this.chainAt((row["first"] as number) - 1)
    const block = before === undefined ? undefined : this.verified(row!, before)
    const entry = block?.entries[position - block.first]
    if (entry === undefined) throw this.damaged(`there is no entry at position ${position}`)
    return entry
  }

  /**
   * Iterates over the rows after a position up to another, each 0 or the end of a row. Throws {@link JournalError} at the
   * first row that is missing, altered or unreadable.
   */
  *read(after: number, until = Number.MAX_SAFE_INTEGER): Generator<VerifiedBlock> {
    const rows = this.db
      .prepare(
        "SELECT position, first, entries, chain FROM blocks WHERE position > ? AND position <= ? ORDER BY position"
      )
      .iterate(after, until)
    let position = after
    let chain = this.chainAt(after) ?? 0
    try {
      while (true) {
        let next: IteratorResult<unknown>
        try {
          next = rows.next()
        } catch (cause) {
          throw this.damaged(`after position ${position} it cannot be read (${(cause as Error).message})`, cause)
        }
        if (next.done === true) return
        const row = next.value as Row
        if (row["first"] !== position + 1) throw this.damaged(`entries are missing after position ${position}`)
        const block = this.verified(row, chain)
        yield block
        position = block.last
        chain = block.chain
      }
    } finally {
      // a caller that stops early would leave a read transaction open
      rows.return?.()
    }
  }

  /** The content of a row after rows with a checksum. Throws {@link JournalError} where the row is altered. */
  private verified(row: Row, before: number): VerifiedBlock {
    const [first, last, bytes] = [row["first"] as number, row["position"] as number, row["entries"] as Uint8Array]
    const chain = crc32(bytes, before)
    const entries = chain === row["chain"] ? [...entriesOf(bytes)] : []
    if (entries.length === 0 || entries.length !== last - first + 1)
      throw this.damaged(`the checksum from position ${first} to position ${last} does not match`)
    return { first, last, bytes, entries, chain }
  }

  /** The error for an operator whose journal is damaged; `what` names the place. */
  damaged(what: string, cause?: unknown): JournalError {
    return new JournalError({ message: `${this.path} is damaged: ${what}. ${RECOVERY_HINT}`, cause })
  }
}
