/**
 * The link to one Redis: `Redis` of effect over a connection that is made anew for ever.
 *
 * Nothing waits for a Redis that is away: a command without a connection fails at once, one that is not answered within
 * the timeout fails, and after a few of these a circuit breaker fails the next ones at once. A connection that does not
 * answer its heartbeat is given up. The start does not wait for Redis either, beyond one attempt.
 */
import { CircuitBreaker, Redis } from "effect/persistence"
import { Context, Deferred, Duration, Effect, Exit, Layer, Redacted, type Scope } from "effect"
import { createClient, ErrorReply } from "redis"
import * as Breaker from "../../services/operations/CircuitBreaker.ts"
import { CurrentMetricsRegistry } from "../../services/operations/MetricsRegistry.ts"
import { withTimeout } from "../../services/operations/Timeout.ts"

/** How long a command may take. */
const COMMAND_TIMEOUT = Duration.millis(500)
/** Pause between two attempts to connect, and between two heartbeats. */
const RECONNECT = Duration.millis(250)
const BEAT_EVERY = Duration.millis(500)
/** Unanswered commands in a row that open the circuit, and for how long: then one command tries. */
const FAILURES_MAX = 3
const OPEN_FOR = Duration.millis(500)
/** Commands that wait for their turn or answer; later ones are refused. */
const COMMANDS_MAX = 10_000

export interface Options {
  /** `redis://user:password@host:port/database`, or `rediss://` for TLS. */
  readonly url: Redacted.Redacted<string>
  /** How long a command may take; a connection and a heartbeat may take twice as long. Default 500 ms. */
  readonly command_timeout?: Duration.Input
}

/** What a Redis says of itself when it is connected. */
export interface Server {
  /** Another one after every start. */
  readonly run_id: string
  /** Writes what it acknowledges to an append-only file, so that a restart loses nothing. */
  readonly keeps: boolean
}

export interface Listener {
  readonly message: (text: string) => void
  /** The channel is heard from now on, or is not any more: what is told in between is missed. */
  readonly heard: (isHeard: boolean) => void
}

export class RedisLink extends Context.Service<
  RedisLink,
  {
    /** The connected server; `undefined`: there is none. */
    readonly server: () => Server | undefined
    /** Listens to a channel for as long as the scope lives, over a connection of its own. */
    readonly listen: (channel: string, listener: Listener) => Effect.Effect<void, never, Scope.Scope>
  }
>()("gateway/layers/redis/RedisLink") {}

type Client = ReturnType<typeof createClient>
type Session = Effect.Effect<never, Redis.RedisError, Scope.Scope>

const failed = (cause: unknown) => new Redis.RedisError({ cause })
const refused = (text: string) => Effect.suspend(() => Effect.fail(failed(new Error(text))))
const asked = <A>(ask: () => Promise<A>) => Effect.tryPromise({ try: ask, catch: failed })

const line = (info: string, name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, "mu").exec(info)?.[1]
const serverOf = (info: string): Server => ({
  run_id: line(info, "run_id") ?? "",
  keeps: line(info, "aof_enabled") === "1"
})

/** An error that Redis answered with says that it is there. */
const classify = (exit: Exit.Exit<unknown, Redis.RedisError>): CircuitBreaker.Outcome => {
  if (Exit.isSuccess(exit)) return CircuitBreaker.success
  return exit.cause.reasons.some((reason) => reason._tag === "Fail" && reason.error.cause instanceof ErrorReply)
    ? CircuitBreaker.success
    : CircuitBreaker.failure()
}

const make = Effect.fnUntraced(function* (options: Options) {
  const timeout = Duration.fromInputUnsafe(options.command_timeout ?? COMMAND_TIMEOUT)
  const inTime =
    (limit: Duration.Duration) =>
    <A>(effect: Effect.Effect<A, Redis.RedisError>) =>
      withTimeout(Duration.toMillis(limit), effect, () => failed(new Error("Redis does not answer")))
  const breaker = yield* Breaker.make({
    tripPolicy: CircuitBreaker.consecutive(FAILURES_MAX),
    openDuration: OPEN_FOR
  })
  breaker.watch("redis")

  /** A connection, and the effect that fails when it is lost. */
  const connect = Effect.gen(function* () {
    const lost = yield* Deferred.make<never, Redis.RedisError>()
    const client = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const client = createClient({
          url: Redacted.value(options.url),
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
    const beat = asked(() => client.ping()).pipe(inTime(Duration.times(timeout, 2)), Effect.delay(BEAT_EVERY))
    const untilLost: Effect.Effect<never, Redis.RedisError> = Effect.raceFirst(
      Deferred.await(lost),
      Effect.forever(beat)
    )
    yield* asked(() => client.connect()).pipe(inTime(Duration.times(timeout, 2)))
    return { client, untilLost }
  })

  /** One session after the other. One line an outage; the attempts within it are told to who asks for more. */
  const keep = (name: string, session: (told: Effect.Effect<void>) => Session, onEnd: Effect.Effect<void>) =>
    Effect.gen(function* () {
      let isNew = true
      const told = Effect.andThen(
        Effect.sync(() => {
          isNew = true
        }),
        Effect.logInfo("Redis connected").pipe(Effect.annotateLogs({ link: name }))
      )
      while (true) {
        const error = yield* Effect.flip(Effect.scoped(session(told)))
        yield* Effect.logWithLevel(isNew ? "Warn" : "Debug")("Redis is away").pipe(
          Effect.annotateLogs({ link: name, cause: String(error.cause) })
        )
        isNew = false
        yield* onEnd
        yield* Effect.sleep(RECONNECT)
      }
    })

  let current: { readonly client: Client; readonly server: Server } | undefined
  const meter = yield* CurrentMetricsRegistry
  meter.gauge("gateway_dependency_up", { dependency: "redis" }, () => (current === undefined ? 0 : 1))
  const tried = yield* Deferred.make<void>()
  const session = Effect.fnUntraced(function* (told: Effect.Effect<void>) {
    const { client, untilLost } = yield* connect
    const info = yield* asked(() => client.sendCommand<string>(["INFO"])).pipe(inTime(timeout))
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        current = { client, server: serverOf(info) }
      }),
      () =>
        Effect.sync(() => {
          current = undefined
        })
    )
    yield* told
    yield* Deferred.succeed(tried, undefined)
    return yield* untilLost
  })
  yield* Effect.forkScoped(keep("commands", session, Effect.asVoid(Deferred.succeed(tried, undefined))))
  yield* Deferred.await(tried)

  const send = <A = unknown>(command: string, ...args: ReadonlyArray<string>): Effect.Effect<A, Redis.RedisError> =>
    Effect.suspend(() => {
      const there = current
      if (there === undefined) return refused("Redis is away")
      return asked<A>(() => there.client.sendCommand<A>([command, ...args])).pipe(
        inTime(timeout),
        (sent) => breaker.execute(sent, { key: "redis", classify }),
        Effect.catchTag("CircuitBreakerError", (error) => Effect.fail(failed(error)))
      )
    })

  const listening = (channel: string, listener: Listener) =>
    Effect.fnUntraced(function* (told: Effect.Effect<void>) {
      const { client, untilLost } = yield* connect
      yield* asked(() => client.subscribe(channel, listener.message)).pipe(inTime(timeout))
      yield* Effect.acquireRelease(
        Effect.sync(() => listener.heard(true)),
        () => Effect.sync(() => listener.heard(false))
      )
      yield* told
      return yield* untilLost
    })

  const redis = yield* Redis.make({
    send,
    // what waits or listens has a connection of its own through `listen`, which tells when it was lost
    connect: refused("not offered: the gateway has no blocking commands"),
    subscribe: () => refused("not offered: use RedisLink.listen")
  })
  const link = RedisLink.of({
    server: () => current?.server,
    listen: (channel, listener) =>
      Effect.asVoid(Effect.forkScoped(keep(channel, listening(channel, listener), Effect.void)))
  })
  return Context.add(Context.make(RedisLink, link), Redis.Redis, redis)
})

export const layer = (options: Options): Layer.Layer<RedisLink | Redis.Redis> => Layer.effectContext(make(options))
