/** The connection to NATS and the stream of the copy: what another version left there, and servers that fail or stall. */
import { jetstreamManager } from "@nats-io/jetstream"
import { connect, headers, type NatsConnection } from "@nats-io/transport-node"
import { Effect, Layer, Logger, Redacted, References, Schedule, type Scope } from "effect"
import { createServer, type AddressInfo } from "node:net"
import { assert, describe, it } from "vitest"
import { NatsStream, STREAM, SUBJECT, layer } from "../../../src/layers/nats/NatsStream.ts"
import { CurrentMetricsRegistry, MetricsRegistry } from "../../../src/services/operations/MetricsRegistry.ts"
import { FaultProxy } from "../../../verification/harness/FaultProxy.ts"
import { isNatsInstalled, NatsServer } from "../../../verification/harness/NatsServer.ts"
import { until, WAIT_MS } from "../../../verification/harness/Wait.ts"

/** Less than the defaults of the library, which are 20 s and more. */
const START_WITHIN_MS = 10_000

const run = (test: Effect.Effect<void, unknown, Scope.Scope>) =>
  Effect.runPromise(Effect.scoped(test).pipe(Effect.provide(Logger.layer([]))))
const nats = Effect.acquireRelease(
  Effect.promise(() => NatsServer.start()),
  (server) => Effect.promise(() => server.kill())
)
/** A client beside the gateway. */
const client = (server: NatsServer, use: (connection: NatsConnection) => Promise<unknown>) =>
  Effect.promise(async () => {
    const connection = await connect({ servers: Redacted.value(server.url) })
    await use(connection)
    await connection.close()
  })
/** The stream at an address, and the gauge of its connection. */
const joined = Effect.fnUntraced(function* (url: string) {
  const meter = new MetricsRegistry()
  const context = yield* Layer.build(layer({ url: Redacted.make(url) })).pipe(
    Effect.provideService(CurrentMetricsRegistry, meter)
  )
  const { connected } = yield* Effect.provide(NatsStream, context)
  const gauge = async () =>
    /^gateway_dependency_up\{dependency="nats"\} (\d)$/mu.exec(await Effect.runPromise(meter.text))?.[1]
  return { connected, gauge }
})

describe("a server of NATS that accepts connections and never answers", () => {
  it("does not hold up the start, and counts as down", { timeout: START_WITHIN_MS }, () =>
    run(
      Effect.gen(function* () {
        const silent = yield* Effect.acquireRelease(
          Effect.promise(async () => {
            const server = createServer(() => {})
            await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
            return server
          }),
          (server) => Effect.sync(() => void server.close())
        )
        const { connected, gauge } = yield* joined(`nats://127.0.0.1:${(silent.address() as AddressInfo).port}`)
        assert.strictEqual((yield* Effect.flip(connected))._tag, "NatsUnavailable")
        assert.strictEqual(yield* Effect.promise(gauge), "0")
      })
    )
  )

  it("is reported once, as a server that refuses connections", async () => {
    const warnings: Array<string> = []
    let failures = 0
    const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
      if (!String(message).includes("NATS is unavailable")) return
      failures += 1
      if (logLevel === "Warn") warnings.push(String(message))
    })
    await Effect.runPromise(
      Effect.gen(function* () {
        yield* joined("nats://127.0.0.1:1")
        yield* Effect.promise(() => until("the second attempt", () => failures > 1, WAIT_MS))
      }).pipe(
        Effect.scoped,
        Effect.provide(Logger.layer([logger])),
        Effect.provideService(References.MinimumLogLevel, "Debug")
      )
    )
    assert.lengthOf(warnings, 1)
  })
})

describe.skipIf(!isNatsInstalled)("the stream of the copy", () => {
  it.each([
    ["a user and a password", ["--user", "gateway", "--pass", "p@ss%word"], "gateway:p%40ss%25word"],
    ["a token", ["--auth", "t@ken"], "t%40ken"]
  ])("is reached with %s of the address", (_, flags, credentials) =>
    run(
      Effect.gen(function* () {
        const { port } = yield* Effect.acquireRelease(
          Effect.promise(() => NatsServer.start(flags)),
          (server) => Effect.promise(() => server.kill())
        )
        const { connected } = yield* joined(`nats://${credentials}@127.0.0.1:${port}`)
        yield* connected.pipe(Effect.retry({ times: 50, schedule: Schedule.spaced("200 millis") }))
      })
    )
  )

  it("is used with the settings that another version gave it", () =>
    run(
      Effect.gen(function* () {
        const server = yield* nats
        yield* client(server, async (connection) => {
          const manager = await jetstreamManager(connection)
          await manager.streams.add({ name: STREAM, subjects: [SUBJECT], max_msgs: 7 })
        })
        const { connected, gauge } = yield* joined(Redacted.value(server.url))
        assert.isUndefined(yield* (yield* connected).ends)
        assert.strictEqual(yield* Effect.promise(gauge), "1")
      })
    ))

  it("may hold messages without fork and checksum, as before there were any, and others that are no frames", () =>
    run(
      Effect.gen(function* () {
        const server = yield* nats
        const { connected } = yield* joined(Redacted.value(server.url))
        const { ends, js, placeOf } = yield* connected
        const older = headers()
        for (const [name, value] of Object.entries({ epoch: "e", first: "3", last: "4" })) older.set(name, value)
        yield* Effect.promise(() => js.publish(SUBJECT, "older", { headers: older }))
        yield* Effect.promise(() => js.publish(SUBJECT, "foreign"))
        assert.deepStrictEqual(yield* ends, { first: 1, last: 2 })
        const place = { message: 1, epoch: "e", first: 3, last: 4, fork: undefined, checksum: undefined }
        assert.deepStrictEqual(yield* placeOf(1), place)
        assert.isUndefined(yield* placeOf(2))
        assert.isUndefined(yield* placeOf(3))
      })
    ))

  it("counts as lost where its server no longer answers pings, and is used again after it", () => {
    const lines: Array<string> = []
    return run(
      Effect.gen(function* () {
        const server = yield* nats
        const proxy = yield* Effect.acquireRelease(
          Effect.promise(() => FaultProxy.start(server.port)),
          (proxy) => Effect.promise(() => proxy.close())
        )
        const { connected, gauge } = yield* joined(`nats://127.0.0.1:${proxy.port}`)
        yield* connected
        proxy.swallow()
        yield* Effect.promise(() => until("it is lost", async () => (await gauge()) === "0", WAIT_MS))
        proxy.open()
        proxy.cut()
        yield* Effect.promise(() => until("it is back", async () => (await gauge()) === "1", WAIT_MS))
        yield* connected
        const found = lines.filter((line) => !line.startsWith("NATS is unavailable"))
        assert.deepStrictEqual(found, ["NATS connected", "NATS lost", "NATS connected"])
      }).pipe(
        Effect.provide(Logger.layer([Logger.make(({ message }) => void lines.push([message].flat()[0] as string))]))
      )
    )
  })
})
