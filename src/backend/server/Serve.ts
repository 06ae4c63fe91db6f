/** Recovers an engine from its journal and serves it over gRPC, as one scoped Effect. */
import { statfsSync } from "node:fs"
import { dirname, join } from "node:path"
import type { UntypedServiceImplementation } from "@grpc/grpc-js"
import { Clock, Deferred, Effect, Schema, type Scope } from "effect"
import { RefereeService, type RefereeServer } from "../../proto/gateway/v1/referee.ts"
import type { SequencerServer } from "../../proto/gateway/v1/sequencer.ts"
import { HealthService } from "../../proto/grpc/health/v1/health.ts"
import { ServerReflectionService } from "../../proto/grpc/reflection/v1/reflection.ts"
import type { Prices } from "../../proto/gateway/v1/types.ts"
import { KEY_BYTES } from "../journal/CommandIds.ts"
import { Journal, JournalError } from "../journal/Journal.ts"
import { recover, snapshot, takeSnapshot } from "../journal/Replay.ts"
import * as PrivateFiles from "../journal/PrivateFiles.ts"
import * as Snapshots from "../journal/Snapshots.ts"
import type { Machine } from "../engine/Machine.ts"
import * as BackendMetrics from "./BackendMetrics.ts"
import { defaultLimits, type EventLogLimits } from "./EventLog.ts"
import { EventStream } from "./EventStream.ts"
import * as GrpcServer from "./GrpcServer.ts"
import { Health } from "./Health.ts"
import { type PriceCall, PriceStream } from "./PriceStream.ts"
import * as Reflection from "./Reflection.ts"
import * as Sequencer from "./SequencerServer.ts"
import { SNAPSHOT_ENTRIES, Writer } from "./Writer.ts"

/** The address cannot be bound. */
export class BindError extends Schema.TaggedError<BindError>()("BindError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Unknown)
}) {}

/** Full names of what is served, as health and reflection tell them. */
export const SERVED = ["gateway.v1.Sequencer", "gateway.v1.Referee"] as const
const STANDARD = ["grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"] as const

/** The journal's file in the data directory. */
export const journalPath = (directory: string): string => join(directory, "backend", "journal.sqlite")

type Unary<Handlers> = {
  readonly [K in keyof Handlers]?: (request: never) => object | GrpcServer.NotFound | GrpcServer.Invalid
}

/** A snapshot that is being taken. */
export interface Snapshotting {
  /** undefined: the newest one is up to date */
  readonly done: Promise<Snapshots.SnapshotHead | undefined>
  readonly cancel: () => void
}

/** What an engine can be asked; rpcs that are left out answer UNIMPLEMENTED. */
export interface Reads {
  readonly sequencer: Unary<
    Pick<SequencerServer, "getOrderBook" | "getOpenOrders" | "getOrder" | "listInstruments" | "listSubAccounts">
  >
  readonly referee: Unary<Omit<RefereeServer, "streamPrices">>
  readonly prices: () => ReadonlyArray<Prices>
  /** Balance of the fee account, told as a metric. */
  readonly feeAccount?: () => number
}

export interface ServeOptions<S, C> {
  readonly machine: Machine<S, C>
  readonly reads: (state: S) => Reads
  /** Used where the journal is created; an existing journal goes on with its own. */
  readonly config: C
  readonly directory: string
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  readonly secret: string | undefined
  readonly tls: GrpcServer.ServerTls | undefined
  readonly limits?: EventLogLimits
  /** Key of the hashes of command ids where the journal is created, 16 hex digits; by default random. */
  readonly idsKey?: () => string
  /** Takes a snapshot of the journal beside the writer; by default in this thread. */
  readonly takeSnapshot?: (journal: string) => Snapshotting
  /** Bytes that the directory's disk has free; by default asked of the system. */
  readonly space?: () => number
}

const randomIdsKey = (): string => Buffer.from(crypto.getRandomValues(new Uint8Array(KEY_BYTES))).toString("hex")

/** Free bytes of a path's file system, for this process; where the system does not tell, the journal will. */
const freeSpace = (path: string): number => {
  try {
    const { bavail, bsize } = statfsSync(path)
    return bavail * bsize
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/** A backend that serves. */
export interface Serving {
  readonly port: number
  readonly epoch: string
  /** What it tells of itself, as Prometheus reads it. */
  readonly metrics: () => string
  /** Fails when the backend had to stop serving; the program should end and be started again. */
  readonly failed: Effect.Effect<never, JournalError>
}

/** Top-level keys of two configurations that differ. */
const differences = (a: string, b: string): ReadonlyArray<string> => {
  const left = JSON.parse(a) as Record<string, unknown>
  const right = JSON.parse(b) as Record<string, unknown>
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].filter(
    (key) => JSON.stringify(left[key]) !== JSON.stringify(right[key])
  )
}

/** After the turn that asked for it. */
const inThisThread = <S, C>(machine: Machine<S, C>, path: string): Promise<Snapshots.SnapshotHead | undefined> =>
  new Promise((resolve, reject) => {
    setImmediate(() => {
      try {
        resolve(takeSnapshot(machine, path))
      } catch (cause) {
        reject(cause as Error)
      }
    })
  })

/**
 * Opens the journal in `directory` (or creates it), recovers the state from the newest snapshot and the entries after it,
 * and serves until the scope closes. Closing takes no more commands, answers those that wait, writes a checkpoint and a
 * snapshot, and closes the file.
 */
export const serve = Effect.fnUntraced(function* <S, C>(
  options: ServeOptions<S, C>
): Effect.fn.Return<Serving, JournalError | BindError, Scope.Scope> {
  const { machine } = options
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const path = journalPath(options.directory)
  const config = JSON.stringify(options.config)

  const journal = yield* Effect.acquireRelease(
    Effect.try({
      try: () => {
        PrivateFiles.directory(options.directory)
        return Journal.open(path, () => ({
          epoch: crypto.randomUUID(),
          rules: machine.rules,
          config,
          ids_key: (options.idsKey ?? randomIdsKey)(),
          created_at_ms: now()
        }))
      },
      catch: (cause) => cause as JournalError
    }),
    (journal) => Effect.sync(() => journal.close())
  )
  const different = differences(config, journal.origin.config)
  if (different.length > 0) {
    yield* Effect.logWarning(
      `the settings ${different.join(", ")} differ from those that ${path} was made with; the journal's hold. ` +
        `Start with an empty DATA_DIR to use the new ones.`
    )
  }

  const context = yield* Effect.context<never>()
  const run = Effect.runForkWith(context)
  const limits = options.limits ?? defaultLimits
  const started = performance.now()
  const recovered = yield* Effect.try({
    try: () => {
      Snapshots.clean(Snapshots.directoryOf(path))
      const recovered = recover(machine, journal, {
        limits,
        warn: (message) => void run(Effect.logWarning(message)),
        upgrade: true
      })
      journal.readIds()
      return recovered
    },
    catch: (cause) => cause as JournalError
  })
  const { state, log } = recovered
  recovered.openLinks()
  yield* Effect.logInfo("journal replayed").pipe(
    Effect.annotateLogs({
      path,
      snapshot: recovered.snapshot,
      entries: recovered.entries,
      head_seq: log.head,
      took_ms: Math.round(performance.now() - started)
    })
  )

  const metrics = yield* BackendMetrics.make
  let snapshotting: Snapshotting | undefined
  const take = options.takeSnapshot ?? ((path) => ({ done: inThisThread(machine, path), cancel: () => {} }))
  const snapshotNow = (): void => {
    if (snapshotting !== undefined) return
    const taking = take(path)
    snapshotting = taking
    const began = performance.now()
    const logged = Effect.tryPromise(() => taking.done).pipe(
      Effect.flatMap((head) => {
        if (head === undefined) return Effect.void
        metrics.snapshot((performance.now() - began) / 1_000)
        return Effect.logInfo("snapshot taken").pipe(Effect.annotateLogs({ position: head.position }))
      }),
      // No snapshot is no loss, but an engine that does not replay to its own state is a bug that must be seen.
      Effect.catch((error) => {
        metrics.noSnapshot()
        return Effect.logError("no snapshot could be taken", error.cause)
      }),
      Effect.ensuring(Effect.sync(() => (snapshotting = undefined)))
    )
    run(logged)
  }

  const reads = options.reads(state)
  const failure = yield* Deferred.make<never, JournalError>()
  const events: EventStream = new EventStream(log, now, () => writer.refusing)
  const health = new Health(SERVED)
  const prices = new PriceStream({ prices: reads.prices, appliedSeq: () => log.head, now })
  const writer: Writer<S, C> = new Writer({
    machine,
    state,
    journal,
    log,
    at_ms: recovered.at_ms,
    now,
    onEvents: events.publish,
    onSnapshotDue: snapshotNow,
    onTurn: (commands, commit_s, turn_s) => {
      metrics.commit(commit_s)
      metrics.turn(commands, turn_s)
    },
    space: options.space ?? (() => freeSpace(dirname(path))),
    onSpace: (full) =>
      void run(
        full
          ? Effect.logError(`the disk of ${path} is full: commands are refused until it has space again`)
          : Effect.logInfo(`the disk of ${path} has space again: commands are taken`)
      ),
    onFailure: (cause) => {
      // The state is ahead of the journal now: nobody may see more of it.
      health.fail()
      events.stop()
      prices.stop()
      const message = `a turn failed and was taken back, none of it was acknowledged: ${(cause as Error).message} (${path})`
      Deferred.doneUnsafe(failure, Effect.fail(new JournalError({ message, cause })))
    }
  })
  const sequencer = Sequencer.make({ writer, log, events, now })
  metrics.gauge("backend_queue_commands", () => writer.waiting)
  metrics.gauge("backend_head_seq", () => log.head)
  metrics.gauge("backend_failed", () => Number(writer.failed))
  metrics.gauge("backend_disk_full", () => Number(writer.isFull))
  const { feeAccount } = reads
  if (feeAccount !== undefined) metrics.gauge("backend_fee_account", feeAccount)

  const readOptions: GrpcServer.ReadOptions = {
    sound: () => !writer.failed,
    onDefect: (cause, request_id) =>
      run(Effect.logError("a read failed", cause).pipe(Effect.annotateLogs({ request_id })))
  }
  const answered = (unary: Unary<unknown>): UntypedServiceImplementation =>
    Object.fromEntries(
      Object.entries(unary).map(([name, answer]) => [
        name,
        GrpcServer.read(answer as (request: unknown) => object, readOptions)
      ])
    )

  const server = GrpcServer.makeServer()
  const { secret } = options
  GrpcServer.addService(
    server,
    Sequencer.service,
    GrpcServer.guard({ ...answered(reads.sequencer), ...sequencer.handlers }, secret)
  )
  GrpcServer.addService(
    server,
    RefereeService,
    GrpcServer.guard({ ...answered(reads.referee), streamPrices: (call: PriceCall) => prices.subscribe(call) }, secret)
  )

  // probes carry no secret
  GrpcServer.addService(server, HealthService, health.handlers)
  const reflection = GrpcServer.guard(Reflection.handlers([...SERVED, ...STANDARD]), secret)
  GrpcServer.addService(server, ServerReflectionService, reflection)
  GrpcServer.addService(server, Reflection.alpha, reflection)

  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      writer.stop()
      health.stop()
      events.stop()
      prices.stop()
      sequencer.stop()
      snapshotting?.cancel()
    }).pipe(
      Effect.andThen(
        Effect.try(() => {
          if (!writer.failed) snapshot(machine, journal, { state, at_ms: writer.time, log })
        })
      ),
      Effect.catch((error) => Effect.logWarning("no snapshot could be written", error.cause)),
      Effect.andThen(Effect.promise(() => GrpcServer.stop(server)))
    )
  )
  if (recovered.entries >= SNAPSHOT_ENTRIES) snapshotNow()
  const port = yield* Effect.tryPromise({
    try: () => GrpcServer.bind(server, options.host, options.port, options.tls),
    catch: (cause) =>
      new BindError({
        message: `cannot listen on ${options.host}:${options.port}: ${(cause as Error).message}`,
        cause
      })
  })
  return { port, epoch: journal.origin.epoch, metrics: metrics.text, failed: Deferred.await(failure) }
})
