/** The checkpoints of a journal: the state hash at a position, which a replay must reproduce. */
import type { DatabaseSync } from "node:sqlite"
import type { Row } from "./JournalSchema.ts"

/** The hash of the state after the entry at `position`, whose last event is `head_seq`. */
export interface Checkpoint {
  readonly position: number
  readonly head_seq: number
  readonly state_hash: string
}

/** Reads the checkpoints, oldest first. */
export const read = (db: DatabaseSync): ReadonlyArray<Checkpoint> => {
  const rows = db.prepare("SELECT position, head_seq, state_hash FROM checkpoints ORDER BY position").all()
  return (rows as ReadonlyArray<Row>).map((row) => ({
    position: row["position"] as number,
    head_seq: row["head_seq"] as number,
    state_hash: row["state_hash"] as string
  }))
}

/** Stores a checkpoint, unless its position has one. */
export const write = (db: DatabaseSync, { head_seq, position, state_hash }: Checkpoint): void => {
  db.prepare("INSERT OR IGNORE INTO checkpoints (position, head_seq, state_hash) VALUES (?, ?, ?)").run(
    position,
    head_seq,
    state_hash
  )
}
