/** An in-process circuit breaker whose state is a metric. */
import { CircuitBreaker } from "effect/persistence"
import { Effect, Stream } from "effect"
import { CurrentMetricsRegistry } from "./MetricsRegistry.ts"

export const make = Effect.fnUntraced(function* (options: Parameters<typeof CircuitBreaker.make>[0]) {
  const breaker = yield* CircuitBreaker.make(options).pipe(Effect.provide(CircuitBreaker.layerStoreMemory()))
  const meter = yield* CurrentMetricsRegistry
  const open = new Map<string, boolean>()
  /** Publishes the state of a key from now on. The number of keys must be small. */
  const watch = (key: string): void => {
    if (open.has(key)) return
    open.set(key, false)
    meter.gauge("gateway_breaker_open", { breaker: key }, () => Number(open.get(key)))
  }
  yield* breaker.transitions.pipe(
    Stream.runForEach(({ key, to }) =>
      Effect.sync(() => {
        watch(key)
        open.set(key, to !== "Closed")
      })
    ),
    Effect.forkScoped({ startImmediately: true })
  )
  return { execute: breaker.execute, watch }
})
