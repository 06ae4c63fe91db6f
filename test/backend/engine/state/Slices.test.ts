import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { drain, sort } from "../../../../src/backend/engine/state/Slices.ts"

describe("Slices.sort", () => {
  it("sorts like Array.prototype.sort, equal items in their order", () => {
    const item = fc.record({ key: fc.integer({ min: 0, max: 50 }), name: fc.nat() })
    fc.assert(
      fc.property(fc.array(item, { maxLength: 3_000, size: "max" }), (items) => {
        const byKey = (a: { readonly key: number }, b: { readonly key: number }) => a.key - b.key
        const before = [...items]
        assert.deepStrictEqual(drain(sort(items, byKey)), items.toSorted(byKey))
        assert.deepStrictEqual(items, before)
      }),
      { numRuns: 30 }
    )
  })

  it("stops while it sorts many items", () => {
    const slices = sort(
      Array.from({ length: 10_000 }, (_, i) => (i * 7_919) % 10_000),
      (a, b) => a - b
    )
    let stops = 0
    while (slices.next().done !== true) stops++
    assert.isAbove(stops, 50)
  })
})
