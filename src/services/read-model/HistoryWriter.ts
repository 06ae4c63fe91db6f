/**
 * Policy: histories are written behind what readers see.
 *
 * Every gateway projects and shows events as they arrive, and adds the projections here. The leader merges them and
 * commits them in batches; position and rows are one transaction, so after a crash the history continues exactly at
 * its position. The other gateways keep what the leader has not committed. A new leader commits it from where the
 * history stands, which may be in the middle of one of its projections. If two gateways both act as the leader, the
 * first commit wins, and the other one continues behind it.
 *
 * Events that are shown and not written are bounded. When there are too many the projector waits, commands are shown
 * later, and their admission refuses the excess.
 * Source: docs/contract/boundary.md#read-models, #one-event-stream, #ownership; docs/decisions/0016.
 */
import { Cause, Clock, Context, Deferred, Duration, Effect, Latch, Layer, Schema, Semaphore } from "effect"
import type { ModelPosition, Projection } from "../../domain/Projection.ts"
import { History } from "../History.ts"
import * as Daemon from "../operations/Daemon.ts"
import { Leadership } from "../operations/Leadership.ts"
import { CurrentMetricsRegistry } from "../operations/MetricsRegistry.ts"
import { Backlog } from "./Backlog.ts"
import { mergeProjections } from "./MergeProjections.ts"
import { projectionRest } from "./ProjectionRest.ts"
import { SeqWaiters } from "./SeqWaiters.ts"
import * as ShownReads from "./ShownReads.ts"
import { shownHistory, WRITTEN_WAIT, WrittenHistory } from "./WrittenHistory.ts"

/** Events that are shown and not written from which on the projector waits. */
export const UNWRITTEN_EVENTS_MAX = 65_536
/** Most events of one commit. */
const COMMIT_EVENTS_MAX = 8_192
/** Pause before a commit in which further events join it. A waiting reader, or a full commit, ends it. */
const WRITE_PAUSE = Duration.millis(100)
/** How often a gateway that does not lead reads the position of the history while a reader waits for it. */
const FOLLOW_PAUSE = Duration.millis(10)
/** Pauses while the history does not respond: the first one, doubled up to the longest, in ms. */
const RETRY_MS_MIN = 50
const RETRY_MS_MAX = 500
/** Time without a commit, though events are unwritten, after which a leader resigns; and how often that is checked. */
export const RESIGN_MS = 3_000
const RESIGN_CHECK = Duration.millis(250)
/** Time for the last commits at shutdown; what is left is read from the backend again. */
const SHUTDOWN_WAIT = Duration.seconds(2)

/** The history is at another position than this gateway and not behind it, so it must be loaded again. */
export class Superseded extends Schema.TaggedError<Superseded>()("Superseded", { message: Schema.String }) {}

export interface Options {
  /** Default {@link UNWRITTEN_EVENTS_MAX}. */
  readonly unwritten_events_max?: number
}

/** The state since the history was loaded. */
class Run {
  readonly backlog: Backlog
  readonly superseded = Deferred.makeUnsafe<never, Superseded>()
  /** The term of leadership in which the position of the history was read. */
  confirmed: number | undefined

  constructor(position: ModelPosition | undefined) {
    this.backlog = new Backlog(position)
  }

  /** Compares with a position of the history; everything up to it is written. */
  align(at: ModelPosition | undefined): Effect.Effect<void, Superseded> {
    const message = this.backlog.faultOf(at)
    if (message !== undefined) return new Superseded({ message })
    if (at !== undefined) this.backlog.advance(at)
    return Effect.void
  }
}

export class HistoryWriter extends Context.Service<
  HistoryWriter,
  {
    /** The history as it is stored; its reads do not wait. */
    readonly stored: History["Service"]
    /** Starts after a position that was loaded. What an earlier run has not written is dropped, to be read again. */
    readonly begin: (position: ModelPosition | undefined) => void
    /** Waits until another batch can be added. */
    readonly room: Effect.Effect<void>
    /** Adds the next projection. */
    readonly add: (projection: Projection) => void
    /** Fails when the history has another numbering, or is behind what was written. */
    readonly superseded: Effect.Effect<never, Superseded>
    /**
     * Waits until all is written and the history stands where this gateway does. True: this gateway leads; false:
     * another one has moved the history.
     */
    readonly settle: Effect.Effect<boolean, Superseded>
    /** Leaves the read model to gateways of a newer version. */
    readonly yieldLead: Effect.Effect<void>
    /** Events that are shown and not written, and the seq up to which the history is written. */
    readonly progress: () => { readonly unwritten_events: number; readonly written_seq: number }
    /** Registers a listener for commits; the returned function removes it. */
    readonly onWritten: (listener: () => void) => () => void
  }
>()("gateway/services/HistoryWriter") {
  /** Replaces the history by one whose reads wait for what was shown. */
  static readonly layer = (
    options: Options = {}
  ): Layer.Layer<HistoryWriter | WrittenHistory | History, never, History> => Layer.effectContext(make(options))
}

const make = Effect.fnUntraced(function* ({ unwritten_events_max = UNWRITTEN_EVENTS_MAX }: Options) {
  const stored = yield* History
  const leadership = yield* Leadership
  const clock = yield* Clock.Clock
  const metrics = yield* CurrentMetricsRegistry
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1_000_000
  let run = new Run(undefined)
  /** When this gateway last committed, or had nothing to commit as leader; monotonic, in ms. */
  let progressed_ms = now()

  const commitTimes = metrics.histogram("gateway_projector_commit_seconds", {})
  const writtenEvents = metrics.counter("gateway_history_written_events_total", {})
  metrics.gauge("gateway_history_unwritten_events", {}, () => run.backlog.events)
  metrics.gauge("gateway_history_unwritten_seconds", {}, () => {
    const { since_ms } = run.backlog
    return since_ms === undefined ? 0 : (now() - since_ms) / 1_000
  })

  /** Open while events are unwritten. */
  const unwritten = Latch.makeUnsafe(false)
  /** Open while a reader waits, or enough events for a commit. */
  const due = Latch.makeUnsafe(false)
  /** Open while events can be added. */
  const space = Latch.makeUnsafe(true)
  const alone = Semaphore.makeUnsafe(1)
  const waiters = new SeqWaiters(() => run.backlog.writtenSeq)
  const listeners = new Set<() => void>()

  /** The backlog of the current run has changed. */
  const changed = (): void => {
    const { backlog } = run
    if (backlog.isEmpty) unwritten.closeUnsafe()
    else unwritten.openUnsafe()
    if (backlog.events < unwritten_events_max) space.openUnsafe()
    else space.closeUnsafe()
    if (waiters.size > 0 || backlog.events >= COMMIT_EVENTS_MAX) due.openUnsafe()
    else due.closeUnsafe()
  }
  const written = (of: Run): void => {
    if (of !== run) return
    waiters.advance()
    changed()
    for (const listener of listeners) listener()
  }

  /** Keeps of the first projection what the history does not hold. */
  const dropWritten = Effect.fnUntraced(function* (of: Run) {
    const { heads, position } = yield* stored.moment(
      Effect.all({ position: stored.position, heads: stored.streamHeads })
    )
    yield* of.align(position)
    const { divided } = of.backlog
    if (divided !== undefined) of.backlog.replaceDivided(projectionRest(divided, position!, heads))
  })

  /** One commit, or as leader or follower one comparison with the history. True: something was written. */
  const step = Effect.fnUntraced(function* (of: Run) {
    const { backlog } = of
    const before = backlog.writtenSeq
    const term = leadership.term()
    if (term === undefined || term !== of.confirmed) yield* of.align(yield* stored.position)
    if (term !== undefined && !backlog.isEmpty) {
      of.confirmed = term
      if (backlog.divided !== undefined) yield* dropWritten(of)
      const batch = backlog.batch(COMMIT_EVENTS_MAX)
      const merged = mergeProjections(batch)
      const began = now()
      yield* stored.commit(merged).pipe(
        Effect.andThen(
          Effect.sync(() => {
            progressed_ms = now()
            backlog.advance(merged.position)
          })
        ),
        // an earlier attempt that seemed to fail succeeded, or another gateway was first
        Effect.catchTag("ProjectionRefused", ({ position }) => of.align(position))
      )
      commitTimes.observe((now() - began) / 1_000)
    }
    written(of)
    writtenEvents.add(Math.max(0, backlog.writtenSeq - before))
    return backlog.writtenSeq > before
  })

  let retry_ms = 0
  /** One step; returns the pause before the next one. Failures are logged. */
  const attempt: Effect.Effect<Duration.Input> = alone.withPermits(1)(
    Effect.suspend(() => {
      const of = run
      return step(of).pipe(
        Effect.map((hasMoved): Duration.Input => {
          retry_ms = 0
          return hasMoved ? 0 : waiters.size > 0 ? FOLLOW_PAUSE : WRITE_PAUSE
        }),
        Effect.catchTag("Superseded", (superseded) => Effect.as(Deferred.fail(of.superseded, superseded), WRITE_PAUSE)),
        Effect.catchCause((cause) => {
          if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause as Cause.Cause<never>)
          retry_ms = Math.min(RETRY_MS_MAX, Math.max(RETRY_MS_MIN, retry_ms * 2))
          return Effect.as(Effect.logError("the history does not take a commit", cause), retry_ms)
        })
      )
    })
  )
  const write = Effect.gen(function* () {
    yield* unwritten.await
    yield* Effect.raceFirst(due.await, Effect.sleep(WRITE_PAUSE))
    yield* Effect.sleep(yield* attempt)
  })
  yield* Daemon.repeat("commits of the history")(write)
  // a leader that cannot commit would stop the whole fleet, because the others wait for it
  const watch = Effect.suspend(() => {
    const { since_ms } = run.backlog
    if (leadership.term() === undefined || since_ms === undefined) progressed_ms = now()
    else if (now() - Math.max(progressed_ms, since_ms) >= RESIGN_MS) {
      progressed_ms = now()
      return leadership.resign
    }
    return Effect.void
  })
  yield* watch.pipe(Effect.delay(RESIGN_CHECK), Daemon.repeat("watch of the commits"))
  /** Writes what is left, unless the history fails. */
  const finish = alone.withPermits(1)(
    Effect.gen(function* () {
      const of = run
      while (leadership.term() !== undefined && !of.backlog.isEmpty) if (!(yield* step(of))) return
    })
  )
  yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(finish, SHUTDOWN_WAIT)))

  const reached = (seq: number): Effect.Effect<boolean> =>
    Effect.suspend(() => {
      if (run.backlog.writtenSeq >= seq) return Effect.succeed(true)
      const waiting = waiters.wait(seq, WRITTEN_WAIT)
      due.openUnsafe()
      return Effect.map(waiting, () => run.backlog.writtenSeq >= seq)
    })

  const settle: HistoryWriter["Service"]["settle"] = Effect.gen(function* () {
    while (true) {
      if (yield* Deferred.isDone(run.superseded)) return yield* Deferred.await(run.superseded)
      const { backlog } = run
      if (backlog.isEmpty) {
        const at = yield* stored.position.pipe(
          Effect.catchTag("HistoryUnavailable", () => Effect.succeed("unknown" as const))
        )
        if (at !== "unknown") {
          const before = backlog.writtenSeq
          yield* run.align(at)
          if (backlog.writtenSeq > before) return false
          if (leadership.term() !== undefined) return true
        }
      }
      yield* Effect.sleep(FOLLOW_PAUSE)
    }
  })

  const writer = HistoryWriter.of({
    stored,
    begin: (position) => {
      run = new Run(position)
      changed()
    },
    room: space.await,
    add: (projection) => {
      run.backlog.add(projection, now())
      changed()
    },
    superseded: Effect.suspend(() => Deferred.await(run.superseded)),
    settle,
    yieldLead: Effect.suspend(() => (leadership.term() === undefined ? Effect.void : leadership.resign)),
    progress: () => ({ unwritten_events: run.backlog.events, written_seq: run.backlog.writtenSeq }),
    onWritten: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    }
  })
  const reads = ShownReads.make(stored, () => run.backlog, reached)
  return Context.make(HistoryWriter, writer).pipe(
    Context.add(WrittenHistory, reads),
    Context.add(History, shownHistory(stored, reads))
  )
})
