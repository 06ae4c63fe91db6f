/** The tables of the journal's file, and the settings under which it was created. */
import type { DatabaseSync } from "node:sqlite"
import { crc32 } from "node:zlib"
import { JournalError, RECOVERY_HINT } from "./JournalError.ts"

/** Layout version of the file. Open journals of {@link MIGRATES} get it; others are refused. */
export const LAYOUT = "8"
/** Older layouts: 6 has no `forks`, 6 and 7 have `links` without checksums. */
const MIGRATES: ReadonlySet<string> = new Set(["6", "7"])

/** The settings under which the journal was created. Results depend on them, so they never change. */
export interface Origin {
  /** UUID that identifies the event numbering. */
  readonly epoch: string
  /** Name of the rules of the first era. */
  readonly rules: string
  /** JSON of the engine's configuration. */
  readonly config: string
  /**
   * Key of the command id hashes, 16 hex digits. The file contains the hashes, so the key never changes; no state
   * depends on it.
   */
  readonly ids_key: string
  readonly created_at_ms: number
}

export const TABLES = `
  CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS blocks (
    position INTEGER PRIMARY KEY, first INTEGER NOT NULL, entries BLOB NOT NULL, chain INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS command_ids (
    portion INTEGER PRIMARY KEY, until_ms INTEGER NOT NULL, ids BLOB NOT NULL, checksum INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS links (
    account INTEGER NOT NULL, link TEXT NOT NULL, order_id TEXT NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (account, link)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS transfers (
    user_id TEXT NOT NULL, transfer_id TEXT NOT NULL, seq INTEGER NOT NULL, transfer TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (user_id, transfer_id, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS eras (position INTEGER PRIMARY KEY, rules TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS forks (
    position INTEGER PRIMARY KEY, fork TEXT NOT NULL, head_seq INTEGER NOT NULL, made_at_ms INTEGER NOT NULL,
    checksum INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS checkpoints (
    position INTEGER PRIMARY KEY, head_seq INTEGER NOT NULL, state_hash TEXT NOT NULL
  ) STRICT;
`

export type Row = Record<string, null | number | bigint | string | Uint8Array>

/** The checksum of the origin. */
export const originChecksum = ({ epoch, rules, config, ids_key, created_at_ms }: Origin): string =>
  String(crc32(JSON.stringify([epoch, rules, config, ids_key, created_at_ms])))

const readMeta = (db: DatabaseSync): ReadonlyMap<string, string> => {
  const rows = db.prepare("SELECT key, value FROM meta").all() as ReadonlyArray<Row>
  return new Map(rows.map((row) => [row["key"] as string, row["value"] as string]))
}

/** Reads the origin of a journal; undefined where the file has none. Throws {@link JournalError}. */
export const readOrigin = (db: DatabaseSync, path: string): Origin | undefined => {
  const meta = readMeta(db)
  if (meta.size === 0) return undefined
  const layout = meta.get("layout")
  if (layout !== LAYOUT && !MIGRATES.has(layout ?? "")) {
    throw new JournalError({
      message:
        `${path} has layout ${layout}, this program reads layout ${LAYOUT}; run the program that wrote it, or start ` +
        `with an empty DATA_DIR`
    })
  }
  const origin: Origin = {
    epoch: meta.get("epoch")!,
    rules: meta.get("rules")!,
    config: meta.get("config")!,
    ids_key: meta.get("ids_key")!,
    created_at_ms: Number(meta.get("created_at_ms"))
  }
  if (meta.get("checksum") !== originChecksum(origin))
    throw new JournalError({
      message: `${path} is damaged: the checksum of its origin does not match. ${RECOVERY_HINT}`
    })
  return origin
}
