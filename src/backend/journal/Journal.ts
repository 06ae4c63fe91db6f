/**
 * The journal: every input that changed the engine, in order, durable before it is acknowledged.
 *
 * One SQLite file in WAL mode with full sync. A turn of the event loop is one transaction: `begin`, any number of
 * `append`, `commit`. Committed entries survive a power loss; other entries have no effect. An exclusive lock on a file
 * beside it excludes a second writer while this process lives. A third file names the last commit ({@link HeadWitness}).
 *
 * Tables:
 * - `meta`: the origin of the journal.
 * - `eras`: the rules of the entries after a position ({@link Eras}).
 * - `forks`: the histories that restores began ({@link Forks}).
 * - `blocks`: the entries ({@link BlockTable}).
 * - `command_ids`: the positions of the ids of the last 24 h ({@link RecentCommandIds}).
 * - `links`: order ids by order_link_id, permanent ({@link LinkIndex}).
 * - `transfers`: transfers by id and version, permanent ({@link TransferIndex}).
 * - `checkpoints`: the state hash at a position, which a replay must reproduce ({@link Checkpoints}).
 */
import { existsSync } from "node:fs"
import { dirname } from "node:path"
import { DatabaseSync, type StatementSync } from "node:sqlite"
import { crc32 } from "node:zlib"
import { tryLock } from "../../node/FileLock.ts"
import * as PrivateFiles from "../../node/PrivateFiles.ts"
import { Command } from "../../proto/gateway/v1/sequencer.ts"
import { Block, type BlockEntry, entriesOf } from "./Block.ts"
import { BlockTable } from "./BlockTable.ts"
import * as Checkpoints from "./Checkpoints.ts"
import { hashOf } from "./CommandIds.ts"
import * as Directory from "./Directory.ts"
import * as Eras from "./Eras.ts"
import * as Forks from "./Forks.ts"
import * as HeadWitness from "./HeadWitness.ts"
import { JournalError, openError, RECOVERY_HINT } from "./JournalError.ts"
import { LAYOUT, type Origin, originChecksum, readOrigin, TABLES } from "./JournalSchema.ts"
import * as LinkIndex from "./LinkIndex.ts"
import * as ReadOnlyDatabase from "./ReadOnlyDatabase.ts"
import { RecentCommandIds } from "./RecentCommandIds.ts"
import { TransferIndex, type TransferVersion } from "./TransferIndex.ts"

/**
 * Pages in the write-ahead log before they move to the file: 16 MiB, so that few commits pay for a checkpoint of
 * SQLite.
 */
const WAL_PAGES = 4096

/** Page cache of SQLite, in KiB: lookups of order_link_ids are spread over their whole table. */
const CACHE_KIB = 65_536

/** The entries of a turn, as every store of a journal has them. */
export interface Turn {
  /** Position of its first entry. */
  readonly first: number
  /** Position of its last entry. */
  readonly position: number
  /** The entries in the format of a {@link Block}. */
  readonly entries: Uint8Array
  /** Checksum over all entries up to the last one. */
  readonly checksum: number
}

/** Makes a turn durable in the database that a copy belongs to. */
export type AppendTurn = (turn: Turn) => Promise<void>

export interface OpenOptions {
  /** The file is the local copy of a journal in a database. The database makes turns durable, so commits are not synced. */
  readonly copy?: boolean
}

/** An entry without its checksum. */
export interface FoundEntry {
  readonly position: number
  readonly at_ms: number
  /** Encoded proto Command; undefined for a Tick. */
  readonly command: Uint8Array | undefined
  /** Encoded proto CommandResult; undefined for a Tick. */
  readonly result: Uint8Array | undefined
}

export interface Entry extends FoundEntry {
  /** Checksum over this entry and all previous ones. */
  readonly chain: number
}

const toEntry = (position: number, entry: BlockEntry, chain: number): Entry => ({
  position,
  at_ms: entry.at_ms,
  command: entry.command,
  result: entry.result,
  chain
})

/** Gives an open file of an older layout this one. Its missing tables exist by now. */
const migrate = (db: DatabaseSync): void => {
  if (db.prepare("SELECT 1 FROM meta WHERE key = 'layout' AND value = ?").get(LAYOUT) !== undefined) return
  db.exec("BEGIN IMMEDIATE")
  LinkIndex.chain(db)
  db.prepare("UPDATE meta SET value = ? WHERE key = 'layout'").run(LAYOUT)
  db.exec("COMMIT")
}

/** Excludes a second writer until `release`. */
export const lock = (path: string): (() => void) => {
  const release = tryLock(`${path}.lock`)
  if (release !== undefined) return release
  throw new JournalError({ message: `another backend is using ${dirname(path)}; stop it or set another DATA_DIR` })
}

/** Throws {@link JournalError} where a journal ends before its witness, or holds another history. */
const assertReaches = (journal: Journal, { checksum, position }: HeadWitness.Witnessed): void => {
  const { path } = journal
  if (position > journal.position)
    throw new JournalError({
      message:
        `${path} ends at position ${journal.position}, but position ${position} was committed: ` +
        `${position - journal.position} entries are lost, some of them acknowledged. ${RECOVERY_HINT}`
    })
  if (journal.chainAt(position) !== checksum)
    throw new JournalError({
      message: `${path} has another history at position ${position} than the one that was committed. ${RECOVERY_HINT}`
    })
}

/** The part of the journal that the writer and a replay use. */
export type JournalPort = Pick<
  Journal,
  Exclude<
    keyof Journal,
    | "close"
    | "readIds"
    | "refresh"
    | "pause"
    | "seal"
    | "share"
    | "forks"
    | "beginFork"
    | "adoptForks"
    | "seenSeq"
    | "demand"
  >
>

export class Journal {
  readonly path: string
  readonly origin: Origin
  private readonly db: DatabaseSync
  private readonly release: () => void
  /** Of a writer. */
  private witness: HeadWitness.HeadWitness | undefined
  private readonly beginStatement: StatementSync
  private readonly commitStatement: StatementSync
  private readonly rollbackStatement: StatementSync
  private readonly blocks: BlockTable
  private readonly links: LinkIndex.LinkIndex
  private readonly transfers: TransferIndex
  private readonly block = new Block()
  /** Loaded on first use: only a writer needs it. */
  private commandIds: RecentCommandIds | undefined
  /** A command is looked up before it is appended. */
  private hashed: { readonly command_id: string | undefined; readonly hash: number } = {
    command_id: undefined,
    hash: 0
  }
  private last: number
  /** Checksum of all entries, those of the open block included. */
  private chain: number
  private committed: number
  private committedChain: number
  /** Position of the last sealed turn of a copy. */
  private sealed: number
  /** Whether the transaction of a copy is open. */
  private isBegun = false
  /** The blocks of the open turn of a copy; undefined where the file itself is the journal. */
  private turn: Array<Uint8Array> | undefined
  private appendTurn: AppendTurn | undefined

  private constructor(path: string, db: DatabaseSync, origin: Origin, release: () => void, options: OpenOptions = {}) {
    if (options.copy === true) this.turn = []
    this.path = path
    this.origin = origin
    this.db = db
    this.release = release
    this.beginStatement = db.prepare("BEGIN IMMEDIATE")
    this.commitStatement = db.prepare("COMMIT")
    this.rollbackStatement = db.prepare("ROLLBACK")
    this.blocks = new BlockTable(db, path)
    this.links = new LinkIndex.LinkIndex(db, path)
    this.transfers = new TransferIndex(db, path)
    const { chain, position } = this.blocks.end()
    this.last = this.committed = this.sealed = position
    this.chain = this.committedChain = chain
  }

  /** Opens the journal for writing; creates it from `made` where it does not exist. Throws {@link JournalError}. */
  static open(path: string, made: () => Origin, options: OpenOptions = {}): Journal {
    let release = () => {}
    let db: DatabaseSync | undefined
    try {
      Directory.make(dirname(path))
      PrivateFiles.directory(dirname(path))
      release = lock(path)
      // read-only first: closing a writer would move a cut write-ahead log into the file, and its rest would be lost
      if (HeadWitness.exists(path)) Journal.read(path).close()
      PrivateFiles.database(path)
      db = new DatabaseSync(path)
      const synchronous = options.copy === true ? "NORMAL" : "FULL"
      db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; PRAGMA busy_timeout = 2000`)
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
        Eras.write(db, { position: 0, rules: origin.rules })
        LinkIndex.begin(db)
        db.exec("COMMIT")
      }
      migrate(db)
      const journal = new Journal(path, db, origin, release, options)
      // a copy may end anywhere: its database has the rest
      if (options.copy !== true) journal.witness = new HeadWitness.HeadWitness(path, journal.fork)
      return journal
    } catch (cause) {
      db?.close()
      release()
      throw openError(path, cause)
    }
  }

  /** Opens an existing journal for writing. Throws {@link JournalError} where there is none. */
  static existing(path: string): Journal {
    if (!existsSync(path)) throw new JournalError({ message: `there is no journal at ${path}` })
    return Journal.open(path, () => {
      throw new JournalError({ message: `${path} holds no journal` })
    })
  }

  /**
   * Opens an existing journal for reading, beside a writer or not. Throws {@link JournalError}. `damaged`: also opens one
   * that ends before its witness.
   */
  static read(path: string, { damaged = false } = {}): Journal {
    let db: DatabaseSync | undefined
    try {
      if (!existsSync(path)) {
        const lost = !damaged && HeadWitness.exists(path) ? `, but entries were committed. ${RECOVERY_HINT}` : ""
        throw new JournalError({ message: `there is no journal at ${path}${lost}` })
      }
      db = ReadOnlyDatabase.open(path)
      if (!damaged && HeadWitness.exists(path) && db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined)
        throw new JournalError({ message: `${path} is empty, but entries were committed. ${RECOVERY_HINT}` })
      const origin = readOrigin(db, path)
      if (origin === undefined) throw new JournalError({ message: `${path} holds no journal` })
      // before the transaction, because a writer goes on
      const witnessed = damaged ? undefined : HeadWitness.read(path, Forks.read(db, path, origin).at(-1)!.fork)
      // One read transaction: all reads see the same state of the journal.
      db.exec("BEGIN")
      const journal = new Journal(path, db, origin, () => {})
      if (witnessed !== undefined) assertReaches(journal, witnessed)
      return journal
    } catch (cause) {
      db?.close()
      throw openError(path, cause)
    }
  }

  /** The last commit of the journal at a path, by its witness. Throws {@link JournalError} where there is no journal. */
  static witnessed(path: string): HeadWitness.Witnessed | undefined {
    const journal = Journal.read(path, { damaged: true })
    try {
      return HeadWitness.read(path, journal.fork)
    } finally {
      journal.close()
    }
  }

  /** Lets a reader see the journal as it is now. */
  refresh(): void {
    this.pause()
    this.db.exec("BEGIN")
    const { chain, position } = this.blocks.end()
    this.last = this.committed = position
    this.chain = this.committedChain = chain
  }

  /** Ends the read transaction of a reader until {@link refresh}, so that SQLite can reuse its write-ahead log. */
  pause(): void {
    if (this.db.isTransaction) this.db.exec("COMMIT")
  }

  /** Position of the last entry; 0 while the journal is empty. */
  get position(): number {
    return this.last
  }

  /**
   * Iterates over the entries after a position up to another, each 0 or the end of a turn, and verifies their checksums.
   * Throws {@link JournalError} at the first entry that is missing, altered or unreadable.
   */
  *entries(after = 0, until = Number.MAX_SAFE_INTEGER): Generator<Entry> {
    let chain = this.blocks.chainAt(after) ?? 0
    for (const { bytes, entries, first } of this.blocks.read(after, until)) {
      let position = first
      let begin = 0
      for (const entry of entries) {
        chain = crc32(bytes.subarray(begin, entry.end), chain)
        begin = entry.end
        yield toEntry(position++, entry, chain)
      }
    }
  }

  /** Checksum of the entries up to a position; undefined where the position is not the end of a turn. */
  chainAt(position: number): number | undefined {
    return this.blocks.chainAt(position)
  }

  /** Checksum of the entries up to the last one: the identity of the history up to here. */
  get checksum(): number {
    return this.chain
  }

  /** The histories that this journal continues, oldest first; the last one is the current one. */
  forks(): ReadonlyArray<Forks.Fork> {
    return Forks.read(this.db, this.path, this.origin)
  }

  /** Id of the current fork. */
  get fork(): string {
    return this.forks().at(-1)!.fork
  }

  /** Begins a history after the last entry. `head_seq`: seq of the last event. */
  beginFork(fork: string, head_seq: number, made_at_ms: number): void {
    Forks.write(this.db, { fork, position: this.last, head_seq, made_at_ms })
    this.witness?.begin(fork)
    this.witness?.write(this.last, this.chain)
  }

  /** Replaces the forks of a copy by those of its database. */
  adoptForks(forks: ReadonlyArray<Forks.Fork>): void {
    this.db.exec("BEGIN IMMEDIATE; DELETE FROM forks")
    for (const fork of forks) Forks.write(this.db, fork)
    this.db.exec("COMMIT")
  }

  /** Seq of an event of this fork that a subscriber has seen, though this journal lacks it; 0 where there was none. */
  get seenSeq(): number {
    return HeadWitness.read(this.path, this.fork)?.seen_seq ?? 0
  }

  /** A subscriber has seen an event of this fork that this journal lacks: later starts refuse it. */
  demand(seen_seq: number): void {
    this.witness?.demand(seen_seq, this.committed, this.committedChain)
  }

  /** The eras, oldest first; the last one is the current one. */
  eras(): ReadonlyArray<Eras.Era> {
    return Eras.read(this.db)
  }

  /** The current era. */
  era(): Eras.Era {
    return this.eras().at(-1)!
  }

  /** Begins an era: later entries use other rules. The closing snapshot of the former one is kept before. */
  beginEra(rules: string): void {
    Eras.write(this.db, { position: this.last, rules })
  }

  /** The order id of an account's link. */
  findLink(account: number, link: string): string | undefined {
    return this.links.find(account, link)
  }

  /** Stores a link in the open transaction. */
  addLink(account: number, link: string, order_id: string): void {
    this.links.add(account, link, order_id)
  }

  /** The latest version of a user's transfer before the event `seq`. */
  findTransfer(user_id: string, transfer_id: string, seq: number): TransferVersion | undefined {
    return this.transfers.find(user_id, transfer_id, seq)
  }

  /** Stores the version of a transfer after the event `seq`, in the open transaction. */
  addTransfer(user_id: string, transfer_id: string, seq: number, transfer: string): void {
    this.transfers.add(user_id, transfer_id, seq, transfer)
  }

  checkpoints(): ReadonlyArray<Checkpoints.Checkpoint> {
    return Checkpoints.read(this.db)
  }

  /** Stores the state hash after the last entry. */
  checkpoint(head_seq: number, state_hash: string): void {
    Checkpoints.write(this.db, { position: this.last, head_seq, state_hash })
  }

  /** The last entry of a command_id within 24 h, including the open transaction. */
  find(command_id: string): FoundEntry | undefined {
    for (const position of this.ids().find(this.hashOf(command_id))) {
      const { at_ms, command, result } = this.entryAt(position)
      if (command !== undefined && Command.decode(command).command_id === command_id)
        return { position, at_ms, command, result }
    }
    return undefined
  }

  private hashOf(command_id: string): number {
    if (command_id !== this.hashed.command_id)
      this.hashed = { command_id, hash: hashOf(this.origin.ids_key, command_id) }
    return this.hashed.hash
  }

  private entryAt(position: number): BlockEntry {
    const { block, stored } = this
    if (position <= stored) return this.blocks.entryAt(position)
    // copied, because the open block's buffer is reused
    return [...entriesOf(new Uint8Array(block.bytes))][position - stored - 1]!
  }

  /** Position of the last entry in a row; later ones are in the open block. */
  private get stored(): number {
    return this.last - this.block.count
  }

  /**
   * Loads the ids of the last 24 h in advance, so that the first command does not wait for them. Throws {@link
   * JournalError}.
   */
  readIds(): void {
    this.ids()
  }

  private ids(): RecentCommandIds {
    return (this.commandIds ??= new RecentCommandIds(this.db, this.blocks, this.last, this.stored))
  }

  /** Begins a turn. A copy keeps its transaction open over several turns, until {@link settle}. */
  begin(): void {
    if (this.isBegun) return
    this.beginStatement.run()
    this.isBegun = this.turn !== undefined
  }

  append(at_ms: number, command_id: string | null, command: Uint8Array | null, result: Uint8Array | null): void {
    const hash = command_id === null ? 0 : this.hashOf(command_id)
    if (this.block.isFullFor(command, result)) this.flush()
    this.ids().add(this.last + 1, at_ms, hash)
    this.chain = crc32(this.block.add(at_ms, hash, command, result), this.chain)
    this.last++
  }

  /** Writes the open block as a row. */
  private flush(): void {
    const { block } = this
    if (block.count === 0) return
    this.blocks.add(this.stored + 1, this.last, block.bytes, this.chain)
    this.turn?.push(new Uint8Array(block.bytes))
    block.clear()
  }

  /**
   * Makes the turn durable: at once, or, in a copy, when the promise resolves. When it throws or rejects, no command of
   * the turn may be acknowledged.
   */
  commit(): Promise<void> | undefined {
    if (this.appendTurn === undefined) {
      this.commitFile()
      return undefined
    }
    const turn = this.seal()
    return turn === undefined ? undefined : this.appendTurn(turn)
  }

  /** Ends the turn of a copy and returns it; undefined where it has no entries. */
  seal(): Turn | undefined {
    this.flush()
    if (this.turn === undefined || this.turn.length === 0) return undefined
    const [only, ...more] = this.turn
    const entries = more.length === 0 ? only! : new Uint8Array(Buffer.concat(this.turn))
    this.turn = []
    const first = this.sealed + 1
    this.sealed = this.last
    return { first, position: this.last, entries, checksum: this.chain }
  }

  /** Commits the file of a copy. All its turns must be durable in the database. */
  settle(): void {
    if (this.isBegun) this.commitFile()
  }

  private commitFile(): void {
    this.flush()
    this.commitStatement.run()
    this.isBegun = false
    this.committed = this.last
    this.committedChain = this.chain
    this.witness?.write(this.last, this.chain)
  }

  /** From now on, a commit of this copy appends to the database. */
  share(append: AppendTurn): void {
    this.appendTurn = append
  }

  /** Whether commits append to a database. */
  get isShared(): boolean {
    return this.appendTurn !== undefined
  }

  rollback(): void {
    this.last = this.sealed = this.committed
    this.chain = this.committedChain
    if (this.turn !== undefined) this.turn = []
    this.isBegun = false
    this.block.clear()
    this.commandIds = undefined
    this.links.clear()
    if (this.db.isTransaction) this.rollbackStatement.run()
  }

  close(): void {
    this.witness?.close()
    this.db.close()
    this.release()
  }
}
