/**
 * The metrics of the gateway's parts. Each part gets its counters once, when it is built, and then adds to plain
 * numbers. Gauges are functions, called at each scrape. {@link Metrics} produces the text.
 *
 * A program that starts a gateway provides {@link layer}, so that two gateways in one process do not share counters.
 * Parts built without it share one registry.
 */
import { Context, Effect, Layer, Metric } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { catalogue, type Labels, type Name, type NameOf } from "./MetricNames.ts"

/** Most label combinations per metric; beyond that, new ones are counted under "". */
export const SERIES_MAX = 2_000
/** Histogram buckets of durations, in seconds. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** A monotonic counter. */
export class Counter {
  value = 0
  add(by = 1): void {
    this.value += by
  }
}

export interface Histogram {
  readonly observe: (seconds: number) => void
}

export class MetricsRegistry {
  private readonly context = Context.make(Metric.MetricRegistry, new Map()) as Context.Context<never>
  private readonly counters = new Map<string, Counter>()
  private readonly histograms = new Map<string, Histogram>()
  private readonly series = new Map<Name, number>()
  private readonly others = new Set<Effect.Effect<string>>()

  /** The counter with these labels; every call returns the same one. */
  counter<N extends NameOf<"counter">>(name: N, labels: Labels<N>): Counter {
    return this.once(this.counters, name, labels, (attributes) => {
      const counter = new Counter()
      const { about: description } = catalogue[name]
      Metric.registerUnsafe(Metric.counter(name, { description, attributes, incremental: true }), this.context, {
        get: () => ({ count: counter.value, incremental: true }),
        update: () => {},
        modify: () => {}
      })
      return counter
    })
  }

  /** A gauge or an external counter, read at each scrape. A later one with the same labels replaces it. */
  gauge<N extends NameOf<"gauge" | "counter">>(name: N, labels: Labels<N>, read: () => number): void {
    const { about: description, type } = catalogue[name]
    const options = { description, attributes: labels as Record<string, string> }
    const unused = { update: () => {}, modify: () => {} }
    if (type === "gauge") {
      Metric.registerUnsafe(Metric.gauge(name, options), this.context, { get: () => ({ value: read() }), ...unused })
    } else {
      Metric.registerUnsafe(Metric.counter(name, { ...options, incremental: true }), this.context, {
        get: () => ({ count: read(), incremental: true }),
        ...unused
      })
    }
  }

  /** The histogram with these labels, in seconds. */
  histogram<N extends NameOf<"histogram">>(name: N, labels: Labels<N>): Histogram {
    return this.once(this.histograms, name, labels, (attributes) => {
      const { about: description } = catalogue[name]
      const metric = Metric.histogram(name, { description, attributes, boundaries: SECONDS })
      metric.valueUnsafe(this.context)
      return { observe: (seconds) => metric.updateUnsafe(seconds, this.context) }
    })
  }

  /** Counters of the hits and misses of a cache. */
  cache(cache: string): { readonly hit: Counter; readonly miss: Counter } {
    return {
      hit: this.counter("gateway_cache_lookups_total", { cache, result: "hit" }),
      miss: this.counter("gateway_cache_lookups_total", { cache, result: "miss" })
    }
  }

  /** Appends the metrics of another thread or process of this gateway to the text. */
  include(text: Effect.Effect<string>): () => void {
    this.others.add(text)
    return () => void this.others.delete(text)
  }

  /** All metrics in the Prometheus text format. */
  get text(): Effect.Effect<string> {
    return Effect.map(
      Effect.all([...this.others], { concurrency: "unbounded" }),
      (others) => PrometheusMetrics.formatUnsafe(this.context) + others.join("")
    )
  }

  private once<A, N extends Name>(
    known: Map<string, A>,
    name: N,
    labels: Labels<N>,
    make: (attributes: Record<string, string>) => A
  ): A {
    const values: ReadonlyArray<string> = Object.values(labels)
    const key = [name, ...values].join("\n")
    const found = known.get(key)
    if (found !== undefined) return found
    const count = this.series.get(name) ?? 0
    if (count >= SERIES_MAX && values.some((value) => value !== "")) {
      const overflow = Object.fromEntries(Object.keys(labels).map((label) => [label, ""]))
      return this.once(known, name, overflow as Labels<N>, make)
    }
    this.series.set(name, count + 1)
    const made = make(labels)
    known.set(key, made)
    return made
  }
}

export const CurrentMetricsRegistry = Context.Reference<MetricsRegistry>("gateway/services/MetricsRegistry", {
  defaultValue: () => new MetricsRegistry()
})

/** A separate registry for one gateway. */
export const layer: Layer.Layer<never> = Layer.sync(CurrentMetricsRegistry, () => new MetricsRegistry())
