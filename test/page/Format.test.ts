/** Decimal text as people read it. */
import { assert, describe, it } from "vitest"
import * as Format from "../../page/Format.ts"

describe("figures", () => {
  it("have their thousands apart and exactly the places that are asked for, cut, never rounded", () => {
    assert.strictEqual(Format.grouped("1234567.899", 2), "1,234,567.89")
    assert.strictEqual(Format.grouped("-1234", 2), "-1,234.00")
    assert.strictEqual(Format.grouped("999", 0), "999")
    assert.deepStrictEqual([Format.grouped("-0.004", 2), Format.gain("-0.004")], ["0.00", "0.00"])
    assert.strictEqual(Format.grouped("", 2), "")
    assert.strictEqual(
      Format.grouped("99999999999999999999.000000000000000001", 18),
      "99,999,999,999,999,999,999.000000000000000001"
    )
  })
  it("of gains have a sign, those of nothing none", () => {
    assert.deepStrictEqual(["5", "-5", "0"].map(Format.gain), ["+5.00", "-5.00", "0.00"])
    assert.deepStrictEqual([Format.signed("-0.00275", 4), Format.signed("0.00275", 4)], ["-0.0027", "+0.0027"])
  })
  it("of ratios are percentages", () => {
    assert.strictEqual(Format.percent("0.0123", 2), "1.23 %")
    assert.strictEqual(Format.percent("-0.000125", 4), "-0.0125 %")
  })
  it("of time are short", () => {
    assert.deepStrictEqual([0, 59_999, 3_600_000, -5].map(Format.span), ["00:00", "00:59", "1:00:00", "00:00"])
    assert.deepStrictEqual([900, 12_400].map(Format.age), ["0.9 s", "12 s"])
    assert.deepStrictEqual([-5, 59_999, 60_000, 7_199_999, 172_800_000].map(Format.ago), [
      "0 s ago",
      "59 s ago",
      "1 min ago",
      "1 h ago",
      "2 d ago"
    ])
  })
})
