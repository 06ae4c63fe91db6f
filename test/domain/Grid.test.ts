import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Decimal from "../../src/domain/Decimal.ts"
import * as Grid from "../../src/domain/Grid.ts"

/** What a count is by bigint alone. */
const exactText = (grid: Grid.Grid, count: number) => Decimal.format(BigInt(count) * grid.step)
const exactRead = (grid: Grid.Grid, text: string): number | undefined => {
  const value = Decimal.parse(text)
  const count = Number(value / grid.step)
  return value % grid.step === 0n && Number.isSafeInteger(count) ? count : undefined
}

const steps = fc.oneof(
  fc.constantFrom("0.1", "0.01", "0.00001", "0.25", "0.5", "1", "5", "1000", "0.000000000000000001", "12.5"),
  fc.bigInt({ min: 1n, max: 10n ** 20n }).map(Decimal.format)
)
const counts = fc.oneof(
  fc.integer({ min: -5_000, max: 5_000_000 }),
  fc.integer({ min: -Number.MAX_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }),
  fc.constantFrom(0, 999, 1_000, 999_999, 1_000_000, 2 ** 31 - 1, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER)
)
/** Any accepted text that is not negative, in its canonical form or not. */
const texts = fc
  .tuple(fc.bigInt({ min: 0n, max: 10n ** 20n - 1n }), fc.stringMatching(/^[0-9]{0,18}$/u))
  .map(([whole, fraction]) => (fraction === "" ? `${whole}` : `${whole}.${fraction}`))
const shortTexts = fc
  .tuple(fc.integer({ min: 0, max: 1_000_000 }), fc.stringMatching(/^[0-9]{0,6}$/u))
  .map(([whole, fraction]) => (fraction === "" ? `${whole}` : `${whole}.${fraction}`))

const gridOf = (step: string) => {
  try {
    return Grid.fromText(step)
  } catch {
    return undefined
  }
}

describe("a comparison of decimals", () => {
  it("has an order, and no difference of equal values", () => {
    assert.deepStrictEqual([Decimal.compare(1n, 2n), Decimal.compare(2n, 2n), Decimal.compare(2n, -2n)], [-1, 0, 1])
  })
})

describe("a grid", () => {
  it("prints every count as the exact arithmetic does", () => {
    fc.assert(
      fc.property(steps, counts, (step, count) => {
        const grid = gridOf(step)
        if (grid !== undefined) assert.strictEqual(Grid.text(grid, count), exactText(grid, count))
      }),
      { numRuns: 3_000 }
    )
  })

  it("reads every accepted text as the exact arithmetic does", () => {
    fc.assert(
      fc.property(steps, fc.oneof(texts, shortTexts), (step, text) => {
        const grid = gridOf(step)
        if (grid !== undefined) assert.strictEqual(Grid.read(grid, text), exactRead(grid, text))
      }),
      { numRuns: 5_000 }
    )
  })

  it("reads back what it printed, and canonical text unchanged", () => {
    fc.assert(
      fc.property(steps, fc.nat(Number.MAX_SAFE_INTEGER), (step, count) => {
        const grid = gridOf(step)
        if (grid === undefined) return
        const text = Grid.text(grid, count)
        if (text.replace(/\..*/u, "").length <= 20) assert.strictEqual(Grid.read(grid, text), count)
      }),
      { numRuns: 3_000 }
    )
  })

  it("refuses a step that is not positive", () => {
    for (const step of [0n, -1n]) assert.throws(() => Grid.make(step), /positive/u)
  })

  it("refuses text that is no decimal", () => {
    const grid = Grid.fromText("0.1")
    for (const text of ["a", "1e3", "1.2.3", "1,5", "1.-5"]) assert.throws(() => Grid.read(grid, text))
  })
})
