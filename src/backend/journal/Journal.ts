/**
 * The journal: every input that changed the engine, in order, durable before anyone is told.
 *
 * One SQLite file in WAL mode with full sync. A turn of the event loop is one transaction: `begin`, any number of
 * `append`, `commit`. What is committed survives the loss of power; what is not has never happened. An exclusive lock
 * on a file beside it keeps a second writer out for as long as this process lives.
 *
 * Tables: `meta` (what the journal was made with), `eras` (the rules that the entries after a position obey), `entries`
 * (position, time, command, result, and a checksum of all entries so far, so that what was altered or lost is found at its
 * position), `links` (order ids by order_link_id, for ever), `checkpoints` (state hash at a position, against which a
 * replay is judged).
 */
import { existsSync, mkdirSync } from "node:fs"
import { dirname } from "node:path"
import { DatabaseSync, type StatementSync } from "node:sqlite"
import { crc32 } from "node:zlib"
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
const LAYOUT = "2"

/** Recent links kept in memory, two generations of so many; the rest is looked up in the file. */
const RECENT_LINKS_MAX = 50_000

/** Memory that SQLite may use for pages, in KiB: order_link_ids are looked up all over their table. */
const CACHE_KIB = 65_536

/** What the journal was made with. Results depend on it, so it never changes. */
export interface Origin {
  /** UUID; the numbering of events belongs to it. */
  readonly epoch: string
  /** Rules of the first era. */
  readonly rules: string
  /** JSON of the engine's configuration. */
  readonly config: string
  readonly created_at_ms: number
}

/** The entries after `position` obey `rules`. */
export interface Era {
  readonly position: number
  readonly rules: string
}

export interface Entry {
  readonly position: number
  readonly at_ms: number
  /** Encoded proto Command; undefined for a Tick. */
  readonly command: Uint8Array | undefined
  /** Encoded proto CommandResult; undefined for a Tick. */
  readonly result: Uint8Array | undefined
  /** Checksum over this entry and all before it. */
  readonly chain: number
}

export interface Checkpoint {
  readonly position: number
  readonly head_seq: number
  readonly state_hash: string
}

const TABLES = `
  CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS entries (
    position INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, command_id TEXT, command BLOB, result BLOB,
    chain INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS entries_by_command ON entries (command_id, position) WHERE command_id IS NOT NULL;
  CREATE TABLE IF NOT EXISTS links (
    account INTEGER NOT NULL, link TEXT NOT NULL, order_id TEXT NOT NULL, PRIMARY KEY (account, link)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS eras (position INTEGER PRIMARY KEY, rules TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS checkpoints (
    position INTEGER PRIMARY KEY, head_seq INTEGER NOT NULL, state_hash TEXT NOT NULL
  ) STRICT;
`

type Row = Record<string, null | number | bigint | string | Uint8Array>

const toEntry = (row: Row): Entry => ({
  position: row["position"] as number,
  at_ms: row["at_ms"] as number,
  command: (row["command"] as Uint8Array | null) ?? undefined,
  result: (row["result"] as Uint8Array | null) ?? undefined,
  chain: row["chain"] as number
})

const NOTHING = new Uint8Array()
const frame = Buffer.alloc(24)

/** The checksum after one more entry. */
const chainOf = (
  chain: number,
  position: number,
  at_ms: number,
  command: Uint8Array | null | undefined,
  result: Uint8Array | null | undefined
): number => {
  frame.writeDoubleLE(position, 0)
  frame.writeDoubleLE(at_ms, 8)
  frame.writeInt32LE(command?.length ?? -1, 16)
  frame.writeInt32LE(result?.length ?? -1, 20)
  return crc32(result ?? NOTHING, crc32(command ?? NOTHING, crc32(frame, chain)))
}

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

/** An error as what it is here: a file that cannot be read, unless it says so itself. */
export const unreadable = (path: string, where: string, cause: unknown): JournalError =>
  cause instanceof JournalError
    ? cause
    : new JournalError({ message: `${path} cannot be read ${where}: ${(cause as Error).message}. ${CURE}`, cause })

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

/** Two generations of recent links. */
class RecentLinks {
  private recent = new Map<string, string>()
  private before = new Map<string, string>()

  get(key: string): string | undefined {
    return this.recent.get(key) ?? this.before.get(key)
  }

  set(key: string, order_id: string): void {
    if (this.recent.size >= RECENT_LINKS_MAX) {
      this.before = this.recent
      this.recent = new Map()
    }
    this.recent.set(key, order_id)
  }

  clear(): void {
    this.recent.clear()
    this.before.clear()
  }
}

/** What to do about a file that lost or altered entries. */
export const CURE = `Nothing was started. Restore the last backup: docs/operations.md, "A damaged journal"`

const wrap = (path: string, cause: unknown): JournalError =>
  cause instanceof JournalError
    ? cause
    : new JournalError({ message: `cannot open the journal ${path}: ${(cause as Error).message}`, cause })

/** What the writer and a replay use of a journal. */
export type JournalPort = Pick<Journal, Exclude<keyof Journal, "close">>

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
  private readonly chainStatement: StatementSync
  private readonly findLinkStatement: StatementSync
  private readonly insertLinkStatement: StatementSync
  private readonly recentLinks = new RecentLinks()
  private last: number
  private chain: number
  private committed: number
  private committedChain: number

  private constructor(path: string, db: DatabaseSync, origin: Origin, release: () => void) {
    this.path = path
    this.origin = origin
    this.db = db
    this.release = release
    this.beginStatement = db.prepare("BEGIN IMMEDIATE")
    this.commitStatement = db.prepare("COMMIT")
    this.rollbackStatement = db.prepare("ROLLBACK")
    this.insertStatement = db.prepare(
      "INSERT INTO entries (position, at_ms, command_id, command, result, chain) VALUES (?, ?, ?, ?, ?, ?)"
    )
    this.findStatement = db.prepare(
      "SELECT position, at_ms, command, result, chain FROM entries WHERE command_id = ? ORDER BY position DESC LIMIT 1"
    )
    this.chainStatement = db.prepare("SELECT chain FROM entries WHERE position = ?")
    this.findLinkStatement = db.prepare("SELECT order_id FROM links WHERE account = ? AND link = ?")
    this.insertLinkStatement = db.prepare("INSERT INTO links (account, link, order_id) VALUES (?, ?, ?)")
    const last = db.prepare("SELECT position, chain FROM entries ORDER BY position DESC LIMIT 1").get() as
      Row | undefined
    this.last = (last?.["position"] as number | undefined) ?? 0
    this.chain = (last?.["chain"] as number | undefined) ?? 0
    this.committed = this.last
    this.committedChain = this.chain
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
      db.exec(`PRAGMA wal_autocheckpoint = ${WAL_PAGES}; PRAGMA cache_size = -${CACHE_KIB}`)
      const isNew = db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined
      let origin = isNew ? undefined : readOrigin(db, path)
      db.exec(TABLES)
      if (origin === undefined) {
        origin = made()
        const insert = db.prepare("INSERT INTO meta (key, value) VALUES (?, ?)")
        db.exec("BEGIN IMMEDIATE")
        for (const [key, value] of Object.entries({ layout: LAYOUT, ...origin })) insert.run(key, String(value))
        db.prepare("INSERT INTO eras (position, rules) VALUES (0, ?)").run(origin.rules)
        db.exec("COMMIT")
      }
      return new Journal(path, db, origin, release)
    } catch (cause) {
      db?.close()
      release()
      throw wrap(path, cause)
    }
  }

  /** Opens a journal for writing that must be there. Throws {@link JournalError}. */
  static existing(path: string): Journal {
    if (!existsSync(path)) throw new JournalError({ message: `there is no journal at ${path}` })
    return Journal.open(path, () => {
      throw new JournalError({ message: `${path} holds no journal` })
    })
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

  /**
   * The entries after a position in order, read as they are asked for, each held against the checksum. Throws
   * {@link JournalError} at the first that is missing, altered or cannot be read.
   */
  *entries(after = 0): Generator<Entry> {
    let position = after
    let chain = this.chainAt(after) ?? 0
    const damaged = (what: string, cause?: unknown) =>
      new JournalError({ message: `${this.path} is damaged: ${what}. ${CURE}`, cause })
    const rows = this.db
      .prepare("SELECT position, at_ms, command, result, chain FROM entries WHERE position > ? ORDER BY position")
      .iterate(after)
    while (true) {
      let row: IteratorResult<unknown>
      try {
        row = rows.next()
      } catch (cause) {
        throw damaged(`after position ${position} it cannot be read (${(cause as Error).message})`, cause)
      }
      if (row.done === true) break
      const entry = toEntry(row.value as Row)
      if (entry.position !== position + 1) throw damaged(`there is a gap before position ${entry.position}`)
      chain = chainOf(chain, entry.position, entry.at_ms, entry.command, entry.result)
      if (chain !== entry.chain) throw damaged(`the entry at position ${entry.position} is not what was written`)
      position = entry.position
      yield entry
    }
  }

  /** Checksum of the entries up to a position; undefined where there is no such entry. */
  chainAt(position: number): number | undefined {
    if (position === 0) return 0
    return (this.chainStatement.get(position) as Row | undefined)?.["chain"] as number | undefined
  }

  /** The rules of now. */
  era(): Era {
    const row = this.db.prepare("SELECT position, rules FROM eras ORDER BY position DESC LIMIT 1").get() as Row
    return { position: row["position"] as number, rules: row["rules"] as string }
  }

  /** From here on the entries obey other rules. */
  beginEra(rules: string): void {
    this.db.prepare("INSERT OR REPLACE INTO eras (position, rules) VALUES (?, ?)").run(this.last, rules)
  }

  /** The order that a link of an account was spent for, by any entry of the file or of the open transaction. */
  findLink(account: number, link: string): string | undefined {
    const key = `${account} ${link}`
    const recent = this.recentLinks.get(key)
    if (recent !== undefined) return recent
    const row = this.findLinkStatement.get(account, link) as Row | undefined
    return row === undefined ? undefined : (row["order_id"] as string)
  }

  /** Spends a link, in the open transaction. */
  addLink(account: number, link: string, order_id: string): void {
    this.insertLinkStatement.run(account, link, order_id)
    this.recentLinks.set(`${account} ${link}`, order_id)
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
    const position = this.last + 1
    const chain = chainOf(this.chain, position, at_ms, command, result)
    this.insertStatement.run(position, at_ms, command_id, command, result, chain)
    this.last = position
    this.chain = chain
  }

  /** Makes the open transaction durable. When it throws, nothing of it may be acknowledged. */
  commit(): void {
    this.commitStatement.run()
    this.committed = this.last
    this.committedChain = this.chain
  }

  rollback(): void {
    this.last = this.committed
    this.chain = this.committedChain
    this.recentLinks.clear()
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
