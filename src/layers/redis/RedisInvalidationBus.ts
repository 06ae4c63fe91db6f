/**
 * Invalidations over a Redis channel. A channel stores nothing: a gateway that is disconnected misses messages, and the bus
 * then reports `missed`. A message that cannot be published is retried, since other gateways may be connected meanwhile.
 */
import { Effect, FiberSet, Layer, Queue, Schedule, Schema } from "effect"
import { Redis } from "effect/persistence"
import * as Daemon from "../../services/operations/Daemon.ts"
import { Ids } from "../../services/operations/Ids.ts"
import {
  type InvalidationsMissed,
  type Invalidation,
  type InvalidationChannel,
  InvalidationBus
} from "../../services/operations/InvalidationBus.ts"
import { RedisLink } from "./RedisLink.ts"

const CHANNEL = "gateway:notices"
/** Messages queued per listener; beyond that it gets `missed`. */
const WAITING_MAX = 1_000
/** Interval of `missed` reports while the channel is disconnected. */
const MISSED_EVERY = "1 second"
/** Messages waiting to be published; further ones are dropped with a log line. */
const PUBLISHING_MAX = 1_000
const RETRY = Schedule.spaced("200 millis")

const Message = Schema.fromJsonString(
  Schema.Struct({
    /** The gateway that published it. */
    by: Schema.String,
    notice: Schema.Union([
      Schema.Struct({
        type: Schema.Literal("api_key"),
        public_key: Schema.String,
        api_key_id: Schema.String,
        ended: Schema.Boolean
      }),
      Schema.Struct({ type: Schema.Literal("token"), jti: Schema.String, expires_at_ms: Schema.Int }),
      Schema.Struct({ type: Schema.Literal("ban"), user_id: Schema.String })
    ])
  })
)
const decode = Schema.decodeUnknownOption(Message)
const encode = Schema.encodeSync(Message)

const missed: InvalidationsMissed = { type: "missed" }

export const layer: Layer.Layer<never, never, Ids | Redis.Redis | RedisLink> = Layer.effect(
  InvalidationBus,
  Effect.gen(function* () {
    const redis = yield* Redis.Redis
    const link = yield* RedisLink
    const by = yield* (yield* Ids).uuid
    const publishing = yield* FiberSet.make<void>()

    const listeners = new Set<(notice: Invalidation | InvalidationsMissed) => void>()
    const broadcast = (notice: Invalidation | InvalidationsMissed) => {
      for (const listener of listeners) listener(notice)
    }
    let isSubscribed = false
    yield* link.listen(CHANNEL, {
      message: (text) => {
        const received = decode(text)
        // a message of another version may concern anything
        if (received._tag === "None") return broadcast(missed)
        if (received.value.by !== by) broadcast(received.value.notice)
      },
      subscribed: (subscribed) => {
        isSubscribed = subscribed
        broadcast(missed)
      }
    })
    yield* Effect.sync(() => isSubscribed || broadcast(missed)).pipe(
      Effect.andThen(Effect.sleep(MISSED_EVERY)),
      Daemon.repeat("missed invalidations")
    )

    const bus: InvalidationChannel = {
      publish: Effect.fnUntraced(function* (notice) {
        if ((yield* FiberSet.size(publishing)) >= PUBLISHING_MAX)
          return yield* Effect.logWarning("too many invalidations are pending: one was not published")
        const published = redis.send("PUBLISH", CHANNEL, encode({ by, notice }))
        yield* FiberSet.run(publishing, Effect.asVoid(Effect.orDie(Effect.retry(published, RETRY))))
      }),
      listen: Effect.fnUntraced(function* (handle) {
        const waiting = yield* Queue.dropping<Invalidation | InvalidationsMissed>(WAITING_MAX)
        let isMissing = false
        const listener = (notice: Invalidation | InvalidationsMissed) => {
          if (notice.type !== "missed" && Queue.offerUnsafe(waiting, notice)) return
          isMissing = true
          // wakes an idle listener; one with a full queue checks `isMissing` after each message
          Queue.offerUnsafe(waiting, missed)
        }
        yield* Effect.acquireRelease(
          Effect.sync(() => listeners.add(listener)),
          () => Effect.sync(() => listeners.delete(listener))
        )
        yield* Queue.take(waiting).pipe(
          Effect.flatMap((notice) => (notice.type === "missed" ? Effect.void : handle(notice))),
          Effect.andThen(
            Effect.suspend(() => {
              if (!isMissing) return Effect.void
              isMissing = false
              return handle(missed)
            })
          ),
          Daemon.repeat("invalidations")
        )
      })
    }
    return bus
  })
)
