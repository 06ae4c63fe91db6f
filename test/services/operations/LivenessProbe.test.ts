/** How often the liveness probe asks, with and without pending calls. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { vi } from "vitest"
import * as LivenessProbe from "../../../src/services/operations/LivenessProbe.ts"
import { eventually } from "../../doubles/Eventually.ts"

const probed = Effect.gen(function* () {
  let probes = 0
  let isLost = false
  const signal = yield* LivenessProbe.make({
    server: "server",
    begin: Effect.succeed(Effect.suspend(() => (probes++, isLost ? Effect.fail("lost") : Effect.void))),
    late: () => "late"
  })
  /** Probes in the next seconds. */
  const during = (seconds: number) =>
    Effect.gen(function* () {
      const before = probes
      // in steps: each probe begins its pause when the fiber runs
      for (let step = 0; step < seconds * 20; step++) yield* TestClock.adjust("50 millis")
      return probes - before
    })
  yield* TestClock.adjust("50 millis")
  return { signal, during, lose: () => (isLost = true), regain: () => (isLost = false) }
})

describe("the liveness probe", () => {
  it.effect("asks once a second while no call is pending, and five times a second while one is", () =>
    Effect.gen(function* () {
      const { signal, during } = yield* probed
      assert.strictEqual(yield* during(10), 10)
      const leave = signal.await(() => {})
      const leaveSecond = signal.await(() => {})
      assert.approximately(yield* during(10), 50, 1)
      leaveSecond()
      assert.approximately(yield* during(2), 10, 1)
      leave()
      assert.approximately(yield* during(10), 10, 1)
    })
  )

  it.effect("asks at once when a call begins in the longer pause", () =>
    Effect.gen(function* () {
      const { signal, during } = yield* probed
      yield* during(0.5)
      const leave = signal.await(() => {})
      assert.strictEqual(yield* during(0.05), 1)
      leave()
    })
  )

  it.effect("counts a server as silent after 750 ms without a response", () =>
    Effect.gen(function* () {
      // the limit of a response is measured by the timers of the machine
      yield* Effect.acquireRelease(
        Effect.sync(() => vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })),
        () => Effect.sync(() => vi.useRealTimers())
      )
      let isAsked = false
      const request = Effect.suspend(() => ((isAsked = true), Effect.never))
      const signal = yield* LivenessProbe.make({ server: "server", begin: Effect.succeed(request), late: () => "late" })
      let isGivenUp = false
      signal.await(() => (isGivenUp = true))
      yield* eventually("it asks", () => isAsked)
      vi.advanceTimersByTime(LivenessProbe.SILENCE_MS - 1)
      yield* TestClock.adjust("50 millis")
      assert.deepStrictEqual([signal.isSilent(), isGivenUp], [false, false])
      vi.advanceTimersByTime(1)
      yield* eventually("it is silent", signal.isSilent)
      assert.isTrue(isGivenUp)
    })
  )

  it.effect("does not take a server for silent that refuses a session", () =>
    Effect.gen(function* () {
      let refusals = 0
      const begin = Effect.suspend(() => (refusals++, Effect.fail("refused")))
      const signal = yield* LivenessProbe.make({ server: "server", begin, late: () => "late" })
      yield* TestClock.adjust("1 second")
      assert.isAbove(refusals, 0)
      assert.isFalse(signal.isSilent())
    })
  )

  it.effect("calls back after the call has its subscription, also where that probe fails at once", () =>
    Effect.gen(function* () {
      const { signal, during, lose } = yield* probed
      yield* during(0.5)
      lose()
      let isSubscribed = false
      const calledBack: Array<boolean> = []
      signal.await(() => calledBack.push(isSubscribed))
      isSubscribed = true
      yield* during(0.05)
      assert.deepStrictEqual(calledBack, [true])
      assert.isTrue(signal.isSilent())
    })
  )

  it.effect("reports a server that recovered as lost when it is silent again", () =>
    Effect.gen(function* () {
      const { signal, during, lose, regain } = yield* probed
      let given_up = 0
      for (let times = 1; times <= 2; times++) {
        const leave = signal.await(() => given_up++)
        lose()
        yield* during(1)
        assert.deepStrictEqual([signal.isSilent(), given_up], [true, times])
        leave()
        regain()
        yield* during(1)
        assert.isFalse(signal.isSilent())
      }
    })
  )
})
