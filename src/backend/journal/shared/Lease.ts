/**
 * The lead of a shared journal: a backend follows the journal until the lock is its own, raises the term, applies the
 * rest, and leads until it loses the lead. A backend that has lost it must end: its state is ahead of the journal.
 *
 * - The lock selects one of the standbys. Its session ends soon after its backend is suspended or cut off.
 * - The term decides: an append of an earlier term has no effect.
 * - A lost session amid an append leaves its outcome open. The next session reads the position with a write, whose commit
 *   proves that everything before it is durable.
 * - Reads are served only while the lease is current: shorter than the time after which the lock may be taken.
 */
import { Clock, Deferred, Effect, Schema, type Scope } from "effect"
import type { Turn } from "../Journal.ts"
import { JournalError, RESTORED_HINT } from "../JournalError.ts"
import type { History, JournalDatabase, JournalSession, SessionLost } from "./JournalDatabase.ts"

/** Pause between two reads of a standby, in ms. */
export const FOLLOW_MS = 50
/** Interval of a leader's writes while it appends nothing, in ms. */
export const TOUCH_MS = 250
/** Age of the last durable write up to which reads are current, in ms: below the time that the lock outlives its leader. */
export const CURRENT_MS = 1100
/** Time without a commit after which a leader resigns, in ms. Source: docs/contract/boundary.md#lagging. */
export const RESIGN_MS = 3000
/**
 * Age of a session before it tries the lock, in ms. After a restart of the database, the leader takes its lock again before
 * a standby does.
 */
const LOCK_AFTER_MS = 500

/** This backend does not lead any more, and must end. */
export class LeaseLost extends Schema.TaggedError<LeaseLost>()("LeaseLost", { message: Schema.String }) {}

/** The copy of the journal of a backend. */
export interface Replica {
  /** Position of its last entry, the end of a turn. */
  readonly position: () => number
  /** Checksum of its entries. */
  readonly checksum: () => number
  /** Applies the turns that follow. Throws {@link JournalError} where they do not. */
  readonly apply: (turns: ReadonlyArray<Turn>) => void
}

/** The lead of a journal. */
export interface Leadership {
  readonly term: number
  readonly history: History
  /** Appends a turn. Resolves when it is durable; rejects when the lead is lost. One at a time. */
  readonly append: (turn: Turn) => Promise<void>
  /** Whether no other backend can lead now. */
  readonly isCurrent: () => boolean
}

export interface LeaseOptions {
  readonly database: JournalDatabase
  /** Name of this backend, for the operator. */
  readonly holder: string
  readonly replica: Replica
  /** Called once, when the replica has every entry of the journal and this backend leads. */
  readonly onLead: (leadership: Leadership) => Effect.Effect<void, JournalError>
}

/** An append that waits for its commit. */
interface Request {
  readonly turn: Turn
  readonly done: (error: LeaseLost | undefined) => void
}

/** Follows the journal, then leads it. Fails when the lead is lost or when the replica does not fit the journal. */
export const run = Effect.fnUntraced(function* ({
  database,
  holder,
  onLead,
  replica
}: LeaseOptions): Effect.fn.Return<never, LeaseLost | JournalError> {
  const clock = yield* Clock.Clock
  const now = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

  /** Whether the loss of the database is logged already. */
  let isReported = false
  const report = (message: string, error: SessionLost) =>
    Effect.suspend(() => {
      if (isReported) return Effect.void
      isReported = true
      return Effect.logWarning(message, error)
    })
  const forked = () =>
    new JournalError({
      message:
        `the copy of the journal has entries up to position ${replica.position()} that the database does not have. ` +
        RESTORED_HINT
    })
  const apply = (turns: ReadonlyArray<Turn>) =>
    Effect.try({ try: () => replica.apply(turns), catch: (cause) => cause as JournalError })

  /** Applies what follows; returns whether there was anything. */
  const follow = Effect.fnUntraced(function* (session: JournalSession) {
    const turns = yield* session.turns(replica.position())
    if (turns.length > 0) yield* apply(turns)
    return turns.length > 0
  })

  /** Follows until this backend has the lock and every entry; goes on in the same session. */
  const standBy = Effect.fnUntraced(function* (session: JournalSession) {
    const opened_ms = now()
    if ((yield* session.checksumAt(replica.position())) !== replica.checksum()) return yield* forked()
    while (true) {
      if (yield* follow(session)) continue
      if (now() - opened_ms >= LOCK_AFTER_MS && (yield* session.lock)) break
      yield* Effect.sleep(FOLLOW_MS)
    }
    const lease = yield* session.raise(holder)
    while (replica.position() < lease.position) if (!(yield* follow(session))) return yield* forked()
    if (replica.position() !== lease.position) return yield* forked()
    return { term: lease.term, history: yield* session.history }
  })

  let request: Request | undefined
  let requested = Deferred.makeUnsafe<void>()
  /** Position of the last turn that is known to be durable. */
  let end = 0
  /** When the last durable write was sent. */
  let durable_ms = 0
  let isLocked = false

  const settle = (error?: LeaseLost) => {
    const settled = request
    request = undefined
    if (error === undefined) end = settled?.turn.position ?? end
    settled?.done(error)
  }

  /** The position of the journal, if this backend still leads and the journal has what this backend knows to be durable. */
  const confirmed = Effect.fnUntraced(function* (session: JournalSession, term: number) {
    const sent_ms = now()
    const position = yield* session.confirm(term)
    if (position === undefined) return yield* new LeaseLost({ message: "another backend leads now" })
    if (position !== end && position !== request?.turn.position)
      return yield* new LeaseLost({ message: `the journal ends at position ${position}, not at position ${end}` })
    durable_ms = sent_ms
    return position
  })

  /**
   * Decides an append without a known outcome. One whose session was lost may also arrive after the next session began, and
   * then the repetition has no effect.
   */
  const decide = Effect.fnUntraced(function* (session: JournalSession, term: number) {
    if ((yield* confirmed(session, term)) !== end) settle()
  })

  /** Leads in one session, until it is lost. */
  const leadIn = Effect.fnUntraced(function* (
    session: JournalSession,
    term: number
  ): Effect.fn.Return<never, SessionLost | LeaseLost> {
    while (true) {
      if (!isLocked && (yield* session.lock)) {
        // another backend may have had the lock, and the lead, meanwhile
        yield* confirmed(session, term)
        isLocked = true
      }
      if (request === undefined) {
        yield* Effect.raceFirst(Deferred.await(requested), Effect.sleep(TOUCH_MS))
        if (request === undefined) {
          yield* confirmed(session, term)
          continue
        }
      }
      const sent_ms = now()
      requested = Deferred.makeUnsafe()
      if (yield* session.append(term, (request as Request).turn)) {
        durable_ms = sent_ms
        settle()
      } else yield* decide(session, term)
    }
  })

  const lead = Effect.fnUntraced(function* (
    first: JournalSession,
    { history, term }: Pick<Leadership, "history" | "term">
  ) {
    isLocked = true
    end = replica.position()
    yield* onLead({
      term,
      history,
      append: (turn) =>
        new Promise((resolve, reject) => {
          request = { turn, done: (error) => (error === undefined ? resolve() : reject(error)) }
          Deferred.doneUnsafe(requested, Effect.void)
        }),
      isCurrent: () => isLocked && now() - durable_ms < CURRENT_MS
    })
    const lostSession = (error: SessionLost) => {
      isLocked = false
      return report("the session with the journal's database is lost", error)
    }
    const again = Effect.scoped(
      Effect.gen(function* () {
        const session = yield* database.open
        yield* decide(session, term)
        isReported = false
        return yield* leadIn(session, term)
      })
    )
    yield* Effect.catchTag(leadIn(first, term), "SessionLost", lostSession)
    return yield* again.pipe(
      Effect.catchTag("SessionLost", lostSession),
      Effect.andThen(Effect.sleep(FOLLOW_MS)),
      Effect.forever
    )
  })

  /** Ends the lead when nothing was durable for too long. */
  const watch = Effect.gen(function* () {
    while (true) {
      yield* Effect.sleep(Math.max(1, durable_ms + RESIGN_MS - now()))
      if (now() - durable_ms >= RESIGN_MS)
        return yield* new LeaseLost({ message: `nothing could be committed for ${RESIGN_MS} ms` })
    }
  })

  const once: Effect.Effect<void, LeaseLost | JournalError> = Effect.scoped(
    Effect.gen(function* (): Effect.fn.Return<never, SessionLost | LeaseLost | JournalError, Scope.Scope> {
      const session = yield* database.open
      isReported = false
      const won = yield* standBy(session)
      // both begin with the session of the lock
      durable_ms = now()
      return yield* Effect.raceFirst(lead(session, won), watch).pipe(
        // the end of the session frees the lock
        Effect.ensuring(
          Effect.sync(() => {
            isLocked = false
          })
        ),
        Effect.tapError((error) => Effect.sync(() => settle(error as LeaseLost)))
      )
    })
  ).pipe(
    Effect.catchTag("SessionLost", (error) =>
      report("the journal's database cannot be read: this backend cannot take over", error)
    )
  )
  return yield* once.pipe(Effect.andThen(Effect.sleep(FOLLOW_MS)), Effect.forever)
})
