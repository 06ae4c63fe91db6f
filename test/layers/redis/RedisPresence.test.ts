import { Context, type Duration, Effect, Exit, Fiber, Layer, Logger, Queue, Scope } from "effect"
import { Redis } from "effect/persistence"
import { assert, describe, it } from "vitest"
import * as NodeIds from "../../../src/layers/node/NodeIds.ts"
import * as RedisLink from "../../../src/layers/redis/RedisLink.ts"
import * as RedisPresence from "../../../src/layers/redis/RedisPresence.ts"
import { Presence } from "../../../src/services/operations/Presence.ts"
import { eventually } from "../../contracts/NoticesContract.ts"
import * as PresenceContract from "../../contracts/PresenceContract.ts"
import { isRedisInstalled, type RedisServer } from "../../../verification/harness/RedisServer.ts"
import { link, running } from "../../doubles/RedisLinks.ts"

/** A link that the test cuts: every round then fails, and Redis keeps what it has. */
class Cut {
  isCut = false
  private onFailed: (() => void) | undefined
  /** Waits until a round has failed that began after this. */
  readonly failed = Effect.callback<void>((resume) => {
    let rounds = 0
    // the one under way may have begun before
    this.onFailed = () => {
      if (++rounds === 2) resume(Effect.void)
    }
  })
  readonly layer = Layer.effect(
    Redis.Redis,
    Effect.map(Redis.Redis, (redis) =>
      Redis.Redis.of({
        ...redis,
        eval: (script) => {
          const run = redis.eval(script)
          return (...params) =>
            Effect.suspend(() => {
              if (!this.isCut) return run(...params)
              this.onFailed?.()
              return Effect.fail(new Redis.RedisError({ cause: "cut" }))
            })
        }
      })
    )
  )
}

/** A link on which each round waits until the test lets it pass. */
class Gate {
  /** Rounds that wait. */
  waiting = 0
  isOpen = true
  private readonly permits = Queue.unbounded<void>().pipe(Effect.runSync)
  /** Lets one round pass, and waits until the next one waits. */
  readonly pass = Effect.suspend(() => {
    this.waiting--
    return Effect.andThen(
      Queue.offer(this.permits, undefined),
      eventually(() => this.waiting === 1)
    )
  })
  /** Holds the rounds from the next one on. */
  readonly close = Effect.suspend(() => {
    this.isOpen = false
    return eventually(() => this.waiting === 1)
  })
  readonly layer = Layer.effect(
    Redis.Redis,
    Effect.map(Redis.Redis, (redis) =>
      Redis.Redis.of({
        ...redis,
        eval: (script) => {
          const run = redis.eval(script)
          return (...params) =>
            Effect.suspend(() => {
              if (this.isOpen) return run(...params)
              this.waiting++
              return Effect.andThen(Queue.take(this.permits), run(...params))
            })
        }
      })
    )
  )
}

/** Joins the fleet until it is killed: what it had written stays until its lease is over. */
const join = (server: RedisServer, lease: Duration.Input = "1 hour", cut: Pick<Cut, "layer"> = new Cut()) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
    const layer = RedisPresence.layer({ lease, round_every: "50 millis" }).pipe(
      Layer.provide(cut.layer),
      Layer.provide(RedisLink.layer({ url: server.url, command_timeout: "2 seconds" })),
      Layer.provide(NodeIds.layer)
    )
    const presence = Context.get(yield* Scope.provide(Layer.build(Layer.fresh(layer)), scope), Presence)
    const changes = yield* Effect.provideService(PresenceContract.watched, Presence, presence)
    return { ...presence, changes, kill: Scope.close(scope, Exit.void) }
  })

const run = (test: (server: RedisServer) => Effect.Effect<void, unknown, Scope.Scope>) => () =>
  Effect.runPromise(Effect.scoped(Effect.flatMap(running(), test)).pipe(Effect.provide(Logger.layer([]))))

describe.skipIf(!isRedisInstalled)("Redis", () => {
  PresenceContract.suite(
    "Redis",
    RedisPresence.layer({ round_every: "50 millis" }).pipe(Layer.provide([link, NodeIds.layer]))
  )

  it(
    "counts connections over the fleet, at any gateway",
    run((server) =>
      Effect.gen(function* () {
        const [a, b, c] = [yield* join(server), yield* join(server), yield* join(server)]
        a.connected("u")
        yield* eventually(() => [b, c].every(({ isPresent }) => isPresent("u")))
        b.connected("u")
        yield* b.settled
        a.disconnected("u")
        yield* a.settled
        yield* c.settled
        assert.isTrue([a, b, c].every(({ isPresent }) => isPresent("u")))
        b.disconnected("u")
        yield* eventually(() => ![a, b, c].some(({ isPresent }) => isPresent("u")))
        for (const { changes } of [a, b, c]) assert.deepStrictEqual(changes, ["+u", "-u"])
      })
    )
  )

  it(
    "knows the present users when a gateway joins",
    run((server) =>
      Effect.gen(function* () {
        const a = yield* join(server)
        for (let i = 0; i < 3_000; i++) a.connected(`u${i}`)
        yield* a.settled
        const b = yield* join(server)
        assert.isTrue(b.isPresent("u0") && b.isPresent("u2999"))
        assert.isFalse(b.isPresent("u3000"))
      })
    )
  )

  it(
    "removes the users of a killed gateway when its lease expires",
    run((server) =>
      Effect.gen(function* () {
        const [a, b] = [yield* join(server, "2 seconds"), yield* join(server, "2 seconds")]
        a.connected("u")
        a.connected("v")
        b.connected("v")
        yield* eventually(() => b.isPresent("u"))
        yield* a.kill
        yield* eventually(() => !b.isPresent("u"))
        assert.isTrue(b.isPresent("v"))
        // nothing of the killed gateway is kept, since each start is another gateway
        const kept = yield* Effect.promise(() =>
          server.use(async (client) => [
            await client.hLen("{gateway:presence}:versions"),
            await client.zCard("{gateway:presence}")
          ])
        )
        assert.deepStrictEqual(kept, [1, 1])
      })
    )
  )

  it(
    "reports no user as gone while Redis is down or has just lost its data",
    run((server) =>
      Effect.gen(function* () {
        const [a, b] = [yield* join(server, "3 seconds"), yield* join(server, "3 seconds")]
        a.connected("u")
        b.connected("v")
        yield* eventually(() => a.isPresent("v") && b.isPresent("u"))
        yield* Effect.promise(() => server.kill())
        a.disconnected("u")
        // the user reconnected to another gateway, which cannot report it yet
        b.connected("u")
        yield* Effect.promise(() => server.begin())
        yield* a.settled
        yield* b.settled
        assert.deepStrictEqual([...a.changes, ...b.changes].sort(), ["+u", "+u", "+v", "+v"])
        b.disconnected("u")
        yield* eventually(() => !a.isPresent("u") && !b.isPresent("u"))
        assert.isTrue(a.isPresent("v") && b.isPresent("v"))
      })
    )
  )

  it(
    "reports no user as gone where Redis loses its data over live connections",
    run((server) =>
      Effect.gen(function* () {
        const [a, b] = [yield* join(server), yield* join(server)]
        a.connected("u")
        b.connected("v")
        yield* eventually(() => a.isPresent("v") && b.isPresent("u"))
        yield* Effect.promise(() => server.use((client) => client.flushAll()))
        // both have written their sets again, and read the other's
        for (const { settled } of [a, b, a, b]) yield* settled
        assert.isTrue(a.isPresent("v") && b.isPresent("u"))
        assert.deepStrictEqual([...a.changes, ...b.changes].sort(), ["+u", "+u", "+v", "+v"])
      })
    )
  )

  it(
    "reports no user as gone where Redis loses its data before a changed set is read",
    run((server) =>
      Effect.gen(function* () {
        let losesData = false
        const layer = Layer.effect(
          Redis.Redis,
          Effect.map(Redis.Redis, (redis) =>
            Redis.Redis.of({
              ...redis,
              send: <A>(command: string, ...args: ReadonlyArray<string>) =>
                Effect.suspend(() => {
                  const sent = redis.send<A>(command, ...args)
                  if (command !== "SMEMBERS" || !losesData) return sent
                  losesData = false
                  return Effect.andThen(
                    Effect.promise(() => server.use((client) => client.flushAll())),
                    sent
                  )
                })
            })
          )
        )
        const [a, b] = [yield* join(server, "1 hour", { layer }), yield* join(server)]
        b.connected("v")
        yield* eventually(() => a.isPresent("v"))
        yield* a.settled
        losesData = true
        b.connected("w")
        yield* eventually(() => a.isPresent("w"))
        assert.deepStrictEqual(a.changes, ["+v", "+w"])
      })
    )
  )

  it(
    "reports no user as gone after an outage before the other gateways have had time to write",
    run((server) =>
      Effect.gen(function* () {
        const [cutA, cutB] = [new Cut(), new Cut()]
        const [a, b, c] = [
          yield* join(server, "1 hour", cutA),
          yield* join(server, "1 hour", cutB),
          yield* join(server)
        ]
        a.connected("u")
        yield* eventually(() => b.isPresent("u") && c.isPresent("u"))
        cutA.isCut = true
        cutB.isCut = true
        const failed = Effect.all([cutA.failed, cutB.failed], { concurrency: "unbounded" })
        // the round that wrote the user may not be over, and would report that it is gone
        yield* failed
        // the user reconnects to a gateway that cannot report it yet
        a.disconnected("u")
        b.connected("u")
        yield* failed
        cutA.isCut = false
        // the round that wrote the first of these is over when the second one is written
        for (const user of ["x", "y"]) {
          a.connected(user)
          yield* eventually(() => c.isPresent(user))
        }
        assert.isTrue(a.isPresent("u"))
        b.connected("z")
        cutB.isCut = false
        yield* eventually(() => a.isPresent("z"))
        assert.deepStrictEqual(
          a.changes.filter((change) => change.endsWith("u")),
          ["+u"]
        )
      })
    )
  )

  it(
    "has settled only after a round that began later than the call, since the current one may have read before",
    run((server) =>
      Effect.gen(function* () {
        const gate = new Gate()
        const a = yield* join(server, "1 hour", gate)
        a.connected("u")
        yield* a.settled
        yield* gate.close
        // the round that waits has taken the changes before this one
        a.disconnected("u")
        const settled = yield* Effect.forkChild(a.settled, { startImmediately: true })
        yield* gate.pass
        assert.isUndefined(settled.pollUnsafe())
        assert.isTrue(a.isPresent("u"))
        yield* gate.pass
        yield* Fiber.join(settled)
        assert.isFalse(a.isPresent("u"))
      })
    )
  )

  it(
    "publishes arrivals and departures from an outage of Redis that lost no data",
    run((server) =>
      Effect.gen(function* () {
        const cut = new Cut()
        const [a, b] = [yield* join(server, "1 hour", cut), yield* join(server)]
        a.connected("stays")
        a.connected("goes")
        yield* eventually(() => b.isPresent("stays") && b.isPresent("goes"))
        cut.isCut = true
        a.disconnected("goes")
        a.connected("arrives")
        yield* cut.failed
        cut.isCut = false
        yield* eventually(() => b.isPresent("arrives"))
        // the lease of the first gateway delays its own verdicts, not what the others read
        yield* eventually(() => !b.isPresent("goes"))
        assert.isTrue(b.isPresent("stays"))
      })
    )
  )
})
