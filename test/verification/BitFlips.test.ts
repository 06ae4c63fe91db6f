/** verification/bit-flips, with few bits, and bits whose effect is known. */
import { describe, expect, it } from "@effect/vitest"
import { KINDS, run } from "../../verification/bit-flips/BitFlips.ts"

describe("bit flips", () => {
  it("no inverted bit loses anything without a word", () => {
    const { effects, violations } = run({ flips: 60, seed: 1, commands: 200 })
    expect(violations).toEqual([])
    const total = (effect: string) => KINDS.reduce((sum, kind) => sum + (effects[kind][effect] ?? 0), 0)
    // none of the ways out is idle
    expect(total("refused")).toBeGreaterThan(0)
    expect(total("repaired")).toBeGreaterThan(0)
    expect(total("found by verify")).toBeGreaterThan(0)
  }, 120_000)
})
