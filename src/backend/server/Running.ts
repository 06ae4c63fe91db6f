/** Recovers an engine from its journal and runs its services, as one scoped Effect. */
import { existsSync, statfsSync } from "node:fs"
import { dirname, join } from "node:path"
import type { UntypedServiceImplementation } from "@grpc/grpc-js"
import { Clock, Deferred, Effect, Fiber, type Scope } from "effect"
import * as PrivateFiles from "../../node/PrivateFiles.ts"
import { RefereeService, type RefereeServer } from "../../proto/gateway/v1/referee.ts"
import type { SequencerServer } from "../../proto/gateway/v1/sequencer.ts"
import type { Prices } from "../../proto/gateway/v1/types.ts"
import { HealthService } from "../../proto/grpc/health/v1/health.ts"
import type { Machine } from "../engine/Machine.ts"
import { KEY_BYTES } from "../journal/CommandIds.ts"
import { defaultLimits, type EventLogLimits } from "../journal/EventLog.ts"
import { Journal } from "../journal/Journal.ts"
import { JournalError, RECOVERY_HINT, RESTORED_HINT } from "../journal/JournalError.ts"
import { rulesMismatch } from "../journal/Replay.ts"
import * as Copy from "../journal/shared/Copy.ts"
import type { JournalDatabase } from "../journal/shared/JournalDatabase.ts"
import * as Lease from "../journal/shared/Lease.ts"
import { Replica } from "../journal/shared/Replica.ts"
import { endOf, recover, snapshot } from "../journal/Recovery.ts"
import type { Origin } from "../journal/JournalSchema.ts"
import * as Snapshots from "../journal/Snapshots.ts"
import * as BackendMetrics from "./BackendMetrics.ts"
import { EngineClock, OFFSET_MAX_MS } from "./EngineClock.ts"
import { EventStream, type Replay } from "./EventStream.ts"
import * as GrpcServer from "./GrpcServer.ts"
import { Health } from "./Health.ts"
import * as PortServer from "./PortServer.ts"
import { type PriceCall, PriceStream } from "./PriceStream.ts"
import * as Sequencer from "./SequencerServer.ts"
import type { Service } from "./Service.ts"
import { inThisThread, SNAPSHOT_ENTRIES, SnapshotSchedule, type Snapshotter } from "./SnapshotSchedule.ts"
import { type Submitter, Writer } from "./Writer.ts"

/** Full names of the services, for health and reflection. */
export const SERVICES = ["gateway.v1.Sequencer", "gateway.v1.Referee"] as const

/** Path of the journal in the data directory. */
export const journalPath = (directory: string): string => join(directory, "backend", "journal.sqlite")

/** Marks a directory whose content a restore replaces: while it exists, the directory may have no journal. */
export const restoringPath = (directory: string): string => join(directory, "restoring")

type Unary<Handlers> = {
  readonly [K in keyof Handlers]?: (request: never) => object | GrpcServer.NotFound | GrpcServer.Invalid
}

/** The reads of an engine; missing rpcs respond with UNIMPLEMENTED. */
export interface Reads {
  readonly sequencer: Unary<
    Pick<SequencerServer, "getOrderBook" | "getOpenOrders" | "getOrder" | "listInstruments" | "listSubAccounts">
  >
  readonly referee: Unary<Omit<RefereeServer, "streamPrices">>
  readonly prices: () => ReadonlyArray<Prices>
  /** Balance of the fee account, for the metric. */
  readonly feeAccount?: () => number
}

export interface RunOptions<S, C> {
  readonly machine: Machine<S, C>
  readonly reads: (state: S) => Reads
  /** Configuration of a new journal; an existing journal keeps its own. */
  readonly config: C
  readonly directory: string
  readonly limits?: EventLogLimits
  /** Key of the command id hashes of a new journal, 16 hex digits; by default random. */
  readonly idsKey?: () => string
  /** Takes the snapshots of a journal; by default in this thread. */
  readonly snapshots?: (journal: string) => Snapshotter
  /** Replays events that are no longer in memory; by default subscribers cannot request them. */
  readonly replays?: (journal: string) => Replay
  /** Free bytes on the disk of the directory; by default from the operating system. */
  readonly space?: () => number
  /** The journal is in a database that several backends share; the one in `directory` is a copy. */
  readonly shared?: SharedOptions | undefined
}

export interface SharedOptions {
  readonly database: JournalDatabase
  /** Name of this backend, for the operator. */
  readonly holder: string
  /** Whether a standby serves the reads of the Referee. */
  readonly standbyReads: boolean
}

const randomIdsKey = (): string => Buffer.from(crypto.getRandomValues(new Uint8Array(KEY_BYTES))).toString("hex")

/**
 * Free bytes of a directory's file system for this process; 0 where the directory was moved or deleted: what is written to its
 * open files would be lost with this process. Where the system does not report it, a failed write of the journal does.
 */
const freeSpace = (directory: string): number => {
  try {
    const { bavail, bsize } = statfsSync(directory)
    return bavail * bsize
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === "ENOENT" ? 0 : Number.POSITIVE_INFINITY
  }
}
const lackOfSpace = (path: string): string =>
  existsSync(dirname(path))
    ? `the disk of ${path} is full: commands are refused until space is free`
    : `the directory of ${path} was moved or deleted: commands are refused until it is back. Copy the open journal ` +
      `from /proc/${process.pid}/fd before you stop this process`

/** Longest time to note in a shared journal that it lacks entries, in ms. */
const NOTE_MS = 2000

/** A running backend. */
export interface Running {
  readonly services: ReadonlyArray<Service>
  /** Takes a call over a MessagePort, from this process. */
  readonly open: PortServer.Open
  readonly epoch: string
  /** Metrics in Prometheus format. */
  readonly metrics: () => string
  /** Fails when the backend has stopped serving; the program should exit and be restarted. */
  readonly failed: Effect.Effect<never, JournalError>
}

/** Top-level keys in which two configurations differ. */
const differences = (a: string, b: string): ReadonlyArray<string> => {
  const left = JSON.parse(a) as Record<string, unknown>
  const right = JSON.parse(b) as Record<string, unknown>
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].filter(
    (key) => JSON.stringify(left[key]) !== JSON.stringify(right[key])
  )
}

/**
 * Whether a copy has every entry of its database, and no backend leads. Newer rules can begin only there: entries of other
 * backends that follow are of the older rules.
 */
const isWholeAndIdle = (database: JournalDatabase, { position }: Journal): Effect.Effect<boolean, JournalError> =>
  Effect.flatMap(database.open, (session) =>
    Effect.zipWith(session.lock, session.turns(position), (isFree, turns) => isFree && turns.length === 0)
  ).pipe(
    Effect.scoped,
    Effect.mapError(
      ({ message }) => new JournalError({ message: `the database of JOURNAL_URL cannot be read: ${message}` })
    )
  )

/**
 * Opens or creates the journal in `directory`, recovers the state from the newest snapshot and the entries after it,
 * and runs until the scope closes. On close it accepts no more commands, answers queued ones, writes a checkpoint and
 * a snapshot, and closes the file.
 */
export const run = Effect.fnUntraced(function* <S, C>(
  options: RunOptions<S, C>
): Effect.fn.Return<Running, JournalError, Scope.Scope> {
  const { machine } = options
  const clock = yield* Clock.Clock
  const wall = () => clock.currentTimeMillisUnsafe()
  const path = journalPath(options.directory)
  const config = JSON.stringify(options.config)

  const { shared } = options
  const made = (): Origin => ({
    epoch: crypto.randomUUID(),
    rules: machine.rules,
    config,
    ids_key: (options.idsKey ?? randomIdsKey)(),
    created_at_ms: wall()
  })
  const file = Effect.acquireRelease(
    Effect.try({ try: () => Journal.open(path, made), catch: (cause) => cause as JournalError }),
    (journal) => Effect.sync(() => journal.close())
  )
  yield* Effect.try({
    try: () => {
      PrivateFiles.directory(options.directory)
      if (existsSync(restoringPath(options.directory)))
        throw new JournalError({
          message: `a restore of ${options.directory} was interrupted: run it again. ${RECOVERY_HINT}`
        })
    },
    catch: (cause) => cause as JournalError
  })
  const journal = yield* shared === undefined ? file : Copy.open(shared.database, path, made)
  const different = differences(config, journal.origin.config)
  if (different.length > 0) {
    yield* Effect.logWarning(
      `the settings ${different.join(", ")} differ from those of ${path}; the journal's settings apply. ` +
        `Start with an empty DATA_DIR to use the new ones.`
    )
  }

  const context = yield* Effect.context<never>()
  const fork = Effect.runForkWith(context)
  const limits = options.limits ?? defaultLimits
  const started = performance.now()
  if (
    shared !== undefined &&
    journal.era().rules !== machine.rules &&
    !(yield* isWholeAndIdle(shared.database, journal))
  )
    return yield* rulesMismatch(
      journal,
      machine.rules,
      "only the backend that led last can change the rules, while all others are stopped; they need a backup of its " +
        "DATA_DIR then: docs/operations/upgrade.md. Otherwise run the program that wrote it"
    )
  const recovered = yield* Effect.try({
    try: () => {
      Snapshots.clean(Snapshots.directoryOf(path))
      const recovered = recover(machine, journal, {
        limits,
        warn: (message) => void fork(Effect.logWarning(message)),
        upgrade: true
      })
      journal.readIds()
      return recovered
    },
    catch: (cause) => cause as JournalError
  })
  const { state, log } = recovered
  /** Entries are lost: to go on would make a second history under the same identity. */
  const behind = (seq: number) =>
    new JournalError({
      message:
        `${path} ends at event ${log.head}, but a gateway has seen event ${seq} of the same fork: entries are lost. ` +
        (shared === undefined ? RECOVERY_HINT : RESTORED_HINT)
    })
  if (journal.seenSeq > log.head) return yield* behind(journal.seenSeq)
  recovered.openIndex()
  yield* Effect.logInfo("journal replayed").pipe(
    Effect.annotateLogs({
      path,
      snapshot: recovered.snapshot,
      entries: recovered.entries,
      head_seq: log.head,
      fork: journal.fork,
      forks: journal.forks().length - 1,
      took_ms: Math.round(performance.now() - started)
    })
  )

  const metrics = yield* BackendMetrics.make
  const snapshotter = (options.snapshots ?? inThisThread(machine))(path)
  const monotonic = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  const snapshots = new SnapshotSchedule({ journal, log, snapshotter, metrics, monotonic, context })

  const engineClock = new EngineClock({
    wall,
    monotonic,
    at_ms: recovered.at_ms,
    onStep: (step_ms) => {
      metrics.clockStep()
      fork(
        Effect.logWarning(
          `the clock was set by ${Math.round(step_ms) / 1_000} s: engine time goes on and slews toward it`
        ).pipe(Effect.annotateLogs({ offset_ms: engineClock.offset_ms }))
      )
    }
  })
  const now = () => engineClock.now()
  const warnings = () => (Math.abs(engineClock.offset_ms) > OFFSET_MAX_MS ? ["ClockOffset"] : [])
  metrics.gauge("backend_clock_offset_seconds", () => engineClock.offset_ms / 1_000)

  const reads = options.reads(state)
  const failure = yield* Deferred.make<never, JournalError>()
  /** The writer, and the lead of a shared journal, once this backend leads. */
  let writer: Writer<S, C> | undefined
  let leadership: Lease.Leadership | undefined
  /** Commands and events need no lease: a turn of a replaced leader is never durable. */
  const isWriting = () => writer !== undefined && !writer.failed
  const isLeading = () => isWriting() && leadership?.isCurrent() !== false
  const whenDurable = (answer: () => void): void => {
    if (writer === undefined) answer()
    else writer.whenDurable(answer)
  }
  // entries before a change of the rules replay only under the former ones
  const replay = journal.era().position === 0 ? options.replays?.(path) : undefined
  /**
   * Notes in a shared journal that it lacks an event, so that no other backend leads it. Without the note, a subscriber reports
   * the event to the next leader again.
   */
  const noteSeen = (seq: number) => {
    if (shared === undefined || leadership === undefined) return Effect.void
    const { term } = leadership
    return Effect.scoped(Effect.flatMap(shared.database.open, (session) => session.demand(term, seq))).pipe(
      Effect.timeout(NOTE_MS),
      Effect.ignore
    )
  }
  const events: EventStream = new EventStream(
    log,
    now,
    () => ({ refusing: writer?.refusing ?? [], warnings: warnings() }),
    {
      forks: journal.forks(),
      onAhead: (seq) => {
        journal.demand(seq)
        const abandon = Effect.sync(() => writer?.abandon(behind(seq)))
        fork(Effect.andThen(noteSeen(seq), abandon))
      }
    },
    replay && {
      start: replay,
      onFailure: (message) => void fork(Effect.logError(`old events of ${path} cannot be replayed: ${message}`))
    }
  )
  const health = new Health(SERVICES, isLeading)
  const whenConsistent = (read: () => void): void => {
    if (writer === undefined) read()
    else writer.whenConsistent(read)
  }
  const prices = new PriceStream({
    prices: reads.prices,
    appliedSeq: () => log.head,
    now,
    whenConsistent,
    whenDurable
  })
  const fail = (message: string, cause: unknown) => {
    // The state is ahead of the journal now, so clients must not read it.
    health.fail()
    events.stop()
    prices.stop()
    const error = cause instanceof JournalError ? cause : new JournalError({ message, cause })
    Deferred.doneUnsafe(failure, Effect.fail(error))
  }
  const lead = (at_ms: number) => {
    engineClock.advance(at_ms)
    const began = new Writer({
      machine,
      state,
      journal,
      log,
      at_ms,
      now,
      onEvents: events.publish,
      onSettled: snapshots.takeIfDue,
      onTurn: (commands, commit_s, turn_s) => {
        metrics.commit(commit_s)
        metrics.turn(commands, turn_s)
      },
      space: options.space ?? (() => freeSpace(dirname(path))),
      onSpace: (full) =>
        void fork(
          full
            ? Effect.logError(lackOfSpace(path))
            : Effect.logInfo(`the disk of ${path} has free space again: commands are accepted`)
        ),
      onFailure: (cause) =>
        fail(
          `a turn failed and was rolled back, none of its commands were acknowledged: ${(cause as Error).message} (${path})`,
          cause
        )
    })
    writer = began
    health.report()
    return began
  }
  const submitter: Submitter = {
    submit: (caller, command, bytes, not_after_ms) => writer!.submit(caller, command, bytes, not_after_ms)
  }
  const sequencer = Sequencer.make({
    writer: submitter,
    log,
    events,
    now,
    firstSeq: () => (replay === undefined ? log.oldest : 1)
  })
  metrics.gauge("backend_queue_commands", () => writer?.queued ?? 0)
  metrics.gauge("backend_head_seq", () => log.head)
  metrics.gauge("backend_failed", () => Number(writer?.failed ?? false))
  metrics.gauge("backend_disk_full", () => Number(writer?.isFull ?? false))
  metrics.gauge("backend_leads", () => Number(isLeading()))
  metrics.gauge("backend_term", () => leadership?.term ?? 0)
  metrics.gauge("backend_journal_position", () => journal.position)
  const restores = journal.forks().length - 1
  metrics.gauge("backend_forks", () => restores)
  const { feeAccount } = reads
  if (feeAccount !== undefined) metrics.gauge("backend_fee_account", feeAccount)

  const readOptions: GrpcServer.ReadOptions = {
    isConsistent: isLeading,
    whenConsistent,
    whenDurable,
    onDefect: (cause, request_id) =>
      fork(Effect.logError("a read failed", cause).pipe(Effect.annotateLogs({ request_id })))
  }
  const readHandlers = (unary: Unary<unknown>, readOptions: GrpcServer.ReadOptions): UntypedServiceImplementation =>
    Object.fromEntries(
      Object.entries(unary).map(([name, answer]) => [
        name,
        GrpcServer.read(answer as (request: unknown) => object, readOptions)
      ])
    )
  const ofLeader = (handlers: UntypedServiceImplementation): UntypedServiceImplementation =>
    shared === undefined ? handlers : GrpcServer.onlyWhile(isWriting, "this backend does not lead", handlers)
  /** A standby's state is that of the journal, some milliseconds ago. */
  const standbyReads: GrpcServer.ReadOptions =
    shared?.standbyReads === true
      ? { ...readOptions, isConsistent: () => isLeading() || (writer === undefined && !isReplicaFailed) }
      : readOptions

  const services: ReadonlyArray<Service> = [
    {
      definition: Sequencer.service,
      handlers: ofLeader({ ...readHandlers(reads.sequencer, readOptions), ...sequencer.handlers }),
      isPublic: false
    },
    {
      definition: RefereeService,
      handlers: {
        ...readHandlers(reads.referee, standbyReads),
        ...ofLeader({ streamPrices: (call: PriceCall) => prices.subscribe(call) })
      },
      isPublic: false
    },
    { definition: HealthService, handlers: health.handlers, isPublic: true }
  ]

  const replica = new Replica({ machine, state, at_ms: recovered.at_ms, journal, log, onApplied: snapshots.takeIfDue })
  let isReplicaFailed = false
  let leading: Fiber.Fiber<unknown, unknown> | undefined
  if (shared === undefined) lead(recovered.at_ms)
  else {
    const { database, holder } = shared
    const onLead = (won: Lease.Leadership) =>
      Effect.suspend((): Effect.Effect<void, JournalError> => {
        const { forks, seen_seq } = won.history
        if (seen_seq > 0) return Effect.fail(behind(seen_seq))
        if ((forks.at(-1)?.fork ?? journal.origin.epoch) !== journal.fork)
          return Effect.fail(
            new JournalError({ message: "a restore has begun a fork of the journal: start this backend again" })
          )
        journal.share(won.append)
        leadership = won
        lead(replica.at_ms)
        return Effect.logInfo("this backend leads").pipe(
          Effect.annotateLogs({ term: won.term, position: journal.position, head_seq: log.head })
        )
      })
    leading = yield* Lease.run({ database, holder, replica, onLead }).pipe(
      // a backend that neither follows nor leads must end
      Effect.catchDefect((cause) =>
        Effect.fail(new JournalError({ message: `the lead of the journal failed: ${(cause as Error).message}`, cause }))
      ),
      Effect.catch((error) =>
        Effect.sync(() => {
          isReplicaFailed = true
          if (writer === undefined || writer.failed) fail(error.message, error)
          else writer.abandon(error)
        })
      ),
      Effect.forkScoped
    )
  }

  yield* Effect.addFinalizer(() =>
    Effect.promise(async () => {
      await writer?.stop()
      health.stop()
      if (leading !== undefined) {
        // the next leader takes over, and the gateways move to it
        await Effect.runPromise(Fiber.interrupt(leading))
        if (writer?.failed === false) await sequencer.drained()
      }
      events.stop()
      prices.stop()
      sequencer.stop()
      snapshots.stop()
    }).pipe(
      Effect.andThen(
        Effect.try(() => {
          if (isReplicaFailed || writer?.failed === true) return
          snapshot(machine, journal, endOf(journal, log), { state, at_ms: writer?.time ?? replica.at_ms })
        })
      ),
      Effect.catch((error) => Effect.logWarning("the snapshot at shutdown failed", error.cause))
    )
  )
  if (recovered.entries >= SNAPSHOT_ENTRIES) snapshots.take()
  return {
    services,
    open: PortServer.make(services),
    epoch: journal.origin.epoch,
    metrics: metrics.text,
    failed: Deferred.await(failure)
  }
})
