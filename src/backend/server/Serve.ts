/** Recovers an engine from its journal and serves it over gRPC, as one scoped Effect. */
import { join } from "node:path"
import type { UntypedServiceImplementation } from "@grpc/grpc-js"
import { Clock, Deferred, Effect, Schema, type Scope } from "effect"
import { RefereeService, type RefereeServer } from "../../proto/gateway/v1/referee.ts"
import type { SequencerServer } from "../../proto/gateway/v1/sequencer.ts"
import type { Prices } from "../../proto/gateway/v1/types.ts"
import { Journal, JournalError } from "../journal/Journal.ts"
import { replay } from "../journal/Replay.ts"
import type { Machine } from "../Machine.ts"
import { defaultLimits, EventLog, type EventLogLimits } from "./EventLog.ts"
import { EventStream } from "./EventStream.ts"
import * as GrpcServer from "./GrpcServer.ts"
import { type PriceCall, PriceStream } from "./PriceStream.ts"
import * as Sequencer from "./SequencerServer.ts"
import { Writer } from "./Writer.ts"

/** The address cannot be bound. */
export class BindError extends Schema.TaggedError<BindError>()("BindError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Unknown)
}) {}

/** The journal's file in the data directory. */
export const journalPath = (directory: string): string => join(directory, "backend", "journal.sqlite")

type Unary<Handlers> = { readonly [K in keyof Handlers]?: (request: never) => object | GrpcServer.NotFound }

/** What an engine can be asked; rpcs that are left out answer UNIMPLEMENTED. */
export interface Reads {
  readonly sequencer: Unary<
    Pick<SequencerServer, "getOrderBook" | "getOpenOrders" | "getOrder" | "listInstruments" | "listSubAccounts">
  >
  readonly referee: Unary<Omit<RefereeServer, "streamPrices">>
  readonly prices: () => ReadonlyArray<Prices>
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
}

/** A backend that serves. */
export interface Serving {
  readonly port: number
  readonly epoch: string
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

/**
 * Opens the journal in `directory` (or creates it), replays it, and serves until the scope closes. Closing takes no more
 * commands, answers those that wait, writes a checkpoint and closes the file.
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
      try: () =>
        Journal.open(path, () => ({
          epoch: crypto.randomUUID(),
          rules: machine.rules,
          config,
          created_at_ms: now()
        })),
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

  const limits = options.limits ?? defaultLimits
  const log = new EventLog(journal.origin.epoch, limits)
  // Events that can not be asked for again are only counted.
  const keepFrom = (journal.checkpoints().at(-1)?.head_seq ?? 0) - limits.events_kept_max
  const started = now()
  const replayed = yield* Effect.try({
    try: () =>
      replay(machine, journal, {
        onEvents: (events) => (events.at(-1)!.seq > keepFrom ? log.append(events) : log.skip(events))
      }),
    catch: (cause) =>
      cause instanceof JournalError
        ? cause
        : new JournalError({ message: `${path} does not replay: ${(cause as Error).message}`, cause })
  })
  yield* Effect.logInfo("journal replayed").pipe(
    Effect.annotateLogs({ path, entries: replayed.entries, head_seq: log.head, took_ms: now() - started })
  )

  const { state } = replayed
  const reads = options.reads(state)
  const failure = yield* Deferred.make<never, JournalError>()
  const events = new EventStream(log, now)
  const prices = new PriceStream({ prices: reads.prices, appliedSeq: () => log.head, now })
  const writer = new Writer({
    machine,
    state,
    journal,
    log,
    at_ms: replayed.at_ms,
    now,
    onEvents: events.publish,
    onFailure: (cause) => {
      // The state is ahead of the journal now: nobody may see more of it.
      events.stop()
      prices.stop()
      const message = `a turn failed and was taken back, none of it was acknowledged: ${(cause as Error).message} (${path})`
      Deferred.doneUnsafe(failure, Effect.fail(new JournalError({ message, cause })))
    }
  })
  const sequencer = Sequencer.make({ writer, log, events, now })

  const context = yield* Effect.context<never>()
  const readOptions: GrpcServer.ReadOptions = {
    sound: () => !writer.failed,
    onDefect: (cause) => Effect.runForkWith(context)(Effect.logError("a read failed", cause))
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

  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      writer.stop()
      events.stop()
      prices.stop()
      sequencer.stop()
    }).pipe(Effect.andThen(Effect.promise(() => GrpcServer.stop(server))))
  )
  const port = yield* Effect.tryPromise({
    try: () => GrpcServer.bind(server, options.host, options.port, options.tls),
    catch: (cause) =>
      new BindError({
        message: `cannot listen on ${options.host}:${options.port}: ${(cause as Error).message}`,
        cause
      })
  })
  return { port, epoch: journal.origin.epoch, failed: Deferred.await(failure) }
})
