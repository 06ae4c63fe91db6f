/**
 * The connection to one Redis server: Effect's `Redis` over a connection that reconnects without end.
 *
 * Nothing waits for an unavailable Redis: a command without a connection fails at once, one without a reply fails after the
 * timeout, and after several of these a circuit breaker makes the next ones fail at once. A connection that does not reply
 * to its heartbeat is closed. The start waits for one attempt to connect, no longer.
 */
import { CircuitBreaker, Redis } from "effect/persistence"
import { Context, Deferred, Duration, Effect, Exit, Layer, type Redacted, type Scope } from "effect"
import { ErrorReply } from "redis"
import * as Breaker from "../../services/operations/CircuitBreaker.ts"
import { CurrentMetricsRegistry } from "../../services/operations/MetricsRegistry.ts"
import { attempt, type Client, connect, failed, runSessions, within } from "./RedisSession.ts"

/** Time limit of a command. */
const COMMAND_TIMEOUT = Duration.millis(500)
/** Consecutive commands without a reply that open the circuit, and how long it stays open; then one command is tried. */
const FAILURES_MAX = 3
const OPEN_FOR = Duration.millis(500)

export interface Options {
  /** `redis://user:password@host:port/database`, or `rediss://` for TLS. */
  readonly url: Redacted.Redacted<string>
  /** Time limit of a command; connecting and a heartbeat may take twice as long. Default 500 ms. */
  readonly command_timeout?: Duration.Input
}

/** Facts about the connected Redis. */
export interface Server {
  /** Changes at every start of the server. */
  readonly run_id: string
  /**
   * Whether it has synced each write to an append-only file before its reply, so that a restart loses none. Once late, it
   * counts as late until it starts again.
   */
  readonly isDurable: boolean
  /** The same of its run before, if this process was connected to it; else `true`. */
  readonly wasDurable: boolean
}

export interface Listener {
  readonly message: (text: string) => void
  /** The subscription began, or was lost: messages in between are missed. */
  readonly subscribed: (isSubscribed: boolean) => void
}

export class RedisLink extends Context.Service<
  RedisLink,
  {
    /** The connected server; undefined while disconnected. */
    readonly server: () => Server | undefined
    /** Reads the settings of the connected server again: an operator may change them while it runs. */
    readonly check: Effect.Effect<void, Redis.RedisError>
    /** Subscribes to a channel on a dedicated connection for the lifetime of the scope. */
    readonly listen: (channel: string, listener: Listener) => Effect.Effect<void, never, Scope.Scope>
  }
>()("gateway/layers/redis/RedisLink") {}

const refused = (text: string) => Effect.suspend(() => Effect.fail(failed(new Error(text))))

const line = (info: string, name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, "mu").exec(info)?.[1]

/** Reads facts about a server. Where it does not tell when it syncs, it counts as one that is late. */
const factsOf = Effect.fnUntraced(function* (client: Client, timeout: Duration.Duration) {
  const info = yield* attempt(() => client.sendCommand<string>(["INFO"])).pipe(within(timeout))
  const { appendfsync } = yield* attempt(() =>
    client.configGet("appendfsync").catch((cause: unknown): Record<string, string> => {
      // the command may be forbidden
      if (cause instanceof ErrorReply) return {}
      throw cause
    })
  ).pipe(within(timeout))
  return {
    run_id: line(info, "run_id") ?? "",
    isDurable: line(info, "aof_enabled") === "1" && appendfsync === "always"
  }
})

/** An error reply counts as success: the server responds. */
const classify = (exit: Exit.Exit<unknown, Redis.RedisError>): CircuitBreaker.Outcome => {
  if (Exit.isSuccess(exit)) return CircuitBreaker.success
  return exit.cause.reasons.some((reason) => reason._tag === "Fail" && reason.error.cause instanceof ErrorReply)
    ? CircuitBreaker.success
    : CircuitBreaker.failure()
}

const make = Effect.fnUntraced(function* (options: Options) {
  const timeout = Duration.fromInputUnsafe(options.command_timeout ?? COMMAND_TIMEOUT)
  const breaker = yield* Breaker.make({
    tripPolicy: CircuitBreaker.consecutive(FAILURES_MAX),
    openDuration: OPEN_FOR
  })
  breaker.watch("redis")

  let known: Server | undefined
  const serverOf = (client: Client) =>
    Effect.map(factsOf(client, timeout), ({ isDurable, run_id }) => {
      known =
        known?.run_id === run_id
          ? { ...known, isDurable: isDurable && known.isDurable }
          : { run_id, isDurable, wasDurable: known?.isDurable ?? true }
      return known
    })

  let current: { readonly client: Client; readonly server: Server } | undefined
  const meter = yield* CurrentMetricsRegistry
  meter.gauge("gateway_dependency_up", { dependency: "redis" }, () => (current === undefined ? 0 : 1))
  const attempted = yield* Deferred.make<void>()
  const session = Effect.fnUntraced(function* (connected: Effect.Effect<void>) {
    const { client, untilLost } = yield* connect(options.url, timeout)
    const server = yield* serverOf(client)
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        current = { client, server }
      }),
      () =>
        Effect.sync(() => {
          current = undefined
        })
    )
    yield* connected
    yield* Deferred.succeed(attempted, undefined)
    return yield* untilLost
  })
  yield* Effect.forkScoped(runSessions("commands", session, Effect.asVoid(Deferred.succeed(attempted, undefined))))
  yield* Deferred.await(attempted)

  const send = <A = unknown>(command: string, ...args: ReadonlyArray<string>): Effect.Effect<A, Redis.RedisError> =>
    Effect.suspend(() => {
      const connection = current
      if (connection === undefined) return refused("Redis is unavailable")
      return attempt<A>(() => connection.client.sendCommand<A>([command, ...args])).pipe(
        within(timeout),
        (sent) => breaker.execute(sent, { key: "redis", classify }),
        Effect.catchTag("CircuitBreakerError", (error) => Effect.fail(failed(error)))
      )
    })

  const listening = (channel: string, listener: Listener) =>
    Effect.fnUntraced(function* (connected: Effect.Effect<void>) {
      const { client, untilLost } = yield* connect(options.url, timeout)
      yield* attempt(() => client.subscribe(channel, listener.message)).pipe(within(timeout))
      yield* Effect.acquireRelease(
        Effect.sync(() => listener.subscribed(true)),
        () => Effect.sync(() => listener.subscribed(false))
      )
      yield* connected
      return yield* untilLost
    })

  const redis = yield* Redis.make({
    send,
    // blocking commands and subscriptions use a dedicated connection through `listen`, which reports its loss
    connect: refused("not offered: the gateway has no blocking commands"),
    subscribe: () => refused("not offered: use RedisLink.listen")
  })
  const link = RedisLink.of({
    server: () => current?.server,
    check: Effect.gen(function* () {
      const connection = current
      if (connection === undefined) return
      const server = yield* serverOf(connection.client)
      if (current?.client === connection.client) current = { ...connection, server }
    }),
    listen: (channel, listener) =>
      Effect.asVoid(Effect.forkScoped(runSessions(channel, listening(channel, listener), Effect.void)))
  })
  return Context.add(Context.make(RedisLink, link), Redis.Redis, redis)
})

export const layer = (options: Options): Layer.Layer<RedisLink | Redis.Redis> => Layer.effectContext(make(options))
