/** The permanent index of transfers: each version of a transfer, in a table of the journal. */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import { crc32 } from "node:zlib"
import { JournalError, RECOVERY_HINT } from "./JournalError.ts"
import type { Row } from "./JournalSchema.ts"

/** A version of a transfer: its JSON, and the seq of the event after which it was stored. */
export interface TransferVersion {
  readonly seq: number
  readonly transfer: string
}

const checksumOf = (user_id: string, transfer_id: string, seq: number, transfer: string): number =>
  crc32(JSON.stringify([user_id, transfer_id, seq, transfer]))

export class TransferIndex {
  private readonly path: string
  private readonly findStatement: StatementSync
  private readonly insertStatement: StatementSync

  constructor(db: DatabaseSync, path: string) {
    this.path = path
    this.findStatement = db.prepare(
      "SELECT seq, transfer, checksum FROM transfers WHERE user_id = ? AND transfer_id = ? AND seq < ? ORDER BY seq DESC LIMIT 1"
    )
    this.insertStatement = db.prepare(
      "INSERT INTO transfers (user_id, transfer_id, seq, transfer, checksum) VALUES (?, ?, ?, ?, ?)"
    )
  }

  /** The latest version of a user's transfer before the event `seq`. Throws {@link JournalError} where its row is damaged. */
  find(user_id: string, transfer_id: string, seq: number): TransferVersion | undefined {
    const row = this.findStatement.get(user_id, transfer_id, seq) as Row | undefined
    if (row === undefined) return undefined
    const found = { seq: row["seq"] as number, transfer: row["transfer"] as string }
    // a misplaced row would look like a repeated id, and no checksum of the entries would detect it
    if (row["checksum"] !== checksumOf(user_id, transfer_id, found.seq, found.transfer))
      throw new JournalError({
        message: `${this.path} is damaged: transfer ${transfer_id} in its index does not match its checksum. ${RECOVERY_HINT}`
      })
    return found
  }

  /** Stores the version of a transfer after the event `seq`, in the open transaction. */
  add(user_id: string, transfer_id: string, seq: number, transfer: string): void {
    this.insertStatement.run(user_id, transfer_id, seq, transfer, checksumOf(user_id, transfer_id, seq, transfer))
  }
}
