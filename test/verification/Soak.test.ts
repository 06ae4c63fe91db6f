/** The soak, a few seconds of it: everything that it does is done, and every figure is taken. */
import { assert, describe, it } from "vitest"
import { boundOf, bounds, KEPT_BYTES, run, violations } from "../../verification/soak/Soak.ts"
import { slopeOf } from "../../verification/soak/Slope.ts"

const HOUR_MS = 3_600_000
const samples = (value: (hours: number) => number) =>
  Array.from({ length: 40 }, (_, i) => ({ at_ms: (i * HOUR_MS) / 40, value: value(i / 40) }))

describe("a slope", () => {
  it("is what grows an hour, within its interval", () => {
    const noise = [3, -1, 0, -2, 1, 2, -3]
    const { per_hour, plus_minus } = slopeOf(samples((hours) => 100 + 12 * hours + noise[Math.round(hours * 40) % 7]!))
    assert.isAtMost(Math.abs(per_hour - 12), plus_minus)
    assert.isBelow(plus_minus, 6)
  })
  it("is zero for what is constant", () => {
    const { per_hour, plus_minus } = slopeOf(samples(() => 7))
    assert.isAtMost(Math.abs(per_hour) + plus_minus, 1e-9)
  })
  it("needs three samples", () => {
    assert.throws(() => slopeOf(samples(() => 7).slice(0, 2)), /three samples/u)
  })
})

describe("a soak", () => {
  it("trades, reads, follows and reconnects, and reports how fast it grows", { timeout: 300_000 }, async () => {
    const outcome = await run({ minutes: 0.03, users: 2, sockets: 8, sample_ms: 100, say: () => {} })
    assert.deepStrictEqual(
      [outcome.sockets.refused, outcome.readFaults, outcome.gaps, outcome.unrecovered],
      [0, 0, 0, 0]
    )
    for (const count of [outcome.commands, outcome.reads, outcome.sockets.messages]) assert.isAbove(count, 0)
    assert.deepStrictEqual(Object.keys(outcome.slopes), Object.keys(bounds))
    for (const { first, per_hour } of Object.values(outcome.slopes)) {
      assert.isAbove(first, 0)
      assert.isTrue(Number.isFinite(per_hour))
    }
  })

  it("fails what surely grows above its bound, and nothing else", () => {
    const flat = { per_hour: 0, plus_minus: 1, first: 1, last: 1 }
    const slopes = { main_mib: flat, threads_mib: flat, rss_mib: flat, handles: flat, descriptors: flat }
    const outcome = { slopes, commands: 60, minutes: 1 }
    assert.deepStrictEqual(violations(outcome), [])
    const growing = (per_hour: number, plus_minus: number) =>
      violations({ ...outcome, slopes: { ...slopes, main_mib: { ...flat, per_hour, plus_minus } } })
    assert.deepStrictEqual(growing(bounds.main_mib + 1, 2), [])
    assert.deepStrictEqual(growing(bounds.main_mib + 3, 2), ["main_mib grows by 19.0 ± 2.0 an hour"])
    // of the backend what is kept of each command is no leak
    const kept = (boundOf("threads_mib", outcome) - bounds.threads_mib) * 2 ** 20
    assert.strictEqual(Math.round(kept), 60 * 60 * KEPT_BYTES)
  })
})
