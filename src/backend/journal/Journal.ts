/**
 * The journal: every input that changed the engine, in order, durable before anyone is told.
 *
 * One SQLite file in WAL mode with full sync. A turn of the event loop is one transaction: `begin`, any number of
 * `append`, `commit`. What is committed survives the loss of power; what is not has never happened. An exclusive lock
 * on a file beside it keeps a second writer out for as long as this process lives.
 *
 * Tables: `meta` (what the journal was made with), `entries` (position, time, command, result), `checkpoints` (state
 * hash at a position, against which a replay is judged).
 */
import { mkdirSync } from "node:fs"
import { dirname } from "node:path"
import { DatabaseSync, type StatementSync } from "node:sqlite"
import { Schema } from "effect"

/** The journal cannot be opened, read or trusted. `message` says what the operator can do. */
export class JournalError extends Schema.TaggedError<JournalError>()("JournalError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Unknown)
}) {}

/** Repetitions of a command_id are answered from the journal for this long. Source: contract 8. */
export const REPETITION_MS = 24 * 60 * 60 * 1000

/** Pages that the write-ahead log collects before they move into the file: 16 MiB, so that few commits pay for it. */
const WAL_PAGES = 4096

/** Layout of the file. A file of another layout is refused. */
const LAYOUT = "1"

/** What the journal was made with. Results depend on it, so it never changes. */
export interface Origin {
  /** UUID; the numbering of events belongs to it. */
  readonly epoch: string
  readonly rules: string
  /** JSON of the engine's configuration. */
  readonly config: string
  readonly created_at_ms: number
}

export interface Entry {
  readonly position: number
  readonly at_ms: number
  /** Encoded proto Command; undefined for a Tick. */
  readonly command: Uint8Array | undefined
  /** Encoded proto CommandResult; undefined for a Tick. */
  readonly result: Uint8Array | undefined
}

export interface Checkpoint {
  readonly position: number
  readonly head_seq: number
  readonly state_hash: string
}

const TABLES = `
  CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS entries (
    position INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, command_id TEXT, command BLOB, result BLOB
  ) STRICT;
  CREATE INDEX IF NOT EXISTS entries_by_command ON entries (command_id, position) WHERE command_id IS NOT NULL;
  CREATE TABLE IF NOT EXISTS checkpoints (
    position INTEGER PRIMARY KEY, head_seq INTEGER NOT NULL, state_hash TEXT NOT NULL
  ) STRICT;
`

type Row = Record<string, null | number | bigint | string | Uint8Array>

const toEntry = (row: Row): Entry => ({
  position: row["position"] as number,
  at_ms: row["at_ms"] as number,
  command: (row["command"] as Uint8Array | null) ?? undefined,
  result: (row["result"] as Uint8Array | null) ?? undefined
})

const toCheckpoint = (row: Row): Checkpoint => ({
  position: row["position"] as number,
  head_seq: row["head_seq"] as number,
  state_hash: row["state_hash"] as string
})

const readMeta = (db: DatabaseSync): ReadonlyMap<string, string> => {
  const rows = db.prepare("SELECT key, value FROM meta").all() as ReadonlyArray<Row>
  return new Map(rows.map((row) => [row["key"] as string, row["value"] as string]))
}

const readOrigin = (db: DatabaseSync, path: string): Origin | undefined => {
  const meta = readMeta(db)
  if (meta.size === 0) return undefined
  const layout = meta.get("layout")
  if (layout !== LAYOUT) {
    throw new JournalError({ message: `${path} has layout ${layout}, this program reads layout ${LAYOUT}` })
  }
  return {
    epoch: meta.get("epoch")!,
    rules: meta.get("rules")!,
    config: meta.get("config")!,
    created_at_ms: Number(meta.get("created_at_ms"))
  }
}

/** Keeps a second writer out until `release`; the operating system releases it when the process dies. */
const lock = (path: string): (() => void) => {
  const db = new DatabaseSync(path)
  try {
    db.exec("PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
  } catch (cause) {
    db.close()
    throw new JournalError({
      message: `another backend is using ${dirname(path)}; stop it or set another DATA_DIR`,
      cause
    })
  }
  return () => db.close()
}

const wrap = (path: string, cause: unknown): JournalError =>
  cause instanceof JournalError
    ? cause
    : new JournalError({ message: `cannot open the journal ${path}: ${(cause as Error).message}`, cause })

export class Journal {
  readonly path: string
  readonly origin: Origin
  private readonly db: DatabaseSync
  private readonly release: () => void
  private readonly beginStatement: StatementSync
  private readonly commitStatement: StatementSync
  private readonly rollbackStatement: StatementSync
  private readonly insertStatement: StatementSync
  private readonly findStatement: StatementSync
  private last: number
  private committed: number

  private constructor(path: string, db: DatabaseSync, origin: Origin, release: () => void) {
    this.path = path
    this.origin = origin
    this.db = db
    this.release = release
    this.beginStatement = db.prepare("BEGIN IMMEDIATE")
    this.commitStatement = db.prepare("COMMIT")
    this.rollbackStatement = db.prepare("ROLLBACK")
    this.insertStatement = db.prepare(
      "INSERT INTO entries (position, at_ms, command_id, command, result) VALUES (?, ?, ?, ?, ?)"
    )
    this.findStatement = db.prepare(
      "SELECT position, at_ms, command, result FROM entries WHERE command_id = ? ORDER BY position DESC LIMIT 1"
    )
    this.last = (db.prepare("SELECT max(position) AS position FROM entries").get() as Row)["position"] as number | 0
    this.last ??= 0
    this.committed = this.last
  }

  /** Opens the journal for writing, and creates it from `made` where there is none. Throws {@link JournalError}. */
  static open(path: string, made: () => Origin): Journal {
    let release = () => {}
    let db: DatabaseSync | undefined
    try {
      mkdirSync(dirname(path), { recursive: true })
      release = lock(`${path}.lock`)
      db = new DatabaseSync(path)
      db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 2000")
      db.exec(`PRAGMA wal_autocheckpoint = ${WAL_PAGES}`)
      db.exec(TABLES)
      let origin = readOrigin(db, path)
      if (origin === undefined) {
        origin = made()
        const insert = db.prepare("INSERT INTO meta (key, value) VALUES (?, ?)")
        db.exec("BEGIN IMMEDIATE")
        for (const [key, value] of Object.entries({ layout: LAYOUT, ...origin })) insert.run(key, String(value))
        db.exec("COMMIT")
      }
      return new Journal(path, db, origin, release)
    } catch (cause) {
      db?.close()
      release()
      throw wrap(path, cause)
    }
  }

  /** Opens an existing journal for reading, beside a writer or not. Throws {@link JournalError}. */
  static read(path: string): Journal {
    let db: DatabaseSync | undefined
    try {
      db = new DatabaseSync(path, { readOnly: true })
      const origin = readOrigin(db, path)
      if (origin === undefined) throw new JournalError({ message: `${path} holds no journal` })
      // One read transaction: all that follows sees the same journal.
      db.exec("BEGIN")
      return new Journal(path, db, origin, () => {})
    } catch (cause) {
      db?.close()
      throw wrap(path, cause)
    }
  }

  /** Position of the last entry; 0 while the journal is empty. */
  get position(): number {
    return this.last
  }

  /** All entries in order, read as they are asked for. */
  *entries(): Generator<Entry> {
    const rows = this.db.prepare("SELECT position, at_ms, command, result FROM entries ORDER BY position").iterate()
    for (const row of rows) yield toEntry(row as Row)
  }

  checkpoints(): ReadonlyArray<Checkpoint> {
    const rows = this.db.prepare("SELECT position, head_seq, state_hash FROM checkpoints ORDER BY position").all()
    return (rows as ReadonlyArray<Row>).map(toCheckpoint)
  }

  /** The last entry of a command_id, also one of the open transaction. */
  find(command_id: string): Entry | undefined {
    const row = this.findStatement.get(command_id) as Row | undefined
    return row === undefined ? undefined : toEntry(row)
  }

  begin(): void {
    this.beginStatement.run()
  }

  append(at_ms: number, command_id: string | null, command: Uint8Array | null, result: Uint8Array | null): void {
    this.insertStatement.run(this.last + 1, at_ms, command_id, command, result)
    this.last++
  }

  /** Makes the open transaction durable. When it throws, nothing of it may be acknowledged. */
  commit(): void {
    this.commitStatement.run()
    this.committed = this.last
  }

  rollback(): void {
    this.last = this.committed
    if (this.db.isTransaction) this.rollbackStatement.run()
  }

  /** Writes down the state's hash after the last entry. */
  checkpoint(head_seq: number, state_hash: string): void {
    this.db
      .prepare("INSERT OR IGNORE INTO checkpoints (position, head_seq, state_hash) VALUES (?, ?, ?)")
      .run(this.last, head_seq, state_hash)
  }

  close(): void {
    this.db.close()
    this.release()
  }
}
