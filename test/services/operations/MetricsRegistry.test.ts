/** Counters add numbers; the labels are bounded, and two gateways have separate registries. */
import { Context, Effect, Layer } from "effect"
import { assert, it } from "vitest"
import {
  CurrentMetricsRegistry,
  layer,
  MetricsRegistry,
  SERIES_MAX
} from "../../../src/services/operations/MetricsRegistry.ts"

const text = (meter: MetricsRegistry): string => Effect.runSync(meter.text)

it("gives the same counter for the same labels, and another one for others", () => {
  const meter = new MetricsRegistry()
  const one = meter.counter("gateway_stream_losses_total", { stream: "events" })
  meter.counter("gateway_stream_losses_total", { stream: "events" }).add()
  meter.counter("gateway_stream_losses_total", { stream: "prices" }).add(3)
  one.add()
  assert.include(text(meter), 'gateway_stream_losses_total{stream="events"} 2\n')
  assert.include(text(meter), 'gateway_stream_losses_total{stream="prices"} 3\n')
  assert.include(text(meter), "# TYPE gateway_stream_losses_total counter\n")
})

it("reads gauges at each scrape, the newest one of the same labels", () => {
  const meter = new MetricsRegistry()
  let waiting = 1
  meter.gauge("gateway_commands_pending", {}, () => 7)
  meter.gauge("gateway_commands_pending", {}, () => waiting)
  assert.include(text(meter), "gateway_commands_pending 1\n")
  waiting = 2
  assert.include(text(meter), "gateway_commands_pending 2\n")
})

it("reports durations as a histogram that exists before the first one", () => {
  const meter = new MetricsRegistry()
  const commits = meter.histogram("gateway_projector_commit_seconds", {})
  assert.include(text(meter), "gateway_projector_commit_seconds_count 0\n")
  const limits = [...text(meter).matchAll(/^gateway_projector_commit_seconds_bucket\{le="([^"]+)"/gmu)]
  assert.deepStrictEqual(
    limits.map(([, limit]) => limit!),
    ["0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "+Inf"]
  )
  commits.observe(0.02)
  assert.include(text(meter), 'gateway_projector_commit_seconds_bucket{le="0.01"} 0\n')
  assert.include(text(meter), 'gateway_projector_commit_seconds_bucket{le="0.025"} 1\n')
})

it("combines series beyond the limit of a name", () => {
  const meter = new MetricsRegistry()
  for (let i = 0; i < SERIES_MAX + 5; i++) meter.counter("gateway_auth_failures_total", { reason: `r${i}` }).add()
  const lines = text(meter).match(/^gateway_auth_failures_total\{.*$/gmu)!
  assert.strictEqual(lines.length, SERIES_MAX + 1)
  assert.strictEqual(lines.at(-1), 'gateway_auth_failures_total{reason=""} 5')
})

it("appends the text of others while they are registered", () => {
  const meter = new MetricsRegistry()
  meter.counter("gateway_stream_losses_total", { stream: "events" })
  const leave = meter.include(Effect.succeed("backend_head_seq 5\n"))
  assert.isTrue(text(meter).endsWith('{stream="events"} 0\nbackend_head_seq 5\n'))
  leave()
  assert.notInclude(text(meter), "backend_head_seq")
})

it("is one for each gateway that is given one, and one for all that are not", async () => {
  const current = Effect.map(CurrentMetricsRegistry, (meter) => meter)
  const given = () => Effect.runPromise(Effect.provide(current, layer))
  assert.notStrictEqual(await given(), await given())
  assert.strictEqual(await Effect.runPromise(current), await Effect.runPromise(current))
  const both = await Effect.runPromise(Effect.scoped(Layer.build(Layer.mergeAll(Layer.effectDiscard(current), layer))))
  assert.instanceOf(Context.get(both, CurrentMetricsRegistry), MetricsRegistry)
})
