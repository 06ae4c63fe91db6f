import { assert, describe, it } from "vitest"
import { EngineClock } from "../../../src/backend/server/EngineClock.ts"

const START = 1_750_000_000_000
const SECOND = 1_000
const HOUR = 3_600 * SECOND
const YEAR = 365 * 24 * HOUR

/** An engine clock over a wall clock and a monotonic clock of the test. */
const world = (at_ms = START) => {
  let passed = 0
  let ahead = 0
  const steps: Array<number> = []
  const open = (at_ms: number) =>
    new EngineClock({
      wall: () => START + passed + ahead,
      monotonic: () => passed,
      at_ms,
      onStep: (step_ms) => steps.push(step_ms)
    })
  let clock = open(at_ms)
  return {
    steps,
    get clock() {
      return clock
    },
    set: (ahead_ms: number) => {
      ahead = ahead_ms
    },
    /** Passes time as Ticks do; returns how far engine time went. */
    pass: (ms: number): number => {
      const before = clock.now()
      for (let left = ms; left > 0; left -= 100) {
        passed += Math.min(100, left)
        clock.now()
      }
      return clock.now() - before
    },
    /** Passes time in which nothing runs. */
    stop: (ms: number): void => {
      passed += ms
    },
    truth: () => START + passed,
    restart: () => (clock = open(clock.now()))
  }
}

describe("EngineClock", () => {
  for (const step of [SECOND, 5 * SECOND, 60 * SECOND, HOUR, 24 * HOUR, YEAR]) {
    for (const by of [step, -step]) {
      it(`continues at its rate through a step of ${by / SECOND} s and back`, () => {
        const { clock, pass, set, steps, truth } = world()
        pass(10 * SECOND)
        set(by)
        // prices are sampled each second of engine time
        assert.isAtLeast(pass(2 * SECOND), 1_800)
        pass(28 * SECOND)
        // 30 s at 0.5 %: an order expires at most this much early
        assert.isAtMost(clock.now(), truth() + 150)
        assert.isAtLeast(clock.now(), truth() - 3 * SECOND)
        set(0)
        assert.isAtLeast(pass(2 * SECOND), 1_800)
        pass(600 * SECOND)
        assert.approximately(clock.now(), truth(), 1)
        assert.strictEqual(clock.steps, 2)
        assert.deepStrictEqual(steps, [by, -by])
      })
    }
  }

  it("reaches a wall clock that is constantly ahead by a second within four minutes", () => {
    const { clock, pass, set, truth } = world()
    set(SECOND)
    pass(240 * SECOND)
    assert.approximately(clock.now(), truth() + SECOND, 1)
    assert.approximately(clock.offset_ms, 0, 1)
  })

  it("never falls below the time of the last entry, and advances from there after a restart", () => {
    const { clock, pass, restart } = world(START + HOUR)
    assert.strictEqual(clock.now(), START + HOUR)
    assert.approximately(clock.offset_ms, HOUR, 1)
    restart()
    assert.isAtLeast(pass(2 * SECOND), 1_800)
  })

  it("follows the wall clock forward at a start, and counts no step for it", () => {
    const { clock, steps, truth } = world(START - HOUR)
    assert.strictEqual(clock.now(), truth())
    assert.deepStrictEqual(steps, [])
  })

  it("counts no step while a process is stopped", () => {
    const { clock, steps, stop, truth } = world()
    stop(HOUR)
    assert.approximately(clock.now(), truth(), 1)
    assert.deepStrictEqual(steps, [])
  })
})
