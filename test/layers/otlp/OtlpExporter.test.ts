/** Records reach the collector in batches; while it is down no caller waits, and memory has a limit. */
import { Effect, Exit, Logger, Scope } from "effect"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import * as OtlpExporter from "../../../src/layers/otlp/OtlpExporter.ts"
import { CurrentMetricsRegistry, MetricsRegistry } from "../../../src/services/operations/MetricsRegistry.ts"
import { Collector } from "../../doubles/Collector.ts"
import { eventually } from "../../../verification/harness/Wait.ts"

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

const make = (url: string) =>
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
      Effect.provide(Logger.layer([Logger.make(({ message }) => void logged.push(String(message)))]))
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

  it("is repeated after a temporary failure, and dropped after a permanent one", async () => {
    collector.status = 503
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
