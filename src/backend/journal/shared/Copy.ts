/**
 * Opens the local copy of a shared journal. The copy has the index of ids and the snapshots, so that a start reads only
 * what followed them from the database.
 */
import { existsSync, renameSync, rmSync } from "node:fs"
import { dirname } from "node:path"
import { Effect, Schedule, type Scope } from "effect"
import * as HeadWitness from "../HeadWitness.ts"
import { Journal } from "../Journal.ts"
import { JournalError, RESTORED_HINT } from "../JournalError.ts"
import type { Origin } from "../JournalSchema.ts"
import * as Snapshots from "../Snapshots.ts"
import type { JournalDatabase } from "./JournalDatabase.ts"

/** Pause between two attempts to reach the database at the start, in ms. */
const RETRY_MS = 1000

/** The checksum that a snapshot has of the entries up to it; undefined where it is damaged. */
const chainOf = (directory: string, position: number): number | undefined => {
  try {
    return Snapshots.read(directory, position).head.chain
  } catch {
    return undefined
  }
}

/**
 * Opens the copy at a path until the scope closes. Waits for the database. Where the database has no journal yet, `made`
 * begins one. A copy, or a snapshot beside it, with entries that the database does not have proves that the database lost
 * them: the start fails, unless `onReplaced` is there, or a restore has begun a fork before them since. Then the copy is
 * moved aside and built anew, and `onReplaced` receives where it is.
 */
export const open = Effect.fnUntraced(function* (
  database: JournalDatabase,
  path: string,
  made: () => Origin,
  onReplaced?: (aside: string) => void
): Effect.fn.Return<Journal, JournalError, Scope.Scope> {
  let copy: Journal | undefined
  yield* Effect.addFinalizer(() => Effect.sync(() => copy?.close()))
  const openFile = (origin: () => Origin) =>
    Effect.try({
      try: () => (copy = Journal.open(path, origin, { copy: true })),
      catch: (cause) => cause as JournalError
    })
  if (existsSync(path)) yield* openFile(made)

  const matched = Effect.scoped(
    Effect.gen(function* () {
      const session = yield* database.open
      const entries = copy?.position ?? 0
      if (entries > 0 && (yield* session.turns(0)).length === 0)
        return yield* new JournalError({
          message:
            `${path} has ${entries} entries and the database of JOURNAL_URL has none. ` +
            "To begin a new journal in the database, use an empty DATA_DIR; to continue this one, start without JOURNAL_URL"
        })
      const origin = yield* session.origin(() => copy?.origin ?? made())
      const { forks } = yield* session.history
      const adopted = (journal: Journal) => {
        journal.adoptForks(forks)
        return journal
      }
      const openNew = Effect.map(
        openFile(() => origin),
        adopted
      )
      if (copy !== undefined && copy.origin.epoch !== origin.epoch) {
        if (entries > 0)
          return yield* new JournalError({
            message: `${path} is a copy of another journal than that of JOURNAL_URL; use another DATA_DIR`
          })
        // its start ended before the first entry, and its origin may be lost: its commits are not synced
        copy.close()
        copy = undefined
        for (const name of [path, `${path}-wal`, `${path}-shm`]) rmSync(name, { force: true })
      }
      // a power loss takes the end of a copy, and not its snapshots, which are synced
      const snapshots = Snapshots.directoryOf(path)
      const beyond = Snapshots.list(snapshots).filter((position) => position > entries)
      let lost: { readonly position: number; readonly what: string } | undefined
      if (copy !== undefined && (yield* session.checksumAt(entries)) !== copy.checksum)
        lost = { position: entries, what: `entries up to position ${entries}` }
      for (const position of beyond) {
        const chain = chainOf(snapshots, position)
        if (chain !== undefined && chain !== (yield* session.checksumAt(position)))
          lost ??= { position, what: `a snapshot at position ${position}` }
      }
      if (lost === undefined) {
        for (const position of beyond) Snapshots.remove(snapshots, position)
        // the database proves the end of a copy
        HeadWitness.remove(path)
        return copy === undefined ? yield* openNew : adopted(copy)
      }
      const { position, what } = lost
      const known = new Set(copy?.forks().map(({ fork }) => fork))
      // the restore accepted the loss, at another backend
      const isAccepted = copy !== undefined && forks.some(({ fork, position: at }) => at < position && !known.has(fork))
      if (onReplaced === undefined && !isAccepted)
        return yield* new JournalError({
          message: `${path} has ${what} that the database of JOURNAL_URL does not have. ${RESTORED_HINT}`
        })
      const folder = dirname(path)
      const aside = `${folder}.${position}.aside`
      copy?.close()
      copy = undefined
      yield* Effect.try({
        try: () => renameSync(folder, aside),
        catch: (cause) => new JournalError({ message: `cannot move ${folder} to ${aside}`, cause })
      })
      if (onReplaced === undefined)
        yield* Effect.logWarning(
          `${path} had ${what} that a restore of the database of JOURNAL_URL has lost: it is in ${aside}, and is built anew`
        )
      else onReplaced(aside)
      return yield* openNew
    })
  )
  return yield* matched.pipe(
    Effect.tapErrorTag("SessionLost", (error) =>
      Effect.logWarning("the database of JOURNAL_URL cannot be reached", error)
    ),
    Effect.retry({ while: ({ _tag }) => _tag === "SessionLost", schedule: Schedule.spaced(RETRY_MS) }),
    Effect.catchTag("SessionLost", (error) => Effect.die(error))
  )
})
