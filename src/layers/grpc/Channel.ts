/**
 * A channel to one backend: credentials, keepalive, reads with a deadline behind a circuit breaker, and streams that are
 * taken up again for ever.
 *
 * Source: docs/contract/boundary.md, docs/contract/boundary.md#errors.
 */
import { randomUUID } from "node:crypto"
import * as NodeStream from "@effect/platform-node/NodeStream"
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

/** PEM texts. With `cert` and `key` the gateway shows a certificate of its own. */
export interface ClientTls {
  readonly ca: Buffer
  readonly cert: Buffer | undefined
  readonly key: Buffer | undefined
}

export interface Endpoint {
  /** `host:port`. */
  readonly address: string
  readonly secret: Redacted.Redacted<string> | undefined
  readonly tls: ClientTls | undefined
}

/** First and longest pause between two attempts to connect, in ms; each is jittered by a fifth. */
export const RECONNECT_MS_MIN = 100
export const RECONNECT_MS_MAX = 250
/** A stream whose heartbeat is this late is given up. Source: docs/contract/boundary.md#lagging. */
export const SILENCE_MS_MAX = 5000
/** Steps in which that time is counted. */
const SILENCE_STEPS = 5
/** A message holds a whole step at least; a liquidation may be large. */
export const MESSAGE_BYTES_MAX = 64 * 1024 * 1024
/** Reads of one kind that fail one after the other before the next ones are refused at once. */
export const READS_LOST_MAX = 20
/** Time for which they are; then one is tried, and the others wait for what becomes of it. */
export const READS_REST = Duration.millis(500)
/** Frames of a stream that wait for their reader; more are not taken off the wire. */
export const FRAMES_WAITING_MAX = 64

const options: ClientOptions = {
  "grpc.keepalive_time_ms": 5000,
  "grpc.keepalive_timeout_ms": 5000,
  "grpc.keepalive_permit_without_calls": 1,
  "grpc.initial_reconnect_backoff_ms": RECONNECT_MS_MIN,
  "grpc.min_reconnect_backoff_ms": RECONNECT_MS_MIN,
  "grpc.max_reconnect_backoff_ms": RECONNECT_MS_MAX,
  "grpc.max_receive_message_length": MESSAGE_BYTES_MAX,
  "grpc.enable_retries": 0,
  // A channel of its own: the link to a backend is never shared, so losing one loses one.
  "grpc.use_local_subchannel_pool": 1
}

/** An rpc of a generated service definition. */
export interface Rpc<Req, Res> {
  readonly path: string
  readonly requestSerialize: (value: Req) => Buffer
  readonly responseDeserialize: (value: Buffer) => Res
}

export interface Channel {
  readonly client: Client
  /** Metadata of a call: the secret, and an id by which the logs of both sides can be compared. Default: a new one. */
  readonly metadata: (request_id?: string) => Metadata
  /**
   * A read. Repeated once when the backend was not there, within the same deadline; refused at once, as UNAVAILABLE, while
   * reads of its kind are not answered at all, and given up, as DEADLINE_EXCEEDED, when the backend falls silent.
   */
  readonly read: <Req, Res>(rpc: Rpc<Req, Res>, request: Req, deadline_ms: number) => Effect.Effect<Res, ServiceError>
  /** Whether the backend answers at all, though there is a connection. */
  readonly silence: SilenceSignal
}

/** Waits before the next attempt to connect: exponential, jittered, bounded. */
export const pause = (failures: number): Effect.Effect<void> =>
  Effect.flatMap(Random.nextBetween(0.8, 1.2), (jitter) =>
    Effect.sleep(Math.min(RECONNECT_MS_MAX, RECONNECT_MS_MIN * 2 ** Math.min(failures, 16)) * jitter)
  )

const credentialsOf = (tls: ClientTls | undefined): ChannelCredentials =>
  tls === undefined
    ? ChannelCredentials.createInsecure()
    : ChannelCredentials.createSsl(tls.ca, tls.key ?? null, tls.cert ?? null)

/** Asks for the backend's health. Whatever it says, it has answered; one that is not there is found out by who needs it. */
const healthOf = (client: Client, metadata: () => Metadata): Effect.Effect<void, ServiceError> => {
  const { path, requestSerialize, responseDeserialize } = HealthService.check
  return Effect.callback((resume) => {
    const question = { service: "" }
    const call = client.makeUnaryRequest(path, requestSerialize, responseDeserialize, question, metadata(), () =>
      resume(Effect.void)
    )
    return Effect.sync(() => call.cancel())
  })
}

/**
 * Opens a channel for as long as the scope lives. It connects by itself, now and after every loss. With a name, its backend is
 * asked all the time whether it answers.
 */
export const make = Effect.fnUntraced(function* (
  endpoint: Endpoint,
  server?: string
): Effect.fn.Return<Channel, never, Scope.Scope> {
  const client = yield* Effect.acquireRelease(
    Effect.sync(() => new Client(endpoint.address, credentialsOf(endpoint.tls), options)),
    (client) => Effect.sync(() => client.close())
  )
  const authorization = endpoint.secret === undefined ? undefined : `Bearer ${Redacted.value(endpoint.secret)}`
  const metadata = (request_id: string = randomUUID()): Metadata => {
    const metadata = new Metadata()
    metadata.set("x-request-id", request_id)
    if (authorization !== undefined) metadata.set("authorization", authorization)
    return metadata
  }
  client.getChannel().getConnectivityState(true)
  const breaker = yield* Breaker.make({
    tripPolicy: CircuitBreaker.consecutive(READS_LOST_MAX),
    openDuration: READS_REST
  })
  const tracer = yield* Tracing.CurrentTracer
  const clock = yield* Clock.Clock
  const silence =
    server === undefined
      ? LivenessProbe.unasked
      : yield* LivenessProbe.make({ server, begin: Effect.succeed(healthOf(client, metadata)), late: () => silent })

  const once = <Req, Res>(rpc: Rpc<Req, Res>, request: Req, deadline: number) =>
    Effect.withFiber<Res, ServiceError>((fiber) => {
      const asking = Context.getOrUndefined(fiber.context, RequestContext)
      return Effect.callback((resume) => {
        if (silence.isSilent()) return resume(Effect.fail(silent))
        const sent = metadata(asking?.id)
        const span = tracer && Tracing.beginIn(fiber, tracer, rpc.path, "client", clock.currentTimeNanosUnsafe())
        if (span !== undefined) sent.set("traceparent", Tracing.traceparentOf(span))
        const call = client.makeUnaryRequest(
          rpc.path,
          rpc.requestSerialize,
          rpc.responseDeserialize,
          request,
          sent,
          { deadline },
          (error, value) => {
            leave()
            if (span !== undefined) {
              Tracing.end(span, clock.currentTimeNanosUnsafe(), error === null ? undefined : status[error.code])
            }
            resume(error === null ? Effect.succeed(value as Res) : Effect.fail(error))
          }
        )
        const leave = silence.await(() => {
          resume(Effect.fail(silent))
          call.cancel()
        })
        return Effect.sync(() => call.cancel())
      })
    })
  const patient = <Req, Res>(rpc: Rpc<Req, Res>, request: Req, deadline_ms: number) =>
    Effect.suspend(() => {
      // grpc compares with the machine's clock, not with the one that a test may have shifted.
      const deadline = Date.now() + deadline_ms
      const attempt = once(rpc, request, deadline)
      return Effect.catch(attempt, (error) =>
        error.code === status.UNAVAILABLE && Date.now() + RECONNECT_MS_MIN < deadline
          ? Effect.andThen(pause(0), attempt)
          : Effect.fail(error)
      )
    })
  const read: Channel["read"] = (rpc, request, deadline_ms) => {
    breaker.watch(rpc.path)
    return breaker
      .execute(patient(rpc, request, deadline_ms), { key: rpc.path, classify: outcomeOf })
      .pipe(Effect.catchTag("CircuitBreakerError", () => Effect.fail(resting)))
  }
  return { client, metadata, read, silence }
})

/** A backend that answers is there, whatever it answers. */
const UNANSWERED: ReadonlySet<status> = new Set([status.UNAVAILABLE, status.DEADLINE_EXCEEDED])
const outcomeOf = (exit: Exit.Exit<unknown, ServiceError>): CircuitBreaker.Outcome => {
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  return error !== undefined && UNANSWERED.has(error.code) ? CircuitBreaker.failure() : CircuitBreaker.success
}

export interface Subscription<Frame, A, E> {
  /** For the log. */
  readonly name: string
  /** Opens the stream anew, from where the reader has come. */
  readonly open: () => ClientReadableStream<Frame>
  /** Values of a frame. Throwing gives the connection up. */
  readonly read: (frame: Frame) => ReadonlyArray<A>
  /** Told once after each loss. */
  readonly lost: A
  /** An error that no new connection mends; undefined for the others. */
  readonly final: (error: ServiceError) => E | undefined
}

const opened = <Frame>(
  open: () => ClientReadableStream<Frame>
): Effect.Effect<ClientReadableStream<Frame>, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const call = open()
      // An error after the last read has no other listener and would end the process.
      call.on("error", () => {})
      return call
    }),
    (call) => Effect.sync(() => call.cancel())
  )

/**
 * A server stream for ever: every loss is told and the stream opened again after a pause. A reader that does not take
 * its frames holds the stream back; a stream that brings nothing, not even a heartbeat, is given up.
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
          // One line a loss; the attempts after it are told to who asks for more.
          const usual = failures > 0 && USUAL.has(error.code)
          yield* Effect.logWithLevel(usual ? "Debug" : "Warn")("backend stream lost").pipe(
            Effect.annotateLogs({ stream: subscription.name, status: status[error.code], details: error.details })
          )
          yield* pause(failures++)
        }
      }),
    { bufferSize: FRAMES_WAITING_MAX, strategy: "suspend" }
  )

/** One connection, from its opening to the error that ended it. */
const connection = <Frame, A, E>(
  { open, read }: Subscription<Frame, A, E>,
  queue: Queue.Queue<A, E | Cause.Done>,
  onFrame: () => void
): Effect.Effect<ServiceError> =>
  Effect.gen(function* () {
    const call = yield* opened(open)
    // Counted in steps, at most one per turn of the event loop: a stall of this process is no silence of the backend, nor is time
    // for which the reader holds the stream back.
    let silentSteps = 0
    let held = false
    yield* Effect.acquireRelease(
      Effect.sync(() =>
        setInterval(() => {
          if (!held && ++silentSteps > SILENCE_STEPS) call.cancel()
        }, SILENCE_MS_MAX / SILENCE_STEPS)
      ),
      (timer) => Effect.sync(() => clearInterval(timer))
    )
    yield* NodeStream.fromReadable<Frame, ServiceError>({
      evaluate: () => call,
      onError: (cause) => cause as ServiceError,
      closeOnDone: false
    }).pipe(
      Stream.runForEachArray((frames) => {
        const values: Array<A> = []
        let broken: ServiceError | undefined
        for (const frame of frames) {
          try {
            for (const value of read(frame)) values.push(value)
          } catch (cause) {
            broken = Object.assign(new Error("unreadable frame", { cause }), unreadable, { details: String(cause) })
            break
          }
        }
        if (broken === undefined) onFrame()
        held = true
        // What was read before an unreadable frame is the reader's: the next connection begins after it.
        return Effect.flatMap(Queue.offerAll(queue, values), () => {
          held = false
          silentSteps = 0
          return broken === undefined ? Effect.void : Effect.fail(broken)
        })
      })
    )
    return yield* Effect.fail(ended)
  }).pipe(Effect.scoped, Effect.flip)

/** Losses that come with a restart or a cut. */
const USUAL: ReadonlySet<status> = new Set([status.UNAVAILABLE, status.CANCELLED])

const bare = { details: "", metadata: new Metadata() }
const resting: ServiceError = Object.assign(new Error("reads of this kind are not answered"), {
  ...bare,
  details: "reads of this kind are not answered",
  code: status.UNAVAILABLE
})
const silent: ServiceError = Object.assign(new Error("the backend does not answer"), {
  ...bare,
  details: "the backend does not answer",
  code: status.DEADLINE_EXCEEDED
})
const unreadable = { ...bare, code: status.DATA_LOSS }
const ended: ServiceError = Object.assign(new Error("the stream ended"), {
  ...bare,
  details: "the stream ended",
  code: status.UNAVAILABLE
})
