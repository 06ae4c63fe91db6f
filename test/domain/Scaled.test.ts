import { assert, describe, it } from "vitest"
import * as Scaled from "../../src/domain/Scaled.ts"
import { random } from "../backend/Invariants.ts"

/** The quotient nearest to the exact fraction in a direction, found by comparing products. */
const isRounded = (quotient: bigint, dividend: bigint, divisor: bigint, rounding: Scaled.Rounding): boolean => {
  const [n, d] = divisor < 0n ? [-dividend, -divisor] : [dividend, divisor]
  const isFloor = quotient * d <= n && n < (quotient + 1n) * d
  const isCeiling = (quotient - 1n) * d < n && n <= quotient * d
  switch (rounding) {
    case "down":
      return isFloor
    case "up":
      return isCeiling
    case "toward-zero":
      return n < 0n ? isCeiling : isFloor
  }
}

const roundings: ReadonlyArray<Scaled.Rounding> = ["toward-zero", "up", "down"]

describe("scaled integers", () => {
  it("divide with each rounding, for each combination of signs", () => {
    const rows = [
      [7n, 2n, 3n, 4n, 3n],
      [-7n, 2n, -3n, -3n, -4n],
      [7n, -2n, -3n, -3n, -4n],
      [-7n, -2n, 3n, 4n, 3n],
      [1n, 3n, 0n, 1n, 0n],
      [-1n, 3n, 0n, 0n, -1n],
      [6n, 3n, 2n, 2n, 2n],
      [-6n, 3n, -2n, -2n, -2n],
      [0n, 5n, 0n, 0n, 0n]
    ] as const
    for (const [dividend, divisor, ...expected] of rows)
      assert.deepStrictEqual(
        roundings.map((rounding) => Scaled.divide(dividend, divisor, rounding)),
        expected,
        `${dividend} / ${divisor}`
      )
  })

  it("round a product, a quotient and a fraction once: the exact value is never further away than one unit", () => {
    const next = random(7)
    const some = (): bigint => {
      const digits = Math.floor(next() * 40)
      const value = BigInt(Math.floor(next() * 1e9)) * 10n ** BigInt(digits) + BigInt(Math.floor(next() * 1e9))
      return next() < 0.5 ? -value : value
    }
    for (let i = 0; i < 3_000; i++) {
      const [a, b, c] = [some(), some() || 1n, some() || 1n]
      for (const rounding of roundings) {
        assert.isTrue(isRounded(Scaled.mul(a, b, rounding), a * b, Scaled.ONE, rounding))
        assert.isTrue(isRounded(Scaled.div(a, b, rounding), a * Scaled.ONE, b, rounding))
        assert.isTrue(isRounded(Scaled.mulDiv(a, b, c, rounding), a * b, c, rounding))
        const stepped = Scaled.toStep(a, b, rounding)
        assert.isTrue(Scaled.isMultipleOf(stepped, b) && isRounded(stepped / b, a, b, rounding))
      }
    }
  })

  it("read decimals of up to 18 places, and print them in the canonical form", () => {
    const texts = {
      "0": "0",
      "-0": "0",
      "0.0": "0",
      "1": "1",
      "10": "10",
      "1.50": "1.5",
      "-1.5": "-1.5",
      "-0.000000000000000001": "-0.000000000000000001",
      "100.000000000000000010": "100.00000000000000001",
      "007.70": "7.7"
    }
    for (const [text, canonical] of Object.entries(texts)) assert.strictEqual(Scaled.canonical(text), canonical, text)
    assert.strictEqual(Scaled.parse("-1.5"), -1_500_000_000_000_000_000n)
    assert.strictEqual(Scaled.parse("0.000000000000000001"), 1n)
    for (const wrong of ["1.", "1.0000000000000000001"]) assert.throws(() => Scaled.parse(wrong), RangeError, wrong)
  })

  it("compare by value", () => {
    const [low, high] = [-2n, 1n]
    assert.deepStrictEqual([Scaled.compare(low, high), Scaled.compare(high, low), Scaled.compare(low, low)], [-1, 1, 0])
    assert.deepStrictEqual([Scaled.min(low, high), Scaled.min(high, low)], [low, low])
    assert.deepStrictEqual([Scaled.max(low, high), Scaled.max(high, low)], [high, high])
    assert.deepStrictEqual([Scaled.abs(low), Scaled.abs(high), Scaled.abs(0n)], [2n, 1n, 0n])
    assert.isTrue(Scaled.isMultipleOf(6n, 3n))
    assert.isFalse(Scaled.isMultipleOf(7n, 3n))
  })
})
