/** Connections to Redis: one connection with its heartbeat, and sessions that follow each other without end. */
import { Redis } from "effect/persistence"
import { Deferred, Duration, Effect, Redacted, type Scope } from "effect"
import { createClient } from "redis"
import { withTimeout } from "../../services/operations/Timeout.ts"

/** Pause between attempts to connect, and between heartbeats. */
const RECONNECT = Duration.millis(250)
const HEARTBEAT = Duration.millis(500)
/** Commands queued or in flight; further ones are refused. */
const COMMANDS_MAX = 10_000

export type Client = ReturnType<typeof createClient>
export type Session = Effect.Effect<never, Redis.RedisError, Scope.Scope>

export const failed = (cause: unknown) => new Redis.RedisError({ cause })
export const attempt = <A>(run: () => Promise<A>) => Effect.tryPromise({ try: run, catch: failed })

/** Fails an effect after a time limit. */
export const within =
  (limit: Duration.Duration) =>
  <A>(effect: Effect.Effect<A, Redis.RedisError>) =>
    withTimeout(Duration.toMillis(limit), effect, () => failed(new Error("Redis does not respond")))

/** Opens a connection; returns its client, and an effect that fails when the connection is lost. `timeout`: of a command. */
export const connect = Effect.fnUntraced(function* (url: Redacted.Redacted<string>, timeout: Duration.Duration) {
  const lost = yield* Deferred.make<never, Redis.RedisError>()
  const client = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const client = createClient({
        url: Redacted.value(url),
        disableOfflineQueue: true,
        commandsQueueMaxLength: COMMANDS_MAX,
        socket: { reconnectStrategy: false, connectTimeout: Duration.toMillis(timeout) * 2 }
      })
      const lose = (cause: unknown) => Deferred.doneUnsafe(lost, Effect.fail(failed(cause)))
      client.on("error", lose)
      client.on("end", () => lose(new Error("the connection ended")))
      return client as Client
    }),
    (client) => Effect.sync(() => client.isOpen && client.destroy())
  )
  const heartbeat = attempt(() => client.ping()).pipe(within(Duration.times(timeout, 2)), Effect.delay(HEARTBEAT))
  const untilLost: Effect.Effect<never, Redis.RedisError> = Effect.raceFirst(
    Deferred.await(lost),
    Effect.forever(heartbeat)
  )
  yield* attempt(() => client.connect()).pipe(within(Duration.times(timeout, 2)))
  return { client, untilLost }
})

/** Runs sessions one after the other. Warns once per outage; its further failed attempts are logged at debug. */
export const runSessions = (
  name: string,
  session: (connected: Effect.Effect<void>) => Session,
  onEnd: Effect.Effect<void>
) =>
  Effect.gen(function* () {
    let isNew = true
    const connected = Effect.andThen(
      Effect.sync(() => {
        isNew = true
      }),
      Effect.logInfo("Redis connected").pipe(Effect.annotateLogs({ link: name }))
    )
    while (true) {
      const error = yield* Effect.scoped(session(connected)).pipe(
        // the client throws, for example where it cannot read the address
        Effect.catchDefect((cause) => Effect.fail(failed(cause))),
        Effect.flip
      )
      yield* Effect.logWithLevel(isNew ? "Warn" : "Debug")("Redis is unavailable").pipe(
        Effect.annotateLogs({ link: name, cause: String(error.cause) })
      )
      isNew = false
      yield* onEnd
      yield* Effect.sleep(RECONNECT)
    }
  })
