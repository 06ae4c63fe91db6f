/**
 * A channel to one backend: credentials, keepalive, reads with a deadline behind a circuit breaker, and streams that
 * reconnect without end.
 *
 * Source: docs/contract/boundary.md, docs/contract/boundary.md#errors.
 */
import { randomUUID } from "node:crypto"
import {
  ChannelCredentials,
  Client,
  type ClientOptions,
  type ClientReadableStream,
  Metadata,
  type ServiceError,
  status
} from "@grpc/grpc-js"
import {
  type Cause,
  Clock,
  Context,
  Duration,
  Effect,
  Exit,
  Option,
  Queue,
  Random,
  Redacted,
  type Scope,
  Stream
} from "effect"
import { CircuitBreaker } from "effect/persistence"
import { HealthService } from "../../proto/grpc/health/v1/health.ts"
import * as Breaker from "../../services/operations/CircuitBreaker.ts"
import { CurrentMetricsRegistry } from "../../services/operations/MetricsRegistry.ts"
import { RequestContext } from "../../services/operations/RequestContext.ts"
import * as Tracing from "../../services/operations/Tracing.ts"
import type { SilenceSignal } from "../../services/operations/Timeout.ts"
import * as LivenessProbe from "../../services/operations/LivenessProbe.ts"
import * as Leader from "./Leader.ts"

/** PEM texts. With `cert` and `key` the gateway presents a client certificate. */
export interface ClientTls {
  readonly ca: Buffer
  readonly cert: Buffer | undefined
  readonly key: Buffer | undefined
}

export interface Endpoint {
  /** `host:port`, or several of them separated by commas: backends that share a journal, of which one leads. */
  readonly address: string
  readonly secret: Redacted.Redacted<string> | undefined
  readonly tls: ClientTls | undefined
}

/** First and longest pause between two attempts to connect, in ms; each has a jitter of 20 percent. */
export const RECONNECT_MS_MIN = 100
export const RECONNECT_MS_MAX = 250
/** A stream without a frame or heartbeat for this long is cancelled, in ms. Source: docs/contract/boundary.md#lagging. */
export const SILENCE_MS_MAX = 5000
/** Steps in which that time is counted. */
const SILENCE_STEPS = 5
/** Largest message: a backend may send a large step in one frame. */
export const MESSAGE_BYTES_MAX = 64 * 1024 * 1024
/** Consecutive failures of one kind of read that open its circuit. */
export const READS_LOST_MAX = 20
/** Time for which an open circuit refuses reads at once; then one read is tried, and its result decides for the others. */
export const READS_REST = Duration.millis(500)
/** Frames of a stream that are buffered for its reader; beyond them flow control pauses the stream. */
export const FRAMES_WAITING_MAX = 256

const options: ClientOptions = {
  "grpc.keepalive_time_ms": 5000,
  "grpc.keepalive_timeout_ms": 5000,
  "grpc.keepalive_permit_without_calls": 1,
  "grpc.initial_reconnect_backoff_ms": RECONNECT_MS_MIN,
  "grpc.min_reconnect_backoff_ms": RECONNECT_MS_MIN,
  "grpc.max_reconnect_backoff_ms": RECONNECT_MS_MAX,
  "grpc.max_receive_message_length": MESSAGE_BYTES_MAX,
  "grpc.enable_retries": 0,
  // A separate connection for each channel: the loss of one does not affect the others.
  "grpc.use_local_subchannel_pool": 1
}

/** An RPC method of a generated service definition. */
export interface Rpc<Req, Res> {
  readonly path: string
  readonly requestSerialize: (value: Req) => Buffer
  readonly responseDeserialize: (value: Buffer) => Res
}

export interface Channel {
  /** The client of the backend that leads now. */
  readonly client: Client
  /** Calls back when another backend leads; returns a function that removes the callback. */
  readonly onMove: Leader.Leader["onMove"]
  /** Metadata of a call: the secret, and an id that correlates the logs of both sides. Default: a new id. */
  readonly metadata: (request_id?: string) => Metadata
  /**
   * A read. One retry within the same deadline when the backend is UNAVAILABLE; of several backends, one may take over, so
   * reads are repeated until the deadline. Fails at once with UNAVAILABLE while the
   * circuit of this kind of read is open, and with DEADLINE_EXCEEDED when the liveness probe finds the backend unresponsive.
   */
  readonly read: <Req, Res>(rpc: Rpc<Req, Res>, request: Req, deadline_ms: number) => Effect.Effect<Res, ServiceError>
  /** The liveness probe of the backend: a backend can hold its connection and still not respond. */
  readonly silence: SilenceSignal
}

/** Pause before the next attempt to connect: exponential, with jitter and an upper bound. */
export const pause = (failures: number): Effect.Effect<void> =>
  Effect.flatMap(Random.nextBetween(0.8, 1.2), (jitter) =>
    Effect.sleep(Math.min(RECONNECT_MS_MAX, RECONNECT_MS_MIN * 2 ** Math.min(failures, 16)) * jitter)
  )

const credentialsOf = (tls: ClientTls | undefined): ChannelCredentials =>
  tls === undefined
    ? ChannelCredentials.createInsecure()
    : ChannelCredentials.createSsl(tls.ca, tls.key ?? null, tls.cert ?? null)

/** A health check as liveness probe. Any response counts, errors included: only silence is a failure. */
const healthOf = (client: Client, metadata: () => Metadata): Effect.Effect<void, ServiceError> => {
  const { path, requestSerialize, responseDeserialize } = HealthService.check
  return Effect.callback((resume) => {
    const request = { service: "" }
    const call = client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, metadata(), () =>
      resume(Effect.void)
    )
    return Effect.sync(() => call.cancel())
  })
}

/**
 * Opens a channel that lives as long as the scope. It connects at once and reconnects after every loss. With the name of a
 * server, a liveness probe checks continuously that the backend responds.
 */
export const make = Effect.fnUntraced(function* (
  endpoint: Endpoint,
  server?: string
): Effect.fn.Return<Channel, never, Scope.Scope> {
  const clients = yield* Effect.forEach(endpoint.address.split(","), (address) =>
    Effect.acquireRelease(
      Effect.sync(() => new Client(address.trim(), credentialsOf(endpoint.tls), options)),
      (client) => Effect.sync(() => client.close())
    )
  )
  const authorization = endpoint.secret === undefined ? undefined : `Bearer ${Redacted.value(endpoint.secret)}`
  const metadata = (request_id: string = randomUUID()): Metadata => {
    const metadata = new Metadata()
    metadata.set("x-request-id", request_id)
    if (authorization !== undefined) metadata.set("authorization", authorization)
    return metadata
  }
  for (const client of clients) client.getChannel().getConnectivityState(true)
  const leader = yield* Leader.make(clients, metadata)
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
          begin: Effect.succeed(Effect.suspend(() => healthOf(leader.client(), metadata))),
          late: () => unresponsive
        })

  const once = <Req, Res>(rpc: Rpc<Req, Res>, request: Req, deadline: number) =>
    Effect.withFiber<Res, ServiceError>((fiber) => {
      const caller = Context.getOrUndefined(fiber.context, RequestContext)
      return Effect.callback((resume) => {
        if (silence.isSilent()) return resume(Effect.fail(unresponsive))
        const sent = metadata(caller?.id)
        const span = tracer && Tracing.beginIn(fiber, tracer, rpc.path, "client", clock.currentTimeNanosUnsafe())
        if (span !== undefined) sent.set("traceparent", Tracing.traceparentOf(span))
        const call = leader
          .client()
          .makeUnaryRequest(
            rpc.path,
            rpc.requestSerialize,
            rpc.responseDeserialize,
            request,
            sent,
            { deadline },
            (error, value) => {
              unsubscribe()
              if (span !== undefined) {
                Tracing.end(span, clock.currentTimeNanosUnsafe(), error === null ? undefined : status[error.code])
              }
              resume(error === null ? Effect.succeed(value as Res) : Effect.fail(error))
            }
          )
        const unsubscribe = silence.await(() => {
          resume(Effect.fail(unresponsive))
          call.cancel()
        })
        return Effect.sync(() => call.cancel())
      })
    })
  const readWithRetry = <Req, Res>(rpc: Rpc<Req, Res>, request: Req, deadline_ms: number) =>
    Effect.suspend(() => {
      const ends_ms = performance.now() + deadline_ms
      const left_ms = () => ends_ms - performance.now()
      // grpc-js turns a time of the system clock into a duration at once, so a later step of that clock has no effect
      const attempt = Effect.suspend(() => once(rpc, request, Date.now() + left_ms()))
      const repeated = (times: number): Effect.Effect<Res, ServiceError> =>
        Effect.catch(attempt, (error) =>
          times > 0 && error.code === status.UNAVAILABLE && left_ms() > RECONNECT_MS_MIN
            ? Effect.andThen(pause(0), repeated(times - 1))
            : Effect.fail(error)
        )
      return repeated(clients.length > 1 ? Infinity : 1)
    })
  const read: Channel["read"] = (rpc, request, deadline_ms) => {
    breaker.watch(rpc.path)
    return breaker
      .execute(readWithRetry(rpc, request, deadline_ms), { key: rpc.path, classify: outcomeOf })
      .pipe(Effect.catchTag("CircuitBreakerError", () => Effect.fail(circuitOpen)))
  }
  return {
    get client() {
      return leader.client()
    },
    onMove: leader.onMove,
    metadata,
    read,
    silence
  }
})

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
  readonly open: () => ClientReadableStream<Frame>
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
        while (true) {
          const error = yield* connection(subscription, queue, () => {
            failures = 0
          })
          const final = subscription.final(error)
          if (final !== undefined) return yield* Effect.fail(final)
          losses.add()
          yield* Queue.offer(queue, subscription.lost)
          // warn once a loss; failed attempts to reconnect are logged at debug
          const isExpected = failures > 0 && EXPECTED_LOSSES.has(error.code)
          yield* Effect.logWithLevel(isExpected ? "Debug" : "Warn")("backend stream lost").pipe(
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
      if (!isHeldBack && ++silentSteps > SILENCE_STEPS) call.cancel()
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
        return end(Object.assign(new Error("unreadable frame", { cause }), unreadable, { details: String(cause) }))
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

const noMetadata = { details: "", metadata: new Metadata() }
const circuitOpen: ServiceError = Object.assign(
  new Error("the circuit of this read is open: the backend does not respond"),
  {
    ...noMetadata,
    details: "the circuit of this read is open: the backend does not respond",
    code: status.UNAVAILABLE
  }
)
const unresponsive: ServiceError = Object.assign(new Error("the backend does not respond"), {
  ...noMetadata,
  details: "the backend does not respond",
  code: status.DEADLINE_EXCEEDED
})
const unreadable = { ...noMetadata, code: status.DATA_LOSS }
const endOfStream: ServiceError = Object.assign(new Error("the stream ended"), {
  ...noMetadata,
  details: "the stream ended",
  code: status.UNAVAILABLE
})
