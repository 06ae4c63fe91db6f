import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import type { LinkState } from "../../src/services/operations/BackendHealth.ts"
import * as Keepalive from "../../src/ws/Keepalive.ts"
import { defaults } from "../../src/ws/Limits.ts"
import * as Throttler from "../../src/ws/Throttler.ts"
import { aheadOf } from "../../verification/harness/Clocks.ts"

const job = (interval_ms: number) => {
  const runs: Array<number> = []
  return { interval_ms, lastRun: -Infinity, run: (now: number) => void runs.push(now), runs }
}

describe("Pacer", () => {
  it.effect("runs at once when the interval has passed, else when it has, and once for many requests", () =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const pacer = yield* Throttler.make(clock, assert.isUndefined)
      const [slow, fast] = [job(200), job(20)]
      yield* TestClock.adjust(1) // the fiber sleeps
      pacer.request(slow)
      pacer.request(fast)
      for (let i = 0; i < 5; i++) pacer.request(slow)
      pacer.request(fast)
      assert.deepStrictEqual([slow.runs, fast.runs], [[1], [1]])
      yield* TestClock.adjust(20)
      assert.deepStrictEqual([slow.runs, fast.runs], [[1], [1, 21]])
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(
        [slow.runs, fast.runs],
        [
          [1, 201],
          [1, 21]
        ]
      )
      pacer.request(slow)
      pacer.request(slow)
      pacer.cancel(slow)
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(slow.runs, [1, 201, 1_021])
    })
  )

  it.effect("reports a run that throws, and continues with the others", () =>
    Effect.gen(function* () {
      const faults: Array<unknown> = []
      const pacer = yield* Throttler.make(yield* Clock.Clock, (fault) => faults.push(fault))
      const sound = job(20)
      const faulty = {
        ...job(20),
        run: () => {
          throw new Error("a fault")
        }
      }
      for (let i = 0; i < 2; i++) for (const one of [faulty, sound]) pacer.request(one)
      yield* TestClock.adjust(20)
      assert.deepStrictEqual([faults.length, sound.runs], [2, [0, 20]])
      pacer.request(sound)
      yield* TestClock.adjust(20)
      assert.deepStrictEqual(sound.runs, [0, 20, 40])
    })
  )

  it.effect("runs at its interval after the clock was set back, and forward again", () =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      let set_ms = 0
      const now = () => clock.currentTimeMillisUnsafe() + set_ms
      const pacer = yield* Throttler.make({ ...clock, currentTimeMillisUnsafe: now }, assert.isUndefined)
      const books = job(200)
      const request = () => pacer.request(books)
      request()
      request()
      set_ms = -3_600_000
      yield* TestClock.adjust(1_000)
      assert.lengthOf(books.runs, 2)
      yield* TestClock.adjust(200)
      request()
      set_ms = 0
      request()
      yield* TestClock.adjust(200)
      assert.lengthOf(books.runs, 4)
    })
  )

  it.effect("is woken by a job that is due before the one it sleeps for", () =>
    Effect.gen(function* () {
      const pacer = yield* Throttler.make(yield* Clock.Clock, assert.isUndefined)
      const [slow, fast] = [job(200), job(20)]
      pacer.request(slow)
      pacer.request(slow)
      yield* TestClock.adjust(100)
      pacer.request(fast)
      pacer.request(fast)
      yield* TestClock.adjust(20)
      assert.deepStrictEqual([slow.runs, fast.runs], [[0], [100, 120]])
    })
  )
})

describe("the pace of messages", () => {
  for (const step of [-3_600_000, 3_600_000])
    it.effect(`is kept while the wall clock is set by ${step} ms`, () =>
      Effect.gen(function* () {
        let ahead_ms = 0
        const pacer = yield* Throttler.make(
          aheadOf(yield* Clock.Clock, () => ahead_ms),
          assert.isUndefined
        )
        const slow = job(200)
        pacer.request(slow)
        pacer.request(slow)
        ahead_ms = step
        yield* TestClock.adjust(199)
        assert.deepStrictEqual(slow.runs, [0])
        yield* TestClock.adjust(1)
        // messages have the wall time
        assert.deepStrictEqual(slow.runs, [0, step + 200])
      })
    )
})

const link = (unhealthy_for_ms: number): LinkState => ({
  connected: true,
  lag_events: 0,
  lag_ms: 0,
  unhealthy: unhealthy_for_ms > 0,
  unhealthy_for_ms,
  age_ms: 0
})

describe("Keepalive", () => {
  it.effect("visits every socket each second", () =>
    Effect.gen(function* () {
      const seen: Array<number> = []
      yield* Keepalive.run(() => [{ tick: (now) => void seen.push(now.monotonic_ms) }], defaults, {
        health: { sequencer: () => link(0), referee: () => link(0) },
        lease: { overdue_ms: () => 0 }
      })
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(seen, [1_000, 2_000, 3_000])
    })
  )

  it.effect("visits them ten times in the shortest deadline, and at most every 5 ms", () =>
    Effect.gen(function* () {
      for (const [limits, round] of [
        [{ auth_deadline_ms: 200 }, 20],
        [{ silence_ms: 300 }, 30],
        [{ ping_interval_ms: 400 }, 40],
        [{ outbound_age_ms: 500 }, 50],
        [{ outbound_age_ms: 20 }, 5],
        [{ auth_deadline_ms: 60_000, silence_ms: 60_000, ping_interval_ms: 60_000, outbound_age_ms: 60_000 }, 1_000]
      ] as const) {
        let visits = 0
        const sources = {
          health: { sequencer: () => link(0), referee: () => link(0) },
          lease: { overdue_ms: () => 0 }
        }
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* Keepalive.run(() => [{ tick: () => void visits++ }], { ...defaults, ...limits }, sources)
            for (let i = 0; i < 4; i++) yield* TestClock.adjust(round)
          })
        )
        assert.strictEqual(visits, 4, JSON.stringify(limits))
      }
    })
  )

  it("counts 10 s of either backend or of the lease for private sockets, 60 s of the sequencer for public ones", () => {
    const lost = (sequencer: number, referee: number, lease = 0) =>
      Keepalive.lostFor(defaults, {
        health: { sequencer: () => link(sequencer), referee: () => link(referee) },
        lease: { overdue_ms: () => lease }
      })
    assert.deepStrictEqual(lost(0, 0, 10_000), { private: false, public: false })
    assert.deepStrictEqual(lost(0, 0, 10_001), { private: true, public: false })
    assert.deepStrictEqual(lost(10_000, 10_000), { private: false, public: false })
    assert.deepStrictEqual(lost(10_001, 0), { private: true, public: false })
    assert.deepStrictEqual(lost(0, 90_000), { private: true, public: false })
    assert.deepStrictEqual(lost(60_000, 0), { private: true, public: false })
    assert.deepStrictEqual(lost(60_001, 0), { private: true, public: true })
  })

  it("closes public sockets while what they are shown is older than that, as when a read model is built again", () => {
    const isLost = (of: Partial<LinkState>) =>
      Keepalive.lostFor(defaults, {
        health: { sequencer: () => ({ ...link(5), ...of }), referee: () => link(0) },
        lease: { overdue_ms: () => 0 }
      }).public
    assert.isFalse(isLost({ age_ms: 60_000 }))
    assert.isTrue(isLost({ age_ms: 60_001 }))
    assert.isFalse(isLost({ age_ms: 60_001, unhealthy: false }))
    assert.isFalse(isLost({ age_ms: Infinity, connected: false }), "a start")
  })
})
