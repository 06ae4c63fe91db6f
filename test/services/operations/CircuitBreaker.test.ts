/** The state of a circuit breaker as a metric, under a test clock. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { CircuitBreaker as Policy } from "effect/persistence"
import { TestClock } from "effect/testing"
import * as CircuitBreaker from "../../../src/services/operations/CircuitBreaker.ts"
import { CurrentMetricsRegistry, MetricsRegistry } from "../../../src/services/operations/MetricsRegistry.ts"

/** Circuits that one failure opens for a second. */
const breaker = CircuitBreaker.make({ tripPolicy: Policy.consecutive(1), openDuration: "1 second" })
/** The state of each circuit that the metrics show. */
const shown = Effect.gen(function* () {
  const text = yield* (yield* CurrentMetricsRegistry).text
  return Object.fromEntries(
    [...text.matchAll(/^gateway_breaker_open\{breaker="(\w+)"\} (\d)$/gmu)].map(([, key, value]) => [key!, value!])
  )
})
const inRegistry = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provideService(Effect.scoped(effect), CurrentMetricsRegistry, new MetricsRegistry())

describe("the metric of a circuit breaker", () => {
  it.effect("is 1 from the first refused call until a probe succeeds", () =>
    inRegistry(
      Effect.gen(function* () {
        const { execute, watch } = yield* breaker
        const call = <A, E>(effect: Effect.Effect<A, E>) => Effect.exit(execute({ key: "reads" })(effect))
        watch("reads")
        assert.deepStrictEqual(yield* shown, { reads: "0" })
        yield* call(Effect.fail("lost"))
        yield* TestClock.adjust(0)
        assert.deepStrictEqual(yield* shown, { reads: "1" })

        yield* TestClock.adjust("1 second")
        const answer = yield* Deferred.make<void>()
        const probe = yield* Effect.forkChild(call(Deferred.await(answer)))
        yield* TestClock.adjust(0)
        assert.deepStrictEqual(yield* shown, { reads: "1" }, "while the probe runs, other calls are refused")

        yield* Deferred.succeed(answer, undefined)
        yield* Fiber.join(probe)
        yield* TestClock.adjust(0)
        assert.deepStrictEqual(yield* shown, { reads: "0" })
      })
    )
  )

  it.effect("appears with the first change of a key, and stays when it is watched again", () =>
    inRegistry(
      Effect.gen(function* () {
        const { execute, watch } = yield* breaker
        assert.deepStrictEqual(yield* shown, {})
        yield* Effect.exit(execute({ key: "reads" })(Effect.fail("lost")))
        yield* TestClock.adjust(0)
        assert.deepStrictEqual(yield* shown, { reads: "1" })
        watch("reads")
        watch("commands")
        assert.deepStrictEqual(yield* shown, { reads: "1", commands: "0" })
      })
    )
  )
})
