/**
 * A channel to a backend: its connections, reads with a deadline behind a circuit breaker, and streams that reconnect without
 * end.
 *
 * Source: docs/contract/boundary.md, docs/contract/boundary.md#errors.
 */
import { type ServiceError, status } from "@grpc/grpc-js"
import { type Cause, Clock, Context, Duration, Effect, Exit, Option, Queue, Random, type Scope, Stream } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { callFailure } from "../../node/CallFailure.ts"
import type { Open } from "../../node/PortCall.ts"
import { HealthService } from "../../proto/grpc/health/v1/health.ts"
import * as Breaker from "../../services/operations/CircuitBreaker.ts"
import { CurrentMetricsRegistry } from "../../services/operations/MetricsRegistry.ts"
import { RequestContext } from "../../services/operations/RequestContext.ts"
import { currentMonotonicMillis } from "../../services/operations/Monotonic.ts"
import * as Tracing from "../../services/operations/Tracing.ts"
import type { SilenceSignal } from "../../services/operations/Timeout.ts"
import * as LivenessProbe from "../../services/operations/LivenessProbe.ts"
import { type Connection, RECONNECT_MS_MAX, RECONNECT_MS_MIN, type ResponseStream, type Rpc } from "./Connection.ts"
import * as GrpcConnection from "./GrpcConnection.ts"
import * as Leader from "./Leader.ts"
import * as PortConnection from "./PortConnection.ts"

/** A backend, or several that share a journal, of which one leads. */
export interface RemoteEndpoint extends GrpcConnection.Credentials {
  /** `host:port`, or several of them separated by commas. */
  readonly address: string
}
/** A backend in a thread of this process. */
export interface ThreadEndpoint {
  readonly open: Open
}
export type Endpoint = RemoteEndpoint | ThreadEndpoint

/** A stream without a frame or heartbeat for this long is cancelled, in ms. Source: docs/contract/boundary.md#lagging. */
export const SILENCE_MS_MAX = 5000
/** Steps in which that time is counted. */
const SILENCE_STEPS = 5
/**
 * Longest silence of the liveness probe for a backend in a thread of this process, in ms: as long as a command may take. Such
 * a backend is never cut off, only late where the machine or its disk is busy.
 */
const THREAD_SILENCE_MS = 2000
/** Consecutive failures of one kind of read that open its circuit. */
export const READS_LOST_MAX = 20
/** Time for which an open circuit refuses reads at once; then one read is tried, and its result decides for the others. */
export const READS_REST = Duration.millis(500)
/** Time in which further losses of a stream by the same error are logged at debug, in ms. */
export const SAME_LOSS_MS = 10_000
/** Frames of a stream that are buffered for its reader; beyond them flow control pauses the stream. */
export const FRAMES_WAITING_MAX = 256

export interface Channel {
  /** Calls back when another backend leads; returns a function that removes the callback. */
  readonly onMove: Leader.Leader["onMove"]
  /**
   * A read. One retry within the same deadline when the backend is UNAVAILABLE; of several backends, one may take over, so
   * reads are repeated until the deadline. Fails at once with UNAVAILABLE while the
   * circuit of this kind of read is open, and with DEADLINE_EXCEEDED when the liveness probe finds the backend unresponsive.
   */
  readonly read: <Req, Res>(rpc: Rpc<Req, Res>, request: Req, deadline_ms: number) => Effect.Effect<Res, ServiceError>
  readonly responses: Connection["responses"]
  readonly calls: Connection["calls"]
  readonly whenReady: Connection["whenReady"]
  /** The liveness probe of the backend: a backend can hold its connection and still not respond. */
  readonly silence: SilenceSignal
}

/** Pause before the next attempt to connect: exponential, with jitter and an upper bound. */
export const pause = (failures: number): Effect.Effect<void> =>
  Effect.flatMap(Random.nextBetween(0.8, 1.2), (jitter) =>
    Effect.sleep(Math.min(RECONNECT_MS_MAX, RECONNECT_MS_MIN * 2 ** Math.min(failures, 16)) * jitter)
  )

/** A health check as liveness probe. Any response counts, errors included: only silence is a failure. */
const healthOf = (connection: Connection): Effect.Effect<void, ServiceError> =>
  Effect.callback((resume) => {
    const cancel = connection.unary(HealthService.check, { service: "" }, {}, () => resume(Effect.void))
    return Effect.sync(cancel)
  })

const connect = (endpoint: Endpoint): Effect.Effect<ReadonlyArray<Connection>, never, Scope.Scope> =>
  "open" in endpoint
    ? Effect.succeed([PortConnection.make(endpoint.open)])
    : Effect.forEach(endpoint.address.split(","), (address) => GrpcConnection.make(address.trim(), endpoint))

/**
 * Opens a channel that lives as long as the scope. It connects at once and reconnects after every loss. With the name of a
 * server, a liveness probe checks continuously that the backend responds.
 */
export const make = Effect.fnUntraced(function* (
  endpoint: Endpoint,
  server?: string
): Effect.fn.Return<Channel, never, Scope.Scope> {
  const connections = yield* connect(endpoint)
  const leader = yield* Leader.make(connections)
  const breaker = yield* Breaker.make({
    tripPolicy: CircuitBreaker.consecutive(READS_LOST_MAX),
    openDuration: READS_REST
  })
  const tracer = yield* Tracing.CurrentTracer
  const clock = yield* Clock.Clock
  const silence =
    server === undefined
      ? LivenessProbe.neverSilent
      : yield* LivenessProbe.make({
          server,
          begin: Effect.succeed(Effect.suspend(() => healthOf(leader.connection()))),
          late: () => unresponsive,
          silence_ms: "open" in endpoint ? THREAD_SILENCE_MS : undefined
        })

  const once = <Req, Res>(rpc: Rpc<Req, Res>, request: Req, deadline_ms: number) =>
    Effect.withFiber<Res, ServiceError>((fiber) => {
      const caller = Context.getOrUndefined(fiber.context, RequestContext)
      return Effect.callback((resume) => {
        if (silence.isSilent()) return resume(Effect.fail(unresponsive))
        const span = tracer && Tracing.beginIn(fiber, tracer, rpc.path, "client", clock.currentTimeNanosUnsafe())
        const options = { request_id: caller?.id, traceparent: span && Tracing.traceparentOf(span), deadline_ms }
        const cancel = leader.connection().unary(rpc, request, options, (error, value) => {
          unsubscribe()
          if (span !== undefined) {
            Tracing.end(span, clock.currentTimeNanosUnsafe(), error === null ? undefined : status[error.code])
          }
          resume(error === null ? Effect.succeed(value!) : Effect.fail(error))
        })
        const unsubscribe = silence.await(() => {
          resume(Effect.fail(unresponsive))
          cancel()
        })
        return Effect.sync(cancel)
      })
    })
  const readWithRetry = <Req, Res>(rpc: Rpc<Req, Res>, request: Req, deadline_ms: number) =>
    Effect.suspend(() => {
      const ends_ms = performance.now() + deadline_ms
      const left_ms = () => ends_ms - performance.now()
      const attempt = Effect.suspend(() => once(rpc, request, left_ms()))
      const repeated = (times: number): Effect.Effect<Res, ServiceError> =>
        Effect.catch(attempt, (error) =>
          times > 0 && error.code === status.UNAVAILABLE && left_ms() > RECONNECT_MS_MIN
            ? Effect.andThen(pause(0), repeated(times - 1))
            : Effect.fail(error)
        )
      return repeated(connections.length > 1 ? Infinity : 1)
    })
  const read: Channel["read"] = (rpc, request, deadline_ms) => {
    breaker.watch(rpc.path)
    return breaker
      .execute(readWithRetry(rpc, request, deadline_ms), { key: rpc.path, classify: outcomeOf })
      .pipe(Effect.catchTag("CircuitBreakerError", () => Effect.fail(circuitOpen)))
  }
  return {
    onMove: leader.onMove,
    read,
    responses: (rpc, request) => leader.connection().responses(rpc, request),
    calls: (rpc) => leader.connection().calls(rpc),
    whenReady: (within_ms, done) => leader.connection().whenReady(within_ms, done),
    silence
  }
})

/** Status codes of an unavailable backend; any other error of a read is a defect on one side. */
const ABSENT: ReadonlySet<status> = new Set([
  status.UNAVAILABLE,
  status.RESOURCE_EXHAUSTED,
  status.DEADLINE_EXCEEDED,
  status.CANCELLED
])
/** Whether the backend of a failed read is unavailable. Source: docs/contract/boundary.md#errors. */
export const isAbsent = ({ code }: ServiceError): boolean => ABSENT.has(code)

/** Only a missing response counts as a failure of the circuit: an error status is a response. */
const UNANSWERED: ReadonlySet<status> = new Set([status.UNAVAILABLE, status.DEADLINE_EXCEEDED])
const outcomeOf = (exit: Exit.Exit<unknown, ServiceError>): CircuitBreaker.Outcome => {
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  return error !== undefined && UNANSWERED.has(error.code) ? CircuitBreaker.failure() : CircuitBreaker.success
}

export interface Subscription<Frame, A, E> {
  /** For the log. */
  readonly name: string
  readonly channel: Pick<Channel, "onMove">
  /** Opens the stream again, from the position that the reader has reached. */
  readonly open: () => ResponseStream<Frame>
  /** Values of a frame. An exception ends the connection. */
  readonly read: (frame: Frame) => ReadonlyArray<A>
  /** The value that the stream emits once after each loss. */
  readonly lost: A
  /** The stream's final error where no reconnect can help; undefined for other errors. */
  readonly final: (error: ServiceError) => E | undefined
}

/**
 * A server stream without end: every loss emits `lost`, and the stream reopens after a pause. A slow reader holds the
 * stream back by flow control. A stream that brings nothing, not even a heartbeat, is cancelled.
 */
export const follow = <Frame, A, E>(subscription: Subscription<Frame, A, E>): Stream.Stream<A, E> =>
  Stream.callback<A, E>(
    (queue: Queue.Queue<A, E | Cause.Done>) =>
      Effect.gen(function* () {
        const losses = (yield* CurrentMetricsRegistry).counter("gateway_stream_losses_total", {
          stream: subscription.name
        })
        let failures = 0
        let warned = { text: "", at_ms: 0 }
        while (true) {
          const error = yield* connection(subscription, queue, () => {
            failures = 0
          })
          const final = subscription.final(error)
          if (final !== undefined) return yield* Effect.fail(final)
          losses.add()
          yield* Queue.offer(queue, subscription.lost)
          // warn once a loss; failed attempts to reconnect are logged at debug, and so is an error that repeats itself at once
          const isExpected = failures > 0 && EXPECTED_LOSSES.has(error.code)
          const text = `${error.code} ${error.details}`
          const at_ms = yield* currentMonotonicMillis
          const isRepeated = text === warned.text && at_ms - warned.at_ms < SAME_LOSS_MS
          if (!isExpected && !isRepeated) warned = { text, at_ms }
          yield* Effect.logWithLevel(isExpected || isRepeated ? "Debug" : "Warn")("backend stream lost").pipe(
            Effect.annotateLogs({ stream: subscription.name, status: status[error.code], details: error.details })
          )
          yield* pause(failures++)
        }
      }),
    { bufferSize: FRAMES_WAITING_MAX, strategy: "suspend" }
  )

/**
 * One connection, from its opening to the error that ends it. Frames go from the call into the queue in its own callback; a
 * fiber runs only while the queue is full.
 */
const connection = <Frame, A, E>(
  { channel, open, read }: Subscription<Frame, A, E>,
  queue: Queue.Queue<A, E | Cause.Done>,
  onFrame: () => void
): Effect.Effect<ServiceError> =>
  Effect.callback((resume) => {
    const call = open()
    // Counted in steps, at most one per turn of the event loop: a stall of this process does not count as silence of the
    // backend, nor does time for which the reader holds the stream back.
    let silentSteps = 0
    let isHeldBack = false
    const timer = setInterval(() => {
      if (!isHeldBack && ++silentSteps > SILENCE_STEPS) end(silentStream)
    }, SILENCE_MS_MAX / SILENCE_STEPS)
    let isOpen = true
    const leave = channel.onMove(() => call.cancel())
    const close = (): void => {
      isOpen = false
      leave()
      clearInterval(timer)
      call.cancel()
    }
    const end = (error: ServiceError): void => {
      if (!isOpen) return
      close()
      resume(Effect.succeed(error))
    }
    const offer = (values: ReadonlyArray<A>): void => {
      const left = Queue.offerAllUnsafe(queue, values)
      if (left.length === 0) return
      isHeldBack = true
      call.pause()
      Effect.runFork(
        Effect.map(Queue.offerAll(queue, left), () => {
          isHeldBack = false
          silentSteps = 0
          call.resume()
        })
      )
    }
    call.on("data", (frame: Frame) => {
      if (!isOpen) return
      silentSteps = 0
      let values: ReadonlyArray<A>
      try {
        values = read(frame)
      } catch (cause) {
        // The reader keeps what was read before an unreadable frame; the next connection begins after it.
        return end(callFailure(status.DATA_LOSS, String(cause), { cause }))
      }
      onFrame()
      offer(values)
    })
    // the listener stays: without one, an error after the end would end the process
    call.on("error", end)
    call.on("end", () => end(endOfStream))
    return Effect.sync(close)
  })

/** Status codes of a loss by a restart or a cut connection. */
const EXPECTED_LOSSES: ReadonlySet<status> = new Set([status.UNAVAILABLE, status.CANCELLED])

const circuitOpen = callFailure(status.UNAVAILABLE, "the circuit of this read is open: the backend does not respond")
const unresponsive = callFailure(status.DEADLINE_EXCEEDED, "the backend does not respond")
const silentStream = callFailure(
  status.DEADLINE_EXCEEDED,
  `the stream brought no frame and no heartbeat for ${SILENCE_MS_MAX / 1000} s`
)
const endOfStream = callFailure(status.UNAVAILABLE, "the stream ended")
