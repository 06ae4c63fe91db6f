/**
 * Begins a new fork of a shared journal whose database was restored: entries after its end were acknowledged, and gateways
 * that have seen them must notice. No backend may lead meanwhile.
 *
 * The copy of the journal in the data directory is moved aside where it has lost entries, and is built anew.
 */
import { basename, join, resolve } from "node:path"
import { Clock, Deferred, Effect } from "effect"
import type { Machine } from "./engine/Machine.ts"
import { defaultLimits } from "./journal/EventLog.ts"
import { JournalError } from "./journal/JournalError.ts"
import { endOf, recover, snapshot } from "./journal/Recovery.ts"
import * as Copy from "./journal/shared/Copy.ts"
import type { JournalDatabase } from "./journal/shared/JournalDatabase.ts"
import * as Lease from "./journal/shared/Lease.ts"
import { Replica } from "./journal/shared/Replica.ts"
import { lostOf, type Restored } from "./Restore.ts"
import * as Running from "./server/Running.ts"

const failed = (cause: Error): JournalError =>
  cause instanceof JournalError ? cause : new JournalError({ message: `the restore failed: ${cause.message}`, cause })

/** Fails where the database has no journal, and where a backend leads it. */
const assertIdle = Effect.fnUntraced(function* (database: JournalDatabase) {
  const session = yield* database.open
  if ((yield* session.turns(0)).length === 0)
    return yield* new JournalError({ message: "the database of JOURNAL_URL has no journal: restore it first" })
  if (!(yield* session.lock))
    return yield* new JournalError({ message: "a backend leads the journal of JOURNAL_URL: stop all backends" })
}, Effect.scoped)

export const restore = <S, C>(
  machine: Machine<S, C>,
  database: JournalDatabase,
  dataDir: string
): Effect.Effect<Restored, JournalError> =>
  Effect.gen(function* () {
    const made_at_ms = yield* Clock.currentTimeMillis
    const directory = resolve(dataDir)
    const path = Running.journalPath(directory)
    yield* assertIdle(database)
    let replaced: string | null = null
    const none = () => {
      throw new JournalError({ message: "the database of JOURNAL_URL has no journal: restore it first" })
    }
    const journal = yield* Copy.open(database, path, none, (aside) => {
      replaced = aside
    })
    const recovered = yield* Effect.try({
      try: () => recover(machine, journal, { limits: defaultLimits, warn: () => {} }),
      catch: (cause) => failed(cause as Error)
    })
    recovered.openIndex()
    const { log, state } = recovered
    const replica = new Replica({ machine, state, at_ms: recovered.at_ms, journal, log, onApplied: () => {} })
    const fork = crypto.randomUUID()
    const begun = yield* Deferred.make<void>()
    const onLead = Effect.fnUntraced(function* ({ term }: Lease.Leadership) {
      const { head } = log
      const session = yield* Effect.mapError(database.open, failed)
      const isBegun = session.beginFork(term, { fork, position: journal.position, head_seq: head, made_at_ms })
      if (!(yield* Effect.mapError(isBegun, failed)))
        return yield* new JournalError({ message: "another backend leads now: stop all backends" })
      yield* Deferred.succeed(begun, undefined)
    }, Effect.scoped)
    yield* Effect.raceFirst(
      Effect.mapError(Lease.run({ database, holder: "restore", replica, onLead }), failed),
      Deferred.await(begun)
    )
    return yield* Effect.try({
      try: (): Restored => {
        journal.beginFork(fork, log.head, made_at_ms)
        snapshot(machine, journal, endOf(journal, log), { state, at_ms: replica.at_ms })
        return {
          directory,
          replaced,
          epoch: journal.origin.epoch,
          fork,
          entries: journal.position,
          at_ms: replica.at_ms,
          head_seq: log.head,
          state_hash: machine.hash(state),
          lost: replaced === null ? null : lostOf(join(replaced, basename(path)), journal)
        }
      },
      catch: (cause) => failed(cause as Error)
    })
  }).pipe(
    Effect.catchTag("SessionLost", (error) => Effect.fail(failed(error))),
    Effect.scoped
  )
