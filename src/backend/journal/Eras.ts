/** The eras of a journal: the rules of the entries after a position. */
import type { DatabaseSync } from "node:sqlite"
import type { Row } from "./JournalSchema.ts"

/** The entries after `position` obey `rules`. */
export interface Era {
  readonly position: number
  readonly rules: string
}

/** Reads the eras, oldest first; the last one is the current one. */
export const read = (db: DatabaseSync): ReadonlyArray<Era> => {
  const rows = db.prepare("SELECT position, rules FROM eras ORDER BY position").all() as ReadonlyArray<Row>
  return rows.map((row) => ({ position: row["position"] as number, rules: row["rules"] as string }))
}

/** Stores an era. A second one at a position replaces the first: no entry belongs to that. */
export const write = (db: DatabaseSync, { position, rules }: Era): void => {
  db.prepare("INSERT OR REPLACE INTO eras (position, rules) VALUES (?, ?)").run(position, rules)
}
