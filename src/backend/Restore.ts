/**
 * Restores a data directory from a backup, or from the copy of a damaged one, and begins a new fork of its history: entries
 * after the copy were acknowledged, and gateways that have seen them must notice.
 *
 * The copy is made and checked beside the data directory's content, which is moved aside and kept. A marker is there from
 * before the first move until after the last one: a backend does not start after an interrupted restore. A copy that was
 * complete stays until another restore succeeds.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { Clock, Effect } from "effect"
import { GATEWAY_LOCK, tryLock } from "../node/FileLock.ts"
import * as PrivateFiles from "../node/PrivateFiles.ts"
import { machine } from "./engine/EngineMachine.ts"
import * as Backup from "./journal/Backup.ts"
import * as Directory from "./journal/Directory.ts"
import { Journal, lock } from "./journal/Journal.ts"
import { JournalError } from "./journal/JournalError.ts"
import { recover } from "./journal/Recovery.ts"
import * as Running from "./server/Running.ts"

/** Entries of the replaced journal after the end of the copy. */
export interface Lost {
  readonly entries: number
  /** Commands among the entries that could be read, and the times of the first and the last one, Unix ms. */
  readonly commands: number
  readonly from_ms: number | null
  readonly until_ms: number | null
}

export interface Restored {
  readonly directory: string
  /** Where the former content is; null where there was none. */
  readonly replaced: string | null
  readonly epoch: string
  /** Id of the fork that the restore began. */
  readonly fork: string
  /** Entries, time of the last one and newest event of the restored history. */
  readonly entries: number
  readonly at_ms: number
  readonly head_seq: number
  readonly state_hash: string
  /** Null where it is not known: there was no journal, or one of another history. */
  readonly lost: Lost | null
}

const JOURNAL = join("backend", "journal.sqlite")
/** Prefix of the copies of restores in a data directory. */
const COPY = "restoring-"

/** Names in a data directory that a restore replaces. */
const contentOf = (directory: string): ReadonlyArray<string> =>
  existsSync(directory)
    ? readdirSync(directory).filter((name) => name === "backend" || /\.(json|sqlite(-wal|-shm)?)$/u.test(name))
    : []

/** What the replaced journal holds after the end of the restored one. */
export const lostOf = (former: string, restored: Journal): Lost | null => {
  if (!existsSync(former)) return null
  let journal: Journal | undefined
  try {
    journal = Journal.read(former, { damaged: true })
    const { position } = restored
    const witnessed = Journal.witnessed(former)?.position ?? 0
    const entries = Math.max(journal.position, witnessed) - position
    if (journal.origin.epoch !== restored.origin.epoch || entries < 0) return null
    if (journal.chainAt(position) !== restored.checksum) return null
    const lost = { entries, commands: 0, from_ms: null as number | null, until_ms: null as number | null }
    try {
      for (const { at_ms, command } of journal.entries(position)) {
        lost.from_ms ??= at_ms
        lost.until_ms = at_ms
        if (command !== undefined) lost.commands++
      }
    } catch {
      // damaged from here on: what could be read is counted
    }
    return lost
  } catch {
    return null
  } finally {
    journal?.close()
  }
}

/** Replays the copy and begins its fork. Returns what it holds. */
const beginFork = (directory: string, fork: string, now_ms: number, former: string) => {
  const journal = Journal.existing(Running.journalPath(directory))
  try {
    const limits = { events_kept_max: 0, bytes_kept_max: 0 }
    const { at_ms, state } = recover(machine, journal, { limits, warn: () => {} })
    const head_seq = machine.headSeq(state)
    journal.beginFork(fork, head_seq, now_ms)
    return {
      epoch: journal.origin.epoch,
      fork,
      entries: journal.position,
      at_ms,
      head_seq,
      state_hash: machine.hash(state),
      lost: lostOf(former, journal)
    }
  } finally {
    journal.close()
  }
}

const move = (names: ReadonlyArray<string>, from: string, to: string): void => {
  for (const name of names) renameSync(join(from, name), join(to, name))
  Directory.sync(to)
  Directory.sync(from)
}

/** Removes copies of restores that were interrupted. */
const removeCopies = (directory: string, isRemoved: (name: string) => boolean): void => {
  for (const name of readdirSync(directory))
    if (name.startsWith(COPY) && isRemoved(name)) rmSync(join(directory, name), { recursive: true, force: true })
}

/** Excludes a gateway from its data directory until `release`. */
const lockGateway = (path: string): (() => void) => {
  const release = tryLock(path)
  if (release !== undefined) return release
  throw new JournalError({ message: `a gateway is using ${dirname(path)}; stop it or set another DATA_DIR` })
}

/**
 * Replaces the content of a data directory by a copy of `source`, a backup or another data directory, which may be the
 * same one. No program may use the data directory meanwhile.
 */
export const restore = (dataDir: string, source: string): Effect.Effect<Restored, JournalError> =>
  Effect.gen(function* () {
    const now_ms = yield* Clock.currentTimeMillis
    const directory = resolve(dataDir)
    const stamp = new Date(now_ms).toISOString().replaceAll(":", "-")
    const aside = join(directory, `${COPY}${stamp}`)
    const marker = Running.restoringPath(directory)
    const former = join(directory, JOURNAL)
    const failed = (cause: unknown) =>
      cause instanceof JournalError
        ? cause
        : new JournalError({ message: `the restore failed: ${(cause as Error).message}`, cause })
    for (const [path, take] of [
      [join(directory, GATEWAY_LOCK), lockGateway],
      [former, lock]
    ] as const) {
      yield* Effect.acquireRelease(
        Effect.try({ try: () => (existsSync(path) ? take(path) : undefined), catch: failed }),
        (release) => Effect.sync(() => release?.())
      )
    }
    yield* Effect.try({
      try: () => {
        PrivateFiles.makeDirectory(directory)
        removeCopies(directory, (name) => name.endsWith(".partial"))
      },
      catch: failed
    })
    yield* Effect.mapError(Backup.backup(source, aside), ({ cause }) => failed(cause))
    return yield* Effect.try({
      try: (): Restored => {
        const restored = beginFork(aside, crypto.randomUUID(), now_ms, former)
        const names = contentOf(directory)
        const replaced = join(directory, `replaced-${stamp}`)
        // an earlier build made its copy under this name
        if (!existsSync(marker)) PrivateFiles.file(marker)
        Directory.sync(directory)
        if (names.length > 0) {
          mkdirSync(replaced, { mode: 0o700 })
          move(names, directory, replaced)
        }
        move(readdirSync(aside), aside, directory)
        rmSync(marker, { recursive: true })
        Directory.sync(directory)
        removeCopies(directory, () => true)
        return { directory, replaced: names.length > 0 ? replaced : null, ...restored }
      },
      catch: failed
    })
  }).pipe(Effect.scoped)
