/**
 * The stream of JetStream that carries the sequencer's events, and the connection to its server, made anew for ever.
 *
 * It is a copy: bounded, lost at any time without harm. Each message is one frame of the sequencer's stream; its headers
 * tell which events it holds.
 */
import { type JetStreamManager, jetstream, jetstreamManager, type JetStreamClient } from "@nats-io/jetstream"
import { connect, type NatsConnection } from "@nats-io/transport-node"
import { Context, Deferred, Effect, Layer, Redacted, Schema } from "effect"
import { CurrentMetricsRegistry } from "../../services/operations/MetricsRegistry.ts"

/** Most that the stream keeps. */
const KEPT = { max_msgs: 1_000_000, max_bytes: 1024 ** 3, max_age: 24 * 3600 * 1e9 }
/** For how long a frame that is published again is known, in ns. */
const DUPLICATES = 120 * 1e9
const TIMEOUT_MS = 1_000
/** A server that leaves two pings unanswered is given up. */
const PING_MS = 2_000
const RECONNECT = "500 millis"

export const STREAM = "gateway_events"
export const SUBJECT = "gateway.events"

/** NATS is away, or did not answer. */
export class NatsUnavailable extends Schema.TaggedError<NatsUnavailable>()("NatsUnavailable", {
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** Which events a message holds, and its place in the stream of JetStream. */
export interface Place {
  readonly message: number
  readonly epoch: string
  readonly first: number
  readonly last: number
}

export interface Connected {
  readonly js: JetStreamClient
  /** First and last message that are kept; `undefined`: there is none. */
  readonly ends: Effect.Effect<{ readonly first: number; readonly last: number } | undefined, NatsUnavailable>
  readonly placeOf: (message: number) => Effect.Effect<Place | undefined, NatsUnavailable>
}

export const asked = <A>(ask: () => Promise<A>) =>
  Effect.tryPromise({ try: ask, catch: (cause) => new NatsUnavailable({ cause }) })

export class NatsStream extends Context.Service<
  NatsStream,
  {
    /** The server, if it is connected. */
    readonly connected: Effect.Effect<Connected, NatsUnavailable>
  }
>()("gateway/layers/nats/NatsStream") {}

const connectedTo = (nats: NatsConnection, manager: JetStreamManager): Connected => ({
  js: jetstream(nats, { timeout: TIMEOUT_MS }),
  ends: Effect.map(
    asked(() => manager.streams.info(STREAM)),
    ({ state }) => (state.messages === 0 ? undefined : { first: state.first_seq, last: state.last_seq })
  ),
  placeOf: (message) =>
    Effect.map(
      asked(() => manager.streams.getMessage(STREAM, { seq: message })),
      (stored) => {
        const epoch = stored?.header.get("epoch")
        return stored === null || epoch === undefined || epoch === ""
          ? undefined
          : { message, epoch, first: Number(stored.header.get("first")), last: Number(stored.header.get("last")) }
      }
    )
})

export const layer = (options: { readonly url: Redacted.Redacted<string> }): Layer.Layer<NatsStream> =>
  Layer.effect(
    NatsStream,
    Effect.gen(function* () {
      let current: Connected | undefined
      const meter = yield* CurrentMetricsRegistry
      meter.gauge("gateway_dependency_up", { dependency: "nats" }, () => (current === undefined ? 0 : 1))
      const tried = yield* Deferred.make<void>()
      /** One connection, from its opening to its end. */
      const session = Effect.gen(function* () {
        const nats = yield* Effect.acquireRelease(
          asked(() =>
            connect({
              servers: Redacted.value(options.url),
              timeout: TIMEOUT_MS,
              pingInterval: PING_MS,
              maxPingOut: 2,
              reconnect: false
            })
          ),
          (nats) => Effect.promise(() => nats.close().catch(() => {}))
        )
        const manager = yield* asked(() => jetstreamManager(nats, { timeout: TIMEOUT_MS }))
        const config = { name: STREAM, subjects: [SUBJECT], duplicate_window: DUPLICATES, ...KEPT }
        yield* asked(() => manager.streams.add(config)).pipe(
          // it is there, as another version of the gateway wanted it
          Effect.catch(() => asked(() => manager.streams.info(STREAM)))
        )
        yield* Effect.acquireRelease(
          Effect.sync(() => {
            current = connectedTo(nats, manager)
          }),
          () =>
            Effect.sync(() => {
              current = undefined
            })
        )
        yield* Deferred.succeed(tried, undefined)
        yield* Effect.logInfo("NATS connected")
        const cause = yield* asked(() => nats.closed())
        return yield* Effect.logWarning("NATS lost", cause ?? "")
      })
      yield* Effect.scoped(session).pipe(
        Effect.catch((error) => Effect.logDebug("NATS is away", error)),
        Effect.andThen(Deferred.succeed(tried, undefined)),
        Effect.andThen(Effect.sleep(RECONNECT)),
        Effect.forever,
        Effect.forkScoped
      )
      yield* Deferred.await(tried)
      return NatsStream.of({
        connected: Effect.suspend(() =>
          current === undefined ? Effect.fail(new NatsUnavailable({})) : Effect.succeed(current)
        )
      })
    })
  )
