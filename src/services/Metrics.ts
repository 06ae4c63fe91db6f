/**
 * Policy: what a gateway counts of itself, in a registry of its own, so that two in one process do not add up.
 * Names and labels are in docs/operations.md. Source: contract 3.9.
 */
import { Context, Effect, Layer, Metric } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { BackendHealth, type LinkState } from "./BackendHealth.ts"
import { Leadership } from "./Leadership.ts"
import { Readiness } from "./Readiness.ts"

/** Upper ends of the classes of durations, in seconds. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** Kinds of requests that are told apart; beyond that the kind is not told. */
const KINDS_MAX = 2_000

/** A request whose answer has left, or whose caller has. */
export interface Served {
  readonly method: string
  /** The path of its endpoint, parameters as `:name`; "" where there is none. */
  readonly route: string
  /** 499: the caller left before the answer. */
  readonly status: number
  readonly seconds: number
}

export class Metrics extends Context.Service<
  Metrics,
  {
    readonly served: (request: Served) => void
    /** A WebSocket came (1) or went (-1). */
    readonly sockets: (by: 1 | -1) => void
    /** Everything, as Prometheus reads it. */
    readonly text: Effect.Effect<string>
  }
>()("gateway/services/Metrics") {
  static readonly layer: Layer.Layer<Metrics, never, BackendHealth | Readiness> = Layer.effect(
    Metrics,
    Effect.gen(function* () {
      const health = yield* BackendHealth
      const readiness = yield* Readiness
      const leadership = yield* Leadership
      const context = Context.make(Metric.MetricRegistry, new Map()) as Context.Context<never>

      const kinds = new Map<string, Metric.Histogram<number>>()
      const kindOf = ({ method, route, status }: Served): Metric.Histogram<number> => {
        const name = `${method} ${route} ${status}`
        const known = kinds.get(name)
        if (known !== undefined) return known
        const isTold = kinds.size < KINDS_MAX
        const made = Metric.histogram("gateway_http_request_duration_seconds", {
          description: "Time from the head of a request to the end of its answer",
          attributes: isTold ? { method, route, status: String(status) } : { method: "", route: "", status: "" },
          boundaries: SECONDS
        })
        if (isTold) kinds.set(name, made)
        return made
      }

      /** A number that is read when somebody asks. */
      const gauge = (name: string, description: string, attributes: Record<string, string>, read: () => number) =>
        void Metric.registerUnsafe(Metric.gauge(name, { description, attributes }), context, {
          get: () => ({ value: read() }),
          update: () => {},
          modify: () => {}
        })
      let open = 0
      gauge("gateway_ws_connections", "Open WebSockets", {}, () => open)
      const state = { ready: false, database: false }
      gauge("gateway_ready", "1: traffic should come", {}, () => Number(state.ready))
      gauge("gateway_database_up", "1: the database answers", {}, () => Number(state.database))
      const leads = () => (leadership.term() === undefined ? 0 : 1)
      gauge("gateway_leads", "1: this gateway writes the read model", {}, leads)
      const links: Record<string, () => LinkState> = { sequencer: health.sequencer, referee: health.referee }
      for (const [backend, link] of Object.entries(links)) {
        gauge("gateway_backend_up", "1: connected and not lagging", { backend }, () => (link().ill ? 0 : 1))
        gauge("gateway_backend_lag_events", "Events not applied yet", { backend }, () => link().lag_events)
        gauge("gateway_backend_lag_seconds", "Age of the oldest of them", { backend }, () => link().lag_ms / 1_000)
      }

      return Metrics.of({
        served: (request) => kindOf(request).updateUnsafe(request.seconds, context),
        sockets: (by) => {
          open += by
        },
        text: Effect.map(readiness.check, ({ database, ready }) => {
          state.ready = ready
          state.database = database.connected
          return PrometheusMetrics.formatUnsafe(context)
        })
      })
    })
  )
}
