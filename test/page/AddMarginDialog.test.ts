import { assert, describe, it } from "vitest"
import { marginOf } from "../../page/AddMarginDialog.ts"

describe("the amount of the margin dialog", () => {
  it("is negative where it is taken out", () => {
    assert.strictEqual(marginOf("Add", " 12.5 "), "12.5")
    assert.strictEqual(marginOf("Take out", "12.5"), "-12.5")
  })

  it("has no sign, which would turn the direction around", () => {
    for (const way of ["Add", "Take out"] as const)
      assert.throws(() => marginOf(way, "-1"), /^Amount must not be negative$/u)
    assert.throws(() => marginOf("Add", "1,000"), /^Amount must be a number such as 1234\.5, without separators$/u)
    assert.throws(() => marginOf("Add", ""), /^Amount must be a number/u)
  })
})
