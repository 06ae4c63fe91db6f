/** The time limit of a call, on timers of the test. */
import { Effect } from "effect"
import { afterEach, assert, beforeEach, describe, it, vi } from "vitest"
import { type SilenceSignal, withTimeout } from "../../../src/services/operations/Timeout.ts"

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }))
afterEach(() => void vi.useRealTimers())

/** Starts a call that does not end by itself. */
const start = (limit_ms: number, silence?: SilenceSignal) => {
  const seen = { began: false, late: false, interrupted: false }
  const interrupted = Effect.sync(() => void (seen.interrupted = true))
  const call = Effect.suspend(() => {
    seen.began = true
    return Effect.onInterrupt(Effect.never, () => interrupted)
  })
  const late = () => {
    seen.late = true
    return "late"
  }
  const limited = withTimeout<never, string, never>(limit_ms, call, late, silence)
  return { seen, error: Effect.runPromise(Effect.flip(limited)) }
}

describe("a time limit", () => {
  it.each([
    [1, 50],
    [50, 50],
    [51, 100],
    [750, 750]
  ])("of %i ms ends and interrupts the call after %i ms: steps of 50 ms", async (limit_ms, after_ms) => {
    const { error, seen } = start(limit_ms)
    vi.advanceTimersByTime(after_ms - 1)
    assert.deepStrictEqual(seen, { began: true, late: false, interrupted: false })
    vi.advanceTimersByTime(1)
    assert.isTrue(seen.late)
    assert.strictEqual(await error, "late")
    assert.isTrue(seen.interrupted)
    assert.strictEqual(vi.getTimerCount(), 0)
  })

  it("has no end where it is infinite, and leaves no timer behind a call that ended", async () => {
    const { seen } = start(Infinity)
    vi.advanceTimersByTime(3_600_000)
    assert.isFalse(seen.late)
    const timers = vi.getTimerCount()
    const call: Effect.Effect<number, string> = Effect.succeed(1)
    assert.strictEqual(await Effect.runPromise(withTimeout(100, call, () => "late")), 1)
    assert.strictEqual(vi.getTimerCount(), timers)
  })

  it("ends a call when its server becomes silent, and begins none while it is", async () => {
    let isSilent = false
    const waiting = new Set<() => void>()
    const silence: SilenceSignal = {
      isSilent: () => isSilent,
      await: (giveUp) => {
        waiting.add(giveUp)
        return () => void waiting.delete(giveUp)
      }
    }
    const { error, seen } = start(1_000, silence)
    isSilent = true
    for (const giveUp of waiting) giveUp()
    assert.deepStrictEqual([await error, waiting.size, seen.interrupted], ["late", 0, true])
    const next = start(1_000, silence)
    assert.deepStrictEqual([await next.error, next.seen.began], ["late", false])
    assert.strictEqual(vi.getTimerCount(), 0)
  })
})
