/**
 * The JetStream stream with the copy of the sequencer's events, and the connection to its server, which reconnects without
 * end.
 *
 * The copy has a size limit and may be lost at any time without harm. Each message is one frame of the sequencer's stream;
 * its headers name the events in it.
 */
import { type JetStreamManager, jetstream, jetstreamManager, type JetStreamClient } from "@nats-io/jetstream"
import { connect, type MsgHdrs, type NatsConnection } from "@nats-io/transport-node"
import { Context, Deferred, Effect, Layer, Redacted, Schema } from "effect"
import * as Daemon from "../../services/operations/Daemon.ts"
import { CurrentMetricsRegistry } from "../../services/operations/MetricsRegistry.ts"

/** Limits of the stream. */
const LIMITS = { max_msgs: 1_000_000, max_bytes: 1024 ** 3, max_age: 24 * 3600 * 1e9 }
/** Time in which the server detects duplicates, in ns. */
const DUPLICATE_WINDOW = 120 * 1e9
const TIMEOUT_MS = 1_000
/** Interval of pings, in ms; after two without a reply the connection is closed. */
const PING_MS = 2_000
const RECONNECT = "500 millis"

export const STREAM = "gateway_events"
export const SUBJECT = "gateway.events"

/** NATS is disconnected or did not reply. */
export class NatsUnavailable extends Schema.TaggedError<NatsUnavailable>()("NatsUnavailable", {
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** The events of a message, and its number in the stream. */
export interface Place {
  readonly message: number
  readonly epoch: string
  readonly first: number
  readonly last: number
  /** The history, and its checksum after the last event; undefined where the sequencer has none. */
  readonly fork: string | undefined
  readonly checksum: number | undefined
}

export interface Connected {
  readonly js: JetStreamClient
  /** First and last stored message; undefined where the stream is empty. */
  readonly ends: Effect.Effect<{ readonly first: number; readonly last: number } | undefined, NatsUnavailable>
  readonly placeOf: (message: number) => Effect.Effect<Place | undefined, NatsUnavailable>
}

export const attempt = <A>(run: () => Promise<A>) =>
  Effect.tryPromise({ try: run, catch: (cause) => new NatsUnavailable({ cause }) })

export class NatsStream extends Context.Service<
  NatsStream,
  {
    /** The connected server. */
    readonly connected: Effect.Effect<Connected, NatsUnavailable>
  }
>()("gateway/layers/nats/NatsStream") {}

/** A checksum in the headers of a message. */
export const checksumOf = (headers: MsgHdrs | undefined, name: "before" | "checksum"): number | undefined => {
  const text = headers?.get(name) ?? ""
  return text === "" ? undefined : Number(text)
}

const connectedTo = (nats: NatsConnection, manager: JetStreamManager): Connected => ({
  js: jetstream(nats, { timeout: TIMEOUT_MS }),
  ends: Effect.map(
    attempt(() => manager.streams.info(STREAM)),
    ({ state }) => (state.messages === 0 ? undefined : { first: state.first_seq, last: state.last_seq })
  ),
  placeOf: (message) =>
    Effect.map(
      attempt(() => manager.streams.getMessage(STREAM, { seq: message })),
      (stored) => {
        const epoch = stored?.header.get("epoch")
        return stored === null || epoch === undefined || epoch === ""
          ? undefined
          : {
              message,
              epoch,
              first: Number(stored.header.get("first")),
              last: Number(stored.header.get("last")),
              fork: stored.header.get("fork") || undefined,
              checksum: checksumOf(stored.header, "checksum")
            }
      }
    )
})

/** The user and password of an address, or its token: the library reads neither. */
const credentialsOf = ({ password, username }: URL) => {
  if (username === "") return {}
  const user = decodeURIComponent(username)
  return password === "" ? { token: user } : { user, pass: decodeURIComponent(password) }
}

export const layer = (options: { readonly url: Redacted.Redacted<string> }): Layer.Layer<NatsStream> =>
  Layer.effect(
    NatsStream,
    Effect.gen(function* () {
      let current: Connected | undefined
      const meter = yield* CurrentMetricsRegistry
      meter.gauge("gateway_dependency_up", { dependency: "nats" }, () => (current === undefined ? 0 : 1))
      const attempted = yield* Deferred.make<void>()
      /** Whether NATS was reached, or a line has said that it was not. */
      let isReported = false
      /** One connection, from its opening to its end. */
      const session = Effect.gen(function* () {
        const nats = yield* Effect.acquireRelease(
          attempt(() =>
            connect({
              servers: Redacted.value(options.url),
              ...credentialsOf(new URL(Redacted.value(options.url))),
              timeout: TIMEOUT_MS,
              pingInterval: PING_MS,
              maxPingOut: 2,
              reconnect: false
            })
          ),
          (nats) => Effect.promise(() => nats.close().catch(() => {}))
        )
        const manager = yield* attempt(() => jetstreamManager(nats, { timeout: TIMEOUT_MS }))
        const config = { name: STREAM, subjects: [SUBJECT], duplicate_window: DUPLICATE_WINDOW, ...LIMITS }
        yield* attempt(() => manager.streams.add(config)).pipe(
          // exists already, possibly with the settings of another version
          Effect.catch(() => attempt(() => manager.streams.info(STREAM)))
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
        yield* Deferred.succeed(attempted, undefined)
        isReported = true
        yield* Effect.logInfo("NATS connected")
        const cause = yield* attempt(() => nats.closed())
        return yield* Effect.logWarning("NATS lost", cause ?? "")
      })
      yield* Effect.scoped(session).pipe(
        // later outages begin with the line of the lost connection
        Effect.catch((error) => Effect.logWithLevel(isReported ? "Debug" : "Warn")("NATS is unavailable", error)),
        Effect.andThen(
          Effect.sync(() => {
            isReported = true
          })
        ),
        Effect.andThen(Deferred.succeed(attempted, undefined)),
        Effect.andThen(Effect.sleep(RECONNECT)),
        Daemon.repeat("connection to NATS")
      )
      yield* Deferred.await(attempted)
      return NatsStream.of({
        connected: Effect.suspend(() =>
          current === undefined ? Effect.fail(new NatsUnavailable({})) : Effect.succeed(current)
        )
      })
    })
  )
