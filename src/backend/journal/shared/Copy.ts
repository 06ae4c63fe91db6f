/**
 * Opens the local copy of a shared journal. The copy has the index of ids and the snapshots, so that a start reads only
 * what followed them from the database.
 */
import { existsSync, renameSync } from "node:fs"
import { dirname } from "node:path"
import { Effect, Schedule, type Scope } from "effect"
import { Journal } from "../Journal.ts"
import { JournalError, RESTORED_HINT } from "../JournalError.ts"
import type { Origin } from "../JournalSchema.ts"
import type { JournalDatabase } from "./JournalDatabase.ts"

/** Pause between two attempts to reach the database at the start, in ms. */
const RETRY_MS = 1000

/**
 * Opens the copy at a path until the scope closes. Waits for the database. Where the database has no journal yet, `made`
 * begins one. A copy with entries that the database does not have proves that the database lost them: the start fails,
 * unless `onReplaced` is there. Then the copy is moved aside and built anew, and `onReplaced` receives where it is.
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
      if (copy === undefined) return yield* openNew
      if (copy.origin.epoch !== origin.epoch)
        return yield* new JournalError({
          message: `${path} is a copy of another journal than that of JOURNAL_URL; use another DATA_DIR`
        })
      const { position } = copy
      if ((yield* session.checksumAt(position)) === copy.chainAt(position)) return adopted(copy)
      if (onReplaced === undefined)
        return yield* new JournalError({
          message:
            `${path} has entries up to position ${position} that the database of JOURNAL_URL does not have. ` +
            RESTORED_HINT
        })
      const folder = dirname(path)
      const aside = `${folder}.${position}.aside`
      copy.close()
      copy = undefined
      yield* Effect.try({
        try: () => renameSync(folder, aside),
        catch: (cause) => new JournalError({ message: `cannot move ${folder} to ${aside}`, cause })
      })
      onReplaced(aside)
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
