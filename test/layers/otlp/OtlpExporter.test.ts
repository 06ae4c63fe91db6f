/** Records reach the collector in pieces; where it is away nobody waits, and no more is kept than the bound. */
import { Effect, Exit, Logger, Scope } from "effect"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import * as OtlpExporter from "../../../src/layers/otlp/OtlpExporter.ts"
import { CurrentMetricsRegistry, MetricsRegistry } from "../../../src/services/operations/MetricsRegistry.ts"
import { Collector } from "../../doubles/Collector.ts"
import { eventually } from "../../../verification/harness/Wait.ts"

let collector: Collector
let scope: Scope.Closeable
let meter: MetricsRegistry
beforeEach(async () => {
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
      Effect.provide(Logger.layer([]))
    )
  )
const count = (outcome: "sent" | "dropped"): number =>
  meter.counter("gateway_otlp_records_total", { signal: "logs", outcome }).value
/** Numbers of the posts, in the order in which they came. */
const posted = (): ReadonlyArray<ReadonlyArray<number>> =>
  collector.posts.map(({ text }) => (JSON.parse(text) as { records: Array<{ n: number }> }).records.map(({ n }) => n))
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

describe("what is posted", () => {
  it("is every record once, in order, in pieces of a bounded size", async () => {
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

  it("is posted again where the collector could not take it, and dropped where it never will", async () => {
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
  })
})

describe("a collector that is away", () => {
  it("costs no more than the bound, however much comes, and the rest is counted", async () => {
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

  it("that takes a post and never answers does not hold up the end", async () => {
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

it("posts what waits when it ends", async () => {
  const push = await make(collector.url)
  push({ n: 1 })
  push({ n: 2 })
  await close()
  assert.deepStrictEqual(posted().flat(), [1, 2])
  assert.strictEqual(count("sent"), 2)
})
