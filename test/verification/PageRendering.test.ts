/** The measurement of the market page, a few seconds of it. */
import { assert, describe, it } from "vitest"
import { hasChromium } from "../../verification/harness/Chromium.ts"
import { framesOf, workOf } from "../../verification/page/Frames.ts"
import { bounds, run } from "../../verification/page/Rendering.ts"

describe("frames", () => {
  it("have a rate, a slowest second and late intervals", () => {
    const even = Array.from({ length: 121 }, (_, i) => (i * 1_000) / 60)
    assert.deepInclude(framesOf(even), { count: 121, slowest_s: 60, late: 0 })
    assert.closeTo(framesOf(even).per_s, 60, 1e-9)
    // every second frame of the second second is missing
    const uneven = even.filter((_, i) => i <= 60 || i % 2 === 0)
    const { late, slowest_s } = framesOf(uneven)
    assert.strictEqual(slowest_s, 30)
    assert.closeTo(late, 30 / 90, 1e-9)
  })

  it("have the processor time of the tasks of their thread", () => {
    const event = (name: string, ts: number, tid: number, dur = 0, tdur = dur) => ({
      name,
      ph: "X",
      pid: 1,
      tid,
      ts,
      dur,
      tdur
    })
    const traceEvents = [
      event("FireAnimationFrame", 0, 7),
      event("RunTask", 1_000, 7, 5_000, 4_000),
      event("RunTask", 2_000, 8, 99_000),
      event("FireAnimationFrame", 16_667, 7),
      event("FireAnimationFrame", 17_000, 7),
      event("RunTask", 18_000, 7, 30_000, 20_000),
      event("FireAnimationFrame", 50_000, 7)
    ]
    const work = workOf(Buffer.from(JSON.stringify({ traceEvents })))
    assert.deepStrictEqual(work, { mean_ms: 12, p99_ms: 20, longest_ms: 20, over: 0.5, wall_p99_ms: 30, share: 0.48 })
  })
})

describe.skipIf(!hasChromium)("the market page in a live market", () => {
  it("needs less than the time of a frame on average, and its memory is measured", { timeout: 300_000 }, async () => {
    const outcome = await run({ minutes: 0.05, trades_per_s: 50, trace_s: 2, sample_ms: 500, say: () => {} })
    assert.deepStrictEqual(outcome.faults, [])
    assert.isAbove(outcome.trades_per_s, 0)
    assert.isAbove(outcome.books_per_s, 0)
    for (const { frames, work } of [outcome.first, outcome.last]) {
      assert.isAbove(frames.count, 0)
      // processor time, not wall time: other programs of the machine do not lengthen it
      assert.isBelow(work.mean_ms, 1_000 / 60)
    }
    assert.deepStrictEqual(Object.keys(outcome.slopes), Object.keys(bounds))
    for (const { first } of Object.values(outcome.slopes)) assert.isAbove(first, 0)
  })
})
