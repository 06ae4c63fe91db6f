/**
 * Policy: the metrics of a gateway: requests, health, and the metrics that its parts record in their {@link
 * MetricsRegistry}. MetricNames.ts defines names and labels.
 * Source: docs/contract/rest.md#service-endpoints.
 */
import { Context, Effect, Layer } from "effect"
import { BackendHealth, type LinkState } from "./operations/BackendHealth.ts"
import { Leadership } from "./operations/Leadership.ts"
import { CurrentMetricsRegistry, type Histogram, SERIES_MAX } from "./operations/MetricsRegistry.ts"
import { Readiness } from "./Readiness.ts"

/** A completed request: answered, or abandoned by its client. */
export interface Served {
  readonly method: string
  /** The path of its endpoint, with parameters as `:name`; "" for an unknown path. */
  readonly route: string
  /** 499: the client disconnected before the response. */
  readonly status: number
  readonly seconds: number
}

export class Metrics extends Context.Service<
  Metrics,
  {
    readonly served: (request: Served) => void
    /** A WebSocket opened (1) or closed (-1). */
    readonly sockets: (by: 1 | -1) => void
    /** All metrics in the Prometheus text format. */
    readonly text: Effect.Effect<string>
  }
>()("gateway/services/Metrics") {
  static readonly layer: Layer.Layer<Metrics, never, BackendHealth | Readiness> = Layer.effect(
    Metrics,
    Effect.gen(function* () {
      const health = yield* BackendHealth
      const readiness = yield* Readiness
      const leadership = yield* Leadership
      const meter = yield* CurrentMetricsRegistry

      let open = 0
      meter.gauge("gateway_ws_connections", {}, () => open)
      const state = { ready: false, database: false }
      meter.gauge("gateway_ready", {}, () => Number(state.ready))
      meter.gauge("gateway_database_up", {}, () => Number(state.database))
      meter.gauge("gateway_dependency_up", { dependency: "database" }, () => Number(state.database))
      meter.gauge("gateway_leads", {}, () => (leadership.term() === undefined ? 0 : 1))
      const links: Record<string, () => LinkState> = { sequencer: health.sequencer, referee: health.referee }
      for (const [backend, link] of Object.entries(links)) {
        const up = () => {
          const { fault, unhealthy } = link()
          // stalled: the database is at fault, not the backend
          return unhealthy && fault !== "stalled" ? 0 : 1
        }
        meter.gauge("gateway_backend_up", { backend }, up)
        meter.gauge("gateway_dependency_up", { dependency: backend }, up)
        meter.gauge("gateway_backend_lag_events", { backend }, () => link().lag_events)
        meter.gauge("gateway_backend_lag_seconds", { backend }, () => link().lag_ms / 1_000)
      }

      const kinds = new Map<string, Histogram>()
      const kindOf = ({ method, route, status }: Served): Histogram => {
        const name = `${method} ${route} ${status}`
        const known = kinds.get(name)
        if (known !== undefined) return known
        const labels = { method, route, status: String(status) }
        const made = meter.histogram("gateway_http_request_duration_seconds", labels)
        if (kinds.size < SERIES_MAX) kinds.set(name, made)
        return made
      }

      return Metrics.of({
        served: (request) => kindOf(request).observe(request.seconds),
        sockets: (by) => {
          open += by
        },
        text: Effect.flatMap(readiness.check, ({ database, ready }) => {
          state.ready = ready
          state.database = database.connected
          return meter.text
        })
      })
    })
  )
}
