import { assert, describe, it } from "vitest"
import { StreamClock } from "../../../src/layers/grpc/StreamClock.ts"
import { random } from "../../../verification/harness/Random.ts"

describe("StreamClock", () => {
  it("is never ahead of the sequencer's clock, with any delay of its readings and rates that differ by 1,000 ppm", () => {
    for (const rate of [0.999, 1, 1.001]) {
      const next = random(7)
      const clock = new StreamClock()
      assert.isFalse(clock.isKnown)
      // the gateway's clock shows `offset` more; the sequencer's counts from the begin of the stream
      const offset = 5_000_000 * next()
      const arrivals: Array<{ readonly at: number; readonly reading: number }> = []
      for (let sent = 0; sent < 600_000; sent += 1_000 * next())
        arrivals.push({ at: sent + 2_000 * next() ** 8, reading: Math.floor(sent * rate) })
      arrivals.sort((a, b) => a.at - b.at)
      for (const { at, reading } of arrivals) {
        clock.observe(reading, offset + at)
        assert.isTrue(clock.isKnown)
        const later = at + 1_000 * next()
        assert.isAtMost(clock.atLeast(offset + later), later * rate)
        assert.isAbove(clock.atLeast(offset + later), later * rate - 2_000)
      }
    }
  })

  it("keeps the reading that was on its way for the shortest time", () => {
    const clock = new StreamClock()
    clock.observe(0, 100)
    clock.observe(10, 610)
    assert.approximately(clock.atLeast(610), 510, 1)
    clock.observe(900, 1_000)
    assert.strictEqual(clock.atLeast(1_000), 900)
  })
})
