/** The error of an order that violates the rules of its instrument. */
import { assert, describe, it } from "vitest"
import * as OrderRules from "../../../src/domain/OrderRules.ts"
import { rules, violated } from "../../../src/services/trading/InstrumentRules.ts"
import { instrument } from "../../../verification/harness/Records.ts"

describe("InstrumentRules", () => {
  it("has the prices and the quantities of the instrument", () => {
    const { lot_size_filter, price_filter } = instrument()
    assert.deepStrictEqual(rules(instrument()), OrderRules.make({ ...lot_size_filter, ...price_filter }))
  })

  it("prepares the rules of an instrument once, and those of a changed one anew", () => {
    const first = instrument()
    assert.strictEqual(rules(first), rules(first))
    const changed = instrument({ price_filter: { ...first.price_filter, max_price: "70000" } })
    assert.isBelow(rules(changed).maxTicks, rules(first).maxTicks)
  })

  it("states the bounds, the step and the nearest values of a violation", () => {
    const violation = {
      reason: "NotMultipleOfStep",
      field: "qty",
      message: "qty is not a multiple of 0.001",
      min: "0.001",
      max: "100",
      step: "0.001",
      nearest: ["0.001", "0.002"]
    } as const
    const error = violated(violation)
    assert.strictEqual(error.reason, "NotMultipleOfStep")
    const { message, reason: _, ...details } = violation
    assert.deepStrictEqual(error.details, details)
    assert.strictEqual(error.message, `${message}; nearest: 0.001, 0.002`)
  })

  it("has no details that the violation does not have, and prefers the accepted values to its text", () => {
    const error = violated({ reason: "InvalidField", field: "price", message: "not read", accepted: "no price" })
    assert.deepStrictEqual(error.details, { field: "price" })
    assert.strictEqual(error.message, "expected no price")
    assert.strictEqual(violated({ reason: "OutOfRange", field: "qty", message: "too large" }).message, "too large")
  })
})
