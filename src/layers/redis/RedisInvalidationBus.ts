/**
 * Notices over a channel of Redis. A channel keeps nothing: whoever does not hear it misses what is said, and is told so.
 * A notice that cannot be said is tried again until it is, since others may hear the channel all the while.
 */
import { Effect, FiberSet, Layer, Queue, Schedule, Schema } from "effect"
import { Redis } from "effect/persistence"
import { Ids } from "../../services/operations/Ids.ts"
import {
  type InvalidationsMissed,
  type Invalidation,
  type InvalidationChannel,
  InvalidationBus
} from "../../services/operations/InvalidationBus.ts"
import { RedisLink } from "./RedisLink.ts"

const CHANNEL = "gateway:notices"
/** Notices that wait for a listener; beyond that it is told that it missed some. */
const WAITING_MAX = 1_000
/** How often a listener is told that it misses something. */
const MISSED_EVERY = "1 second"
/** Notices that wait to be said; later ones are left out, and a log line says so. */
const UNSAID_MAX = 1_000
const AGAIN = Schedule.spaced("200 millis")

const Said = Schema.fromJsonString(
  Schema.Struct({
    /** The gateway that said it. */
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
const decode = Schema.decodeUnknownOption(Said)
const encode = Schema.encodeSync(Said)

const missed: InvalidationsMissed = { type: "missed" }

export const layer: Layer.Layer<never, never, Ids | Redis.Redis | RedisLink> = Layer.effect(
  InvalidationBus,
  Effect.gen(function* () {
    const redis = yield* Redis.Redis
    const link = yield* RedisLink
    const by = yield* (yield* Ids).uuid
    const saying = yield* FiberSet.make<void>()

    const listeners = new Set<(notice: Invalidation | InvalidationsMissed) => void>()
    const tell = (notice: Invalidation | InvalidationsMissed) => {
      for (const listener of listeners) listener(notice)
    }
    let isHeard = false
    yield* link.listen(CHANNEL, {
      message: (text) => {
        const said = decode(text)
        // a line of another version may be about anything
        if (said._tag === "None") return tell(missed)
        if (said.value.by !== by) tell(said.value.notice)
      },
      heard: (heard) => {
        isHeard = heard
        tell(missed)
      }
    })
    yield* Effect.sync(() => isHeard || tell(missed)).pipe(
      Effect.andThen(Effect.sleep(MISSED_EVERY)),
      Effect.forever,
      Effect.forkScoped
    )

    const board: InvalidationChannel = {
      publish: Effect.fnUntraced(function* (notice) {
        if ((yield* FiberSet.size(saying)) >= UNSAID_MAX) return yield* Effect.logWarning("other gateways not told")
        const said = redis.send("PUBLISH", CHANNEL, encode({ by, notice }))
        yield* FiberSet.run(saying, Effect.asVoid(Effect.orDie(Effect.retry(said, AGAIN))))
      }),
      listen: Effect.fnUntraced(function* (handle) {
        const waiting = yield* Queue.dropping<Invalidation | InvalidationsMissed>(WAITING_MAX)
        let isMissing = false
        const listener = (notice: Invalidation | InvalidationsMissed) => {
          if (notice.type !== "missed" && Queue.offerUnsafe(waiting, notice)) return
          isMissing = true
          // wakes who waits; who has a thousand waiting looks after each
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
          Effect.forever,
          Effect.forkScoped
        )
      })
    }
    return board
  })
)
