import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Metrics } from "../../src/services/Metrics.ts"
import { BackendHealth } from "../../src/services/operations/BackendHealth.ts"
import { Leadership } from "../../src/services/operations/Leadership.ts"
import * as MetricsRegistry from "../../src/services/operations/MetricsRegistry.ts"
import { Readiness } from "../../src/services/Readiness.ts"

const state = {
  term: 1 as number | undefined,
  ready: true,
  connected: true,
  unhealthy: false,
  fault: "lost",
  lag_events: 7,
  lag_ms: 1_500
}
const link = () => state as never

const layer = Metrics.layer.pipe(
  Layer.provide([
    MetricsRegistry.layer,
    Layer.succeed(Leadership, { term: () => state.term, resign: Effect.void }),
    Layer.succeed(BackendHealth, { sequencer: link, referee: link } as never),
    Layer.mock(Readiness)({
      check: Effect.sync(() => ({ ready: state.ready, database: { connected: state.connected } }) as never)
    })
  ])
)

it.effect("the durations of requests are counted by method, route and status", () =>
  Effect.gen(function* () {
    const { served, text } = yield* Metrics
    const request = { method: "GET", route: "/time", status: 200, seconds: 0.01 }
    served(request)
    served({ ...request, seconds: 0.02 })
    served({ ...request, status: 503 })
    served({ ...request, method: "POST" })
    const counts = [...(yield* text).matchAll(/^gateway_http_request_duration_seconds_count(\{.*\}) (\d+)$/gmu)]
    assert.sameDeepMembers(
      counts.map(([, labels, count]) => [labels, count]),
      [
        ['{method="GET",route="/time",status="200"}', "2"],
        ['{method="GET",route="/time",status="503"}', "1"],
        ['{method="POST",route="/time",status="200"}', "1"]
      ]
    )
  }).pipe(Effect.provide(layer))
)

describe("the gauges", () => {
  it.effect("show readiness, the leader, and the lag of a backend", () =>
    Effect.gen(function* () {
      const metrics = yield* Metrics
      const shown = Effect.map(metrics.text, (text) => (name: string) => {
        const line = text.split("\n").find((each) => each.startsWith(`${name} `))
        return line === undefined ? undefined : Number(line.slice(name.length + 1))
      })
      const names = [
        "gateway_ready",
        "gateway_database_up",
        'gateway_dependency_up{dependency="database"}',
        'gateway_dependency_up{dependency="referee"}',
        'gateway_backend_up{backend="sequencer"}',
        'gateway_backend_lag_events{backend="sequencer"}',
        'gateway_backend_lag_seconds{backend="referee"}',
        "gateway_leads",
        "gateway_ws_connections"
      ]
      metrics.sockets(1)
      metrics.sockets(1)
      metrics.sockets(-1)
      assert.deepStrictEqual(names.map(yield* shown), [1, 1, 1, 1, 1, 7, 1.5, 1, 1])
      Object.assign(state, { term: undefined, ready: false, connected: false, unhealthy: true })
      assert.deepStrictEqual(names.map(yield* shown), [0, 0, 0, 0, 0, 7, 1.5, 0, 1])
      // the database accepts no event: the backend is well
      state.fault = "stalled"
      assert.deepStrictEqual(names.slice(3, 5).map(yield* shown), [1, 1])
    }).pipe(Effect.provide(layer))
  )
})
