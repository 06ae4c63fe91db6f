/** The forks of a journal: the histories that restores began. */
import type { DatabaseSync } from "node:sqlite"
import { crc32 } from "node:zlib"
import { JournalError, RECOVERY_HINT } from "./JournalError.ts"
import type { Origin, Row } from "./JournalSchema.ts"

/**
 * A history: the entries after `position` belong to it, until the next fork. A restore begins one, because entries after
 * the backup were acknowledged and are lost. The fork of the first entry has the epoch as its id.
 */
export interface Fork {
  /** UUID; of the first fork the epoch. */
  readonly fork: string
  /** Position of the last entry before the fork; 0 for the first one. */
  readonly position: number
  /** Seq of the last event before the fork. */
  readonly head_seq: number
  /** Unix ms. */
  readonly made_at_ms: number
}

const forkChecksum = ({ fork, head_seq, made_at_ms, position }: Fork): number =>
  crc32(JSON.stringify([fork, position, head_seq, made_at_ms]))

/** Reads the forks of a journal, oldest first. Throws {@link JournalError}. */
export const read = (db: DatabaseSync, path: string, origin: Origin): ReadonlyArray<Fork> => {
  const first = { fork: origin.epoch, position: 0, head_seq: 0, made_at_ms: origin.created_at_ms }
  // a reader does not migrate
  if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'forks'").get() === undefined) return [first]
  const rows = db.prepare("SELECT * FROM forks ORDER BY position").all() as ReadonlyArray<Row>
  return [
    first,
    ...rows.map((row) => {
      const fork: Fork = {
        fork: row["fork"] as string,
        position: row["position"] as number,
        head_seq: row["head_seq"] as number,
        made_at_ms: row["made_at_ms"] as number
      }
      if (row["checksum"] !== forkChecksum(fork))
        throw new JournalError({
          message: `${path} is damaged: the checksum of its fork at position ${fork.position} does not match. ${RECOVERY_HINT}`
        })
      return fork
    })
  ]
}

/** Stores a fork. A second one at a position replaces the first: nothing belongs to that. */
export const write = (db: DatabaseSync, fork: Fork): void => {
  db.prepare(
    "INSERT OR REPLACE INTO forks (position, fork, head_seq, made_at_ms, checksum) VALUES (?, ?, ?, ?, ?)"
  ).run(fork.position, fork.fork, fork.head_seq, fork.made_at_ms, forkChecksum(fork))
}
