/**
 * The journal: every input that changed the engine, in order, durable before anyone is told.
 *
 * One SQLite file in WAL mode with full sync. A turn of the event loop is one transaction: `begin`, any number of
 * `append`, `commit`. What is committed survives the loss of power; what is not has never happened. An exclusive lock
 * on a file beside it keeps a second writer out for as long as this process lives.
 *
 * Tables: `meta` (what the journal was made with), `eras` (the rules that the entries after a position obey), `blocks` (the
 * entries of a turn in rows of some 64 KiB: {@link Block}, with a checksum of all entries so far, so that what was altered or
 * lost is found at its position), `command_ids` (where the ids of the last 24 h stand, {@link CommandIds}), `links` (order
 * ids by order_link_id, for ever), `transfers` (by their id, for ever, as they stood after an event), `checkpoints` (state hash
 * at a position, against which a replay is judged).
 */
import { existsSync } from "node:fs"
import { dirname } from "node:path"
import { DatabaseSync, type StatementSync } from "node:sqlite"
import { crc32 } from "node:zlib"
import { Schema } from "effect"
import { Command } from "../../proto/gateway/v1/sequencer.ts"
import { Block, type BlockEntry, entriesOf } from "./Block.ts"
import {
  CommandIds,
  emptyPortion,
  hashOf,
  PORTION,
  PORTION_BYTES,
  type Portion,
  portionOf,
  PORTIONS_MAX,
  put
} from "./CommandIds.ts"
import * as Directory from "./Directory.ts"
import * as PrivateFiles from "./PrivateFiles.ts"

/** The journal cannot be opened, read or trusted. `message` says what the operator can do. */
export class JournalError extends Schema.TaggedError<JournalError>()("JournalError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Unknown)
}) {}

/**
 * Repetitions of a command_id are answered from the journal for this long.
 * Source: docs/contract/boundary.md#command-ids.
 */
export const REPETITION_MS = 24 * 60 * 60 * 1000

/** Pages that the write-ahead log collects before they move into the file: 16 MiB, so that few commits pay for it. */
const WAL_PAGES = 4096

/** Layout of the file. A file of another layout is refused. */
const LAYOUT = "6"

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
  /** Key of the hashes of command ids, 16 hex digits. The hashes are in the file, so it never changes; no state depends on it. */
  readonly ids_key: string
  readonly created_at_ms: number
}

/** The entries after `position` obey `rules`. */
export interface Era {
  readonly position: number
  readonly rules: string
}

/** An entry by itself. */
export interface FoundEntry {
  readonly position: number
  readonly at_ms: number
  /** Encoded proto Command; undefined for a Tick. */
  readonly command: Uint8Array | undefined
  /** Encoded proto CommandResult; undefined for a Tick. */
  readonly result: Uint8Array | undefined
}

export interface Entry extends FoundEntry {
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
  CREATE TABLE IF NOT EXISTS blocks (
    position INTEGER PRIMARY KEY, first INTEGER NOT NULL, entries BLOB NOT NULL, chain INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS command_ids (
    portion INTEGER PRIMARY KEY, until_ms INTEGER NOT NULL, ids BLOB NOT NULL, checksum INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS links (
    account INTEGER NOT NULL, link TEXT NOT NULL, order_id TEXT NOT NULL, PRIMARY KEY (account, link)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS transfers (
    user_id TEXT NOT NULL, transfer_id TEXT NOT NULL, seq INTEGER NOT NULL, transfer TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (user_id, transfer_id, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS eras (position INTEGER PRIMARY KEY, rules TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS checkpoints (
    position INTEGER PRIMARY KEY, head_seq INTEGER NOT NULL, state_hash TEXT NOT NULL
  ) STRICT;
`

type Row = Record<string, null | number | bigint | string | Uint8Array>

const toEntry = (position: number, entry: BlockEntry, chain: number): Entry => ({
  position,
  at_ms: entry.at_ms,
  command: entry.command,
  result: entry.result,
  chain
})

/** The checksum of a portion of ids. */
const portionChecksum = (portion: number, until_ms: number, ids: Uint8Array): number =>
  crc32(ids, crc32(`${portion} ${until_ms}`))

/** A portion as it was written down; undefined where it was not, or is damaged. */
const readPortion = (number: number, row: Row | undefined): Portion | undefined => {
  if (row === undefined) return undefined
  const [ids, until_ms] = [row["ids"] as Uint8Array, row["until_ms"] as number]
  if (ids.length !== PORTION_BYTES || portionChecksum(number, until_ms, ids) !== row["checksum"]) return undefined
  return { number, table: new Uint32Array(ids.slice().buffer), until_ms }
}

/** The checksum of a transfer in the index. */
const checksumOf = (user_id: string, transfer_id: string, seq: number, transfer: string): number =>
  crc32(JSON.stringify([user_id, transfer_id, seq, transfer]))

const toCheckpoint = (row: Row): Checkpoint => ({
  position: row["position"] as number,
  head_seq: row["head_seq"] as number,
  state_hash: row["state_hash"] as string
})

/** The checksum of what a journal was made with. */
const originChecksum = ({ epoch, rules, config, ids_key, created_at_ms }: Origin): string =>
  String(crc32(JSON.stringify([epoch, rules, config, ids_key, created_at_ms])))

const readMeta = (db: DatabaseSync): ReadonlyMap<string, string> => {
  const rows = db.prepare("SELECT key, value FROM meta").all() as ReadonlyArray<Row>
  return new Map(rows.map((row) => [row["key"] as string, row["value"] as string]))
}

const readOrigin = (db: DatabaseSync, path: string): Origin | undefined => {
  const meta = readMeta(db)
  if (meta.size === 0) return undefined
  const layout = meta.get("layout")
  if (layout !== LAYOUT) {
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
    throw new JournalError({ message: `${path} is damaged: what it was made with is not what was written. ${CURE}` })
  return origin
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
export type JournalPort = Pick<Journal, Exclude<keyof Journal, "close" | "readIds">>

export class Journal {
  readonly path: string
  readonly origin: Origin
  private readonly db: DatabaseSync
  private readonly release: () => void
  private readonly beginStatement: StatementSync
  private readonly commitStatement: StatementSync
  private readonly rollbackStatement: StatementSync
  private readonly insertStatement: StatementSync
  private readonly blockStatement: StatementSync
  private readonly chainStatement: StatementSync
  private readonly findLinkStatement: StatementSync
  private readonly insertLinkStatement: StatementSync
  private readonly findTransferStatement: StatementSync
  private readonly insertTransferStatement: StatementSync
  private readonly insertPortionStatement: StatementSync
  private readonly recentLinks = new RecentLinks()
  private readonly block = new Block()
  /** Read when it is first asked for: only a writer needs it. */
  private commandIds: CommandIds | undefined
  private last: number
  /** Checksum of the entries that are in rows. */
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
    this.insertStatement = db.prepare("INSERT INTO blocks (position, first, entries, chain) VALUES (?, ?, ?, ?)")
    this.blockStatement = db.prepare("SELECT first, entries FROM blocks WHERE position >= ? ORDER BY position LIMIT 1")
    this.chainStatement = db.prepare("SELECT chain FROM blocks WHERE position = ?")
    this.findLinkStatement = db.prepare("SELECT order_id FROM links WHERE account = ? AND link = ?")
    this.insertLinkStatement = db.prepare("INSERT INTO links (account, link, order_id) VALUES (?, ?, ?)")
    this.findTransferStatement = db.prepare(
      "SELECT seq, transfer, checksum FROM transfers WHERE user_id = ? AND transfer_id = ? AND seq < ? ORDER BY seq DESC LIMIT 1"
    )
    this.insertTransferStatement = db.prepare(
      "INSERT INTO transfers (user_id, transfer_id, seq, transfer, checksum) VALUES (?, ?, ?, ?, ?)"
    )
    this.insertPortionStatement = db.prepare(
      "INSERT OR REPLACE INTO command_ids (portion, until_ms, ids, checksum) VALUES (?, ?, ?, ?)"
    )
    const last = db.prepare("SELECT position, chain FROM blocks ORDER BY position DESC LIMIT 1").get() as
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
      Directory.make(dirname(path))
      PrivateFiles.directory(dirname(path))
      PrivateFiles.database(`${path}.lock`)
      release = lock(`${path}.lock`)
      PrivateFiles.database(path)
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
        const meta = { layout: LAYOUT, ...origin, checksum: originChecksum(origin) }
        for (const [key, value] of Object.entries(meta)) insert.run(key, String(value))
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
   * The entries after a position, which is 0 or the end of a turn, in order, read as they are asked for and held against the
   * checksum. Throws {@link JournalError} at the first that is missing, altered or cannot be read.
   */
  *entries(after = 0): Generator<Entry> {
    let position = after
    const damaged = (what: string, cause?: unknown) =>
      new JournalError({ message: `${this.path} is damaged: ${what}. ${CURE}`, cause })
    let chain = this.chainAt(after) ?? 0
    const rows = this.db
      .prepare("SELECT position, first, entries, chain FROM blocks WHERE position > ? ORDER BY position")
      .iterate(after)
    while (true) {
      let next: IteratorResult<unknown>
      try {
        next = rows.next()
      } catch (cause) {
        throw damaged(`after position ${position} it cannot be read (${(cause as Error).message})`, cause)
      }
      if (next.done === true) break
      const row = next.value as Row
      const [first, last, bytes] = [row["first"], row["position"] as number, row["entries"] as Uint8Array]
      if (first !== position + 1) throw damaged(`there is a gap before position ${first}`)
      const altered = () => damaged(`what stands from position ${first} to position ${last} is not what was written`)
      if (crc32(bytes, chain) !== row["chain"]) throw altered()
      let begin = 0
      for (const entry of entriesOf(bytes)) {
        chain = crc32(bytes.subarray(begin, entry.end), chain)
        begin = entry.end
        yield toEntry(++position, entry, chain)
      }
      if (position !== last) throw altered()
    }
  }

  /** Checksum of the entries up to a position; undefined where no turn ends there. */
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

  /** How a transfer of a user last stood before the event `seq`: its JSON, and the event after which it was written. */
  findTransfer(user_id: string, transfer_id: string, seq: number): { seq: number; transfer: string } | undefined {
    const row = this.findTransferStatement.get(user_id, transfer_id, seq) as Row | undefined
    if (row === undefined) return undefined
    const found = { seq: row["seq"] as number, transfer: row["transfer"] as string }
    // a row in the wrong place would pass for a repetition, and no entry would tell
    if (row["checksum"] !== checksumOf(user_id, transfer_id, found.seq, found.transfer))
      throw new JournalError({
        message: `${this.path} is damaged: transfer ${transfer_id} in its index is not what was written. ${CURE}`
      })
    return found
  }

  /** Writes down how a transfer stands after the event `seq`, in the open transaction. */
  addTransfer(user_id: string, transfer_id: string, seq: number, transfer: string): void {
    const checksum = checksumOf(user_id, transfer_id, seq, transfer)
    this.insertTransferStatement.run(user_id, transfer_id, seq, transfer, checksum)
  }

  checkpoints(): ReadonlyArray<Checkpoint> {
    const rows = this.db.prepare("SELECT position, head_seq, state_hash FROM checkpoints ORDER BY position").all()
    return (rows as ReadonlyArray<Row>).map(toCheckpoint)
  }

  /** The last entry of a command_id of the last 24 h, also one of the open transaction. */
  find(command_id: string): FoundEntry | undefined {
    for (const position of this.ids().find(hashOf(this.origin.ids_key, command_id))) {
      const { at_ms, command, result } = this.entryAt(position)
      if (command !== undefined && Command.decode(command).command_id === command_id)
        return { position, at_ms, command, result }
    }
    return undefined
  }

  private entryAt(position: number): BlockEntry {
    const inRows = this.last - this.block.count
    const row = position > inRows ? undefined : (this.blockStatement.get(position) as Row | undefined)
    const first = row === undefined ? inRows + 1 : (row["first"] as number)
    let at = first
    // a block that is still being filled is used again
    const bytes = row === undefined ? new Uint8Array(this.block.bytes) : (row["entries"] as Uint8Array)
    for (const entry of entriesOf(bytes)) if (at++ === position) return entry
    throw new JournalError({ message: `${this.path} is damaged: there is no entry at position ${position}. ${CURE}` })
  }

  /** Reads the ids of the last 24 h, so that the first command need not wait for them. Throws {@link JournalError}. */
  readIds(): void {
    this.ids()
  }

  private ids(): CommandIds {
    return (this.commandIds ??= new CommandIds(this.readPortions()))
  }

  /** The portions of the last 24 h, newest first: as they were written down, or else from the entries. */
  private readPortions(): ReadonlyArray<Portion> {
    const statement = this.db.prepare("SELECT until_ms, ids, checksum FROM command_ids WHERE portion = ?")
    const portions: Array<Portion> = []
    for (let number = portionOf(this.last); number >= 0 && portions.length < PORTIONS_MAX; number--) {
      const portion = readPortion(number, statement.get(number) as Row | undefined) ?? this.scanPortion(number)
      if (portions.length > 0 && portion.until_ms < portions[0]!.until_ms - REPETITION_MS) break
      portions.push(portion)
    }
    return portions
  }

  private scanPortion(number: number): Portion {
    const portion = emptyPortion(number)
    const begin = number * PORTION
    const rows = this.db
      .prepare("SELECT first, entries, chain FROM blocks WHERE position >= ? AND first < ? ORDER BY position")
      .iterate(begin, begin + PORTION)
    let chain: number | undefined
    try {
      for (const row of rows as Iterable<Row>) {
        const bytes = row["entries"] as Uint8Array
        let position = row["first"] as number
        chain = crc32(bytes, chain ?? this.chainAt(position - 1) ?? 0)
        if (chain !== row["chain"]) throw new Error(`what stands from position ${position} on is not what was written`)
        for (const { at_ms, hash } of entriesOf(bytes)) {
          if (portionOf(position) === number) put(portion, position, at_ms, hash)
          position++
        }
      }
    } catch (cause) {
      throw new JournalError({ message: `${this.path} is damaged: ${(cause as Error).message}. ${CURE}`, cause })
    }
    return portion
  }

  private writePortion({ number, table, until_ms }: Portion): void {
    const ids = new Uint8Array(table.buffer)
    this.insertPortionStatement.run(number, until_ms, ids, portionChecksum(number, until_ms, ids))
  }

  begin(): void {
    this.beginStatement.run()
  }

  append(at_ms: number, command_id: string | null, command: Uint8Array | null, result: Uint8Array | null): void {
    const hash = command_id === null ? 0 : hashOf(this.origin.ids_key, command_id)
    if (this.block.isFullFor(command, result)) this.flush()
    const full = this.ids().add(this.last + 1, at_ms, hash, REPETITION_MS)
    if (full !== undefined) this.writePortion(full)
    this.block.add(at_ms, hash, command, result)
    this.last++
  }

  /** Makes a row of the entries that are in none yet. */
  private flush(): void {
    const { block, last } = this
    if (block.count === 0) return
    this.chain = crc32(block.bytes, this.chain)
    this.insertStatement.run(last, last - block.count + 1, block.bytes, this.chain)
    block.clear()
  }

  /** Makes the open transaction durable. When it throws, nothing of it may be acknowledged. */
  commit(): void {
    this.flush()
    this.commitStatement.run()
    this.committed = this.last
    this.committedChain = this.chain
  }

  rollback(): void {
    this.last = this.committed
    this.chain = this.committedChain
    this.block.clear()
    this.commandIds = undefined
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
