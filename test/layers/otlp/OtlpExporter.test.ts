/** Records reach the collector in batches; while it is down no caller waits, and memory has a limit. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, Exit, Layer, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import * as OtlpExporter from "../../../src/layers/otlp/OtlpExporter.ts"
import { CurrentMetricsRegistry, MetricsRegistry } from "../../../src/services/operations/MetricsRegistry.ts"
import { Collector } from "../../doubles/Collector.ts"
import { eventually, until, WAIT_MS } from "../../../verification/harness/Wait.ts"

let collector: Collector
let scope: Scope.Closeable
let meter: MetricsRegistry
/** What the exporter logs. */
let logged: Array<string>
beforeEach(async () => {
  logged = []
  collector = await Collector.start()
  scope = Effect.runSync(Scope.make())
  meter = new MetricsRegistry()
})
afterEach(async () => {
  await close()
  await collector.close()
})
const close = () => Effect.runPromise(Scope.close(scope, Exit.void))

const make = (url: string, clock: Layer.Layer<never> = Layer.empty) =>
  Effect.runPromise(
    OtlpExporter.make({
      url: `${url}/v1/logs`,
      signal: "logs",
      headers: { "content-type": "application/json", authorization: "Bearer of-the-collector" },
      message: (records) => ({ records }),
      every: "5 millis"
    }).pipe(
      Scope.provide(scope),
      Effect.provideService(CurrentMetricsRegistry, meter),
      Effect.provide([Logger.layer([Logger.make(({ message }) => void logged.push(String(message)))]), clock])
    )
  )
const count = (outcome: "sent" | "dropped"): number =>
  meter.counter("gateway_otlp_records_total", { signal: "logs", outcome }).value
/** The record numbers of each post, in order of arrival. */
const posted = (): ReadonlyArray<ReadonlyArray<number>> =>
  collector.posts.map(({ text }) => (JSON.parse(text) as { records: Array<{ n: number }> }).records.map(({ n }) => n))
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

describe("a post", () => {
  it("contains each record once, in order, in batches of limited size", async () => {
    const push = await make(collector.url)
    const all = numbers(0, OtlpExporter.POST_RECORDS_MAX + 10)
    for (const n of all) push({ n })
    await eventually(
      "all sent",
      async () => count("sent"),
      (sent) => sent === all.length
    )
    assert.deepStrictEqual(posted().flat(), all)
    assert.isTrue(posted().every((piece) => piece.length <= OtlpExporter.POST_RECORDS_MAX))
    assert.strictEqual(collector.posts[0]!.headers["authorization"], "Bearer of-the-collector")
    assert.strictEqual(collector.posts[0]!.path, "/v1/logs")
  })

  it.each([408, 429, 500, 503])(
    "is repeated after a temporary %i, and dropped after a permanent failure",
    async (status) => {
      collector.status = status
      const push = await make(collector.url)
      push({ n: 1 })
      await eventually(
        "refused",
        async () => collector.posts.length,
        (posts) => posts >= 1
      )
      assert.strictEqual(count("sent") + count("dropped"), 0)
      collector.status = 200
      await eventually(
        "sent",
        async () => count("sent"),
        (sent) => sent === 1
      )
      collector.status = 400
      push({ n: 2 })
      await eventually(
        "dropped",
        async () => count("dropped"),
        (dropped) => dropped === 1
      )
      collector.status = 200
      push({ n: 3 })
      await eventually(
        "sent",
        async () => count("sent"),
        (sent) => sent === 2
      )
      assert.deepStrictEqual(posted().at(-1), [3])
      await close()
      assert.deepStrictEqual(logged, ["telemetry is not accepted", "telemetry is accepted again"])
    }
  )

  it("is repeated where the collector does not respond within 5 s", async () => {
    collector.status = undefined
    const context = await Effect.runPromise(Layer.build(TestClock.layer()).pipe(Scope.provide(scope)))
    const push = await make(collector.url, Layer.succeedContext(context))
    const pass = (ms: number, posts: number) =>
      until(`post ${posts}`, () =>
        Effect.runPromise(
          Effect.as(TestClock.adjust(ms), collector.posts.length >= posts).pipe(Effect.provide(context))
        )
      )
    push({ n: 1 })
    await pass(5, 1)
    collector.status = 200
    await pass(100, 2)
    assert.deepStrictEqual(posted(), [[1], [1]])
  })

  it("does not follow a redirect, which would send the records and the headers to another server", async () => {
    let redirected = 0
    const server = createServer((_, response) => {
      redirected++
      response.writeHead(307, { location: collector.url }).end()
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const push = await make(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    push({ n: 1 })
    await until("a second post", () => redirected >= 2 || collector.posts.length > 0, WAIT_MS)
    assert.deepStrictEqual(posted(), [])
    await close()
    server.closeAllConnections()
    server.close()
  })
})

describe("a collector that is down", () => {
  it("costs no more memory than the limit; the rest is dropped and counted", async () => {
    const { url } = collector
    await collector.close()
    const push = await make(url)
    for (const n of numbers(0, OtlpExporter.RECORDS_MAX + 100)) push({ n })
    assert.strictEqual(count("dropped"), 100)
    assert.strictEqual(count("sent"), 0)
    await close()
    assert.strictEqual(count("dropped"), OtlpExporter.RECORDS_MAX + 100)
    collector = await Collector.start()
  })

  it("does not delay the shutdown if it accepts a post and never responds", async () => {
    collector.status = undefined
    const push = await make(collector.url)
    push({ n: 1 })
    await eventually(
      "posted",
      async () => collector.posts.length,
      (posts) => posts === 1
    )
    push({ n: 2 })
    await close()
    assert.deepStrictEqual([count("sent"), count("dropped")], [0, 2])
  })
})

it("posts the remaining records at shutdown", async () => {
  const push = await make(collector.url)
  push({ n: 1 })
  push({ n: 2 })
  await close()
  assert.deepStrictEqual(posted().flat(), [1, 2])
  assert.strictEqual(count("sent"), 2)
})
