import { Context, Effect, Layer, Logger, Redacted } from "effect"
import { Redis } from "effect/persistence"
import { assert, describe, it } from "vitest"
import * as RedisLink from "../../../src/layers/redis/RedisLink.ts"
import * as RedisNonceStore from "../../../src/layers/redis/RedisNonceStore.ts"
import * as RedisRateLimitStore from "../../../src/layers/redis/RedisRateLimitStore.ts"
import { NonceStore } from "../../../src/services/identity/NonceStore.ts"
import * as MetricsRegistry from "../../../src/services/operations/MetricsRegistry.ts"
import { RateLimitStore } from "../../../src/services/operations/RateLimitStore.ts"
import { FaultProxy } from "../../../verification/harness/FaultProxy.ts"
import {
  isRedisInstalled,
  type Keeps,
  type RedisOptions,
  RedisServer
} from "../../../verification/harness/RedisServer.ts"
import { running } from "../../doubles/RedisLinks.ts"

/** Long enough for a busy machine; only a Redis that hangs takes it. */
const PATIENCE = "2 seconds"

type Ports = NonceStore | RateLimitStore | Redis.Redis

/** Runs against a dedicated server, by the real clock, and returns the log lines. */
const against = async (
  options: RedisOptions & { readonly retention_ms: number },
  test: (server: RedisServer) => Effect.Effect<void, unknown, Ports>
): Promise<ReadonlyArray<string>> => {
  const lines: Array<string> = []
  const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
  await Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const server = yield* running(options)
        const ports = Layer.mergeAll(
          RedisNonceStore.layer({ retention: options.retention_ms }),
          RedisRateLimitStore.layer
        ).pipe(Layer.provideMerge(RedisLink.layer({ url: server.url, command_timeout: PATIENCE })))
        yield* Effect.provide(test(server), ports)
      })
    ).pipe(Effect.provide(Logger.layer([logger])))
  )
  return lines
}

const owner = new Uint8Array(32).fill(7)
let last = 0
const verdictOf = (nonce: string) =>
  Effect.map(Effect.result(Effect.flatMap(NonceStore, ({ claim }) => claim("rest", owner, nonce))), (result) =>
    result._tag === "Success" ? "claimed" : result.failure._tag
  )
/** Claims new nonces until the result is the expected one; the test's timeout is the limit. */
const until = (wanted: string) =>
  Effect.gen(function* () {
    while (true) {
      const nonce = `nonce-${last++}`
      if ((yield* verdictOf(nonce)) === wanted) return nonce
      yield* Effect.sleep(20)
    }
  })
const log = { bucket: "public", key: "a", limit: 2, window_ms: 600_000 }
const passes = Effect.flatMap(RateLimitStore, ({ take }) => Effect.map(take(log), ({ passed }) => passed))

const isRefused = (effect: Effect.Effect<unknown, unknown, Ports>) =>
  Effect.map(Effect.result(effect), (result) => result._tag === "Failure")

const MARKER = "{gateway:nonces}"
/** Waits for the end of the window after the first start, in which claims are refused. */
const windowOver = Effect.gen(function* () {
  const redis = yield* Redis.Redis
  while ((yield* redis.send("HGET", MARKER, "run")) === null) yield* Effect.sleep(20)
  yield* redis.send("HSET", MARKER, "since", "0")
})

describe.skipIf(!isRedisInstalled)("a Redis outage", () => {
  const loss = (name: string, take: (server: RedisServer) => Effect.Effect<void>, give: typeof take) =>
    it(`refuses claims and counts limits locally while Redis ${name}, and shares both again afterwards`, async () => {
      const lines = await against({ keeps: "always", retention_ms: 1 }, (server) =>
        Effect.gen(function* () {
          yield* until("claimed")
          assert.deepStrictEqual([yield* passes, yield* passes, yield* passes], [true, true, false])
          yield* take(server)
          yield* until("NonceStoreUnavailable")
          const redis = yield* Redis.Redis
          while (!(yield* isRefused(redis.send("PING")))) yield* Effect.sleep(20)
          // a key that was full has its whole limit in this process
          assert.deepStrictEqual([yield* passes, yield* passes, yield* passes], [true, true, false])
          yield* give(server)
          yield* until("claimed")
          while (yield* isRefused(redis.send("PING"))) yield* Effect.sleep(20)
          assert.isFalse(yield* passes)
        })
      )
      const countOf = (text: string) => lines.filter((line) => line.includes(text)).length
      assert.isAtLeast(countOf("this process counts rate limits alone"), 1)
      assert.strictEqual(countOf("this process counts rate limits alone"), countOf("limits are shared again"))
    })

  loss(
    "hangs",
    (server) => Effect.sync(() => server.freeze()),
    (server) => Effect.sync(() => server.thaw())
  )
  loss(
    "is dead",
    (server) => Effect.promise(() => server.kill()),
    (server) => Effect.promise(() => server.begin())
  )

  it("keeps the nonces of a Redis that syncs its append-only file with each write, over kill -9", async () => {
    await against({ keeps: "always", retention_ms: 3_600_000 }, (server) =>
      Effect.gen(function* () {
        yield* windowOver
        const nonce = yield* until("claimed")
        yield* Effect.promise(() => server.kill())
        yield* until("NonceStoreUnavailable")
        yield* Effect.promise(() => server.begin())
        yield* until("claimed")
        assert.strictEqual(yield* verdictOf(nonce), "NonceReused")
      })
    )
  })

  it("refuses every claim for a window after Redis lost its data over a live connection", async () => {
    const lines = await against({ keeps: "always", retention_ms: 3_600_000 }, () =>
      Effect.gen(function* () {
        const redis = yield* Redis.Redis
        yield* windowOver
        const nonce = yield* until("claimed")
        yield* redis.send("FLUSHALL")
        assert.strictEqual(yield* verdictOf(nonce), "NonceStoreUnavailable")
        assert.strictEqual(yield* verdictOf("nonce-after"), "NonceStoreUnavailable")
        // the new marker must not look like an old one
        assert.isAbove(Number(yield* redis.send("HGET", MARKER, "since")), 0)
      })
    )
    assert.include(lines.join("\n"), "API keys are refused")
  })

  it.each([
    ["has only an older snapshot", {}],
    ["writes its append-only file late", { keeps: "everysec" }],
    ["does not tell when it writes its append-only file", { keeps: "always", lacks: ["CONFIG"] }]
  ] as const)("refuses every claim for a window after a restart of a Redis that %s", async (_, options) => {
    await against({ ...options, retention_ms: 3_600_000 }, (server) =>
      Effect.gen(function* () {
        const redis = yield* Redis.Redis
        yield* windowOver
        yield* until("claimed")
        yield* redis.send("SAVE")
        const nonce = yield* until("claimed")
        yield* Effect.promise(() => server.kill())
        yield* until("NonceStoreUnavailable")
        yield* Effect.promise(() => server.begin())
        while (yield* isRefused(redis.send("PING"))) yield* Effect.sleep(20)
        assert.strictEqual(yield* verdictOf(nonce), "NonceStoreUnavailable")
      })
    )
  })

  it("goes on from a marker of an earlier version, which did not name whether Redis syncs each write", async () => {
    await against({ keeps: "always", retention_ms: 3_600_000 }, () =>
      Effect.gen(function* () {
        const redis = yield* Redis.Redis
        yield* windowOver
        yield* until("claimed")
        // in the same run of Redis, and after a restart
        for (const run of [[], ["run", "an earlier one"]]) {
          if (run.length > 0) yield* redis.send("HSET", MARKER, ...run)
          yield* redis.send("HDEL", MARKER, "durable")
          assert.strictEqual(yield* verdictOf(`nonce-of-older-${run.length}`), "claimed")
          assert.strictEqual(yield* redis.send("HGET", MARKER, "durable"), "1")
        }
      })
    )
  })

  /** Refused: the run before the restart may have lost nonces. */
  const lostIn = (server: RedisServer, restarted: Keeps) =>
    Effect.gen(function* () {
      const redis = yield* Redis.Redis
      const nonce = yield* until("claimed")
      yield* Effect.promise(() => server.kill())
      yield* until("NonceStoreUnavailable")
      yield* Effect.promise(() => server.begin(restarted))
      while (yield* isRefused(redis.send("PING"))) yield* Effect.sleep(20)
      assert.strictEqual(yield* verdictOf(nonce), "NonceStoreUnavailable")
    })

  it("refuses every claim for a window after a restart with which Redis begins to sync each write", async () => {
    await against({ keeps: "everysec", retention_ms: 3_600_000 }, (server) =>
      Effect.andThen(windowOver, lostIn(server, "always"))
    )
  })

  it("refuses every claim for a window after a restart of a Redis that stopped its append-only file", async () => {
    await against({ keeps: "always", retention_ms: 3_600_000 }, (server) =>
      Effect.gen(function* () {
        const redis = yield* Redis.Redis
        yield* windowOver
        yield* until("claimed")
        yield* redis.send("CONFIG", "SET", "appendonly", "no")
        // read with the marker; the file that the restart reads does not have it
        while ((yield* redis.send("HGET", MARKER, "durable")) !== "0") yield* Effect.sleep(20)
        yield* lostIn(server, "always")
      })
    )
  })

  it("accepts claims again after the window", async () => {
    const lines = await against({ retention_ms: 1_000 }, (server) =>
      Effect.gen(function* () {
        yield* until("claimed")
        yield* Effect.promise(() => server.use((client) => client.flushAll()))
        yield* until("NonceStoreUnavailable")
        const nonce = yield* until("claimed")
        yield* until("claimed")
        // the nonce expires after its own window
        while ((yield* verdictOf(nonce)) !== "claimed") yield* Effect.sleep(20)
      })
    )
    assert.include(lines.join("\n"), "API keys are accepted again")
  })

  it("ends a connection that no longer replies, without a command that fails", async () => {
    await Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const server = yield* running()
          const proxy = yield* Effect.acquireRelease(
            Effect.promise(() => FaultProxy.start(server.port)),
            (proxy) => Effect.promise(() => proxy.close())
          )
          const url = Redacted.make(`redis://127.0.0.1:${proxy.port}`)
          const context = yield* Layer.build(RedisLink.layer({ url, command_timeout: PATIENCE }))
          const link = Context.get(context, RedisLink.RedisLink)
          const subscribed: Array<boolean> = []
          yield* link.listen("channel", { message: () => {}, subscribed: (is) => subscribed.push(is) })
          const holds = (condition: () => boolean) =>
            Effect.gen(function* () {
              while (!condition()) yield* Effect.sleep(20)
            })
          yield* holds(() => link.server() !== undefined && subscribed.length === 1)
          proxy.swallow()
          yield* holds(() => link.server() === undefined && subscribed.length === 2)
          proxy.open()
          // the bytes that the proxy swallowed are lost, so its connections are of no use any more
          proxy.cut()
          yield* holds(() => link.server() !== undefined && subscribed.length === 3)
          assert.deepStrictEqual(subscribed, [true, false, true])
        })
      ).pipe(Effect.provide(Logger.layer([])))
    )
  })

  it("does not block the start of a gateway", async () => {
    const lines: Array<boolean> = []
    const values: Array<ReadonlyArray<string>> = []
    const tell = Effect.gen(function* () {
      const meter = yield* MetricsRegistry.CurrentMetricsRegistry
      values.push((yield* meter.text).match(/^gateway_.*"redis"\} \d$/gmu) ?? [])
    })
    const server = await RedisServer.start()
    await server.kill()
    await Effect.runPromise(
      Effect.gen(function* () {
        lines.push(yield* passes)
        yield* tell
        assert.strictEqual(yield* verdictOf("nonce-1"), "NonceStoreUnavailable")
        yield* Effect.promise(() => server.begin())
        yield* until("claimed")
        yield* tell
      }).pipe(
        Effect.provide(
          Layer.merge(RedisNonceStore.layer({ retention: 1 }), RedisRateLimitStore.layer).pipe(
            Layer.provide(RedisLink.layer({ url: server.url }))
          )
        ),
        Effect.provide(MetricsRegistry.layer),
        Effect.provide(Logger.layer([]))
      )
    )
    assert.deepStrictEqual(lines, [true])
    // the circuit is reported before its first command
    assert.deepStrictEqual(values[0], [
      'gateway_breaker_open{breaker="redis"} 0',
      'gateway_dependency_up{dependency="redis"} 0'
    ])
    assert.include(values[1]!, 'gateway_dependency_up{dependency="redis"} 1')
    await server.remove()
  })
})
