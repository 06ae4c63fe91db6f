/** The full portions of the index of command_ids, in a table of the journal: a start reads them instead of the entries. */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import { crc32 } from "node:zlib"
import { type Portion, PORTION_BYTES } from "./CommandIds.ts"
import type { Row } from "./JournalSchema.ts"

const checksumOf = (portion: number, until_ms: number, ids: Uint8Array): number =>
  crc32(ids, crc32(`${portion} ${until_ms}`))

export class PortionTable {
  private readonly findStatement: StatementSync
  private readonly insertStatement: StatementSync

  constructor(db: DatabaseSync) {
    this.findStatement = db.prepare("SELECT until_ms, ids, checksum FROM command_ids WHERE portion = ?")
    this.insertStatement = db.prepare(
      "INSERT OR REPLACE INTO command_ids (portion, until_ms, ids, checksum) VALUES (?, ?, ?, ?)"
    )
  }

  /** Undefined where the portion is missing or damaged. */
  read(number: number): Portion | undefined {
    const row = this.findStatement.get(number) as Row | undefined
    if (row === undefined) return undefined
    const [ids, until_ms] = [row["ids"] as Uint8Array, row["until_ms"] as number]
    if (ids.length !== PORTION_BYTES || checksumOf(number, until_ms, ids) !== row["checksum"]) return undefined
    return { number, table: new Uint32Array(ids.slice().buffer), until_ms }
  }

  /** Stores a portion in the open transaction. */
  write({ number, table, until_ms }: Portion): void {
    const ids = new Uint8Array(table.buffer)
    this.insertStatement.run(number, until_ms, ids, checksumOf(number, until_ms, ids))
  }
}
