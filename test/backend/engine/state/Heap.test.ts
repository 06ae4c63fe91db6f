import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import * as Heap from "../../../../src/backend/engine/state/Heap.ts"

describe("Heap", () => {
  it("orders its items by key and tie, whatever is added, moved and removed", () => {
    const change = fc.record({
      item: fc.nat(20),
      key: fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom(Infinity, -Infinity)),
      removes: fc.boolean()
    })
    fc.assert(
      fc.property(fc.array(change, { maxLength: 100 }), (changes) => {
        const heap = Heap.make<number>()
        const naive = new Map<number, number>()
        for (const { item, key, removes } of changes) {
          if (removes) assert.strictEqual(heap.remove(item), naive.delete(item))
          else {
            heap.set(item, key, item)
            naive.set(item, key)
          }
          const sorted = [...naive].sort(([a, one], [b, other]) => (one === other ? a - b : one - other))
          assert.strictEqual(heap.size, naive.size)
          assert.strictEqual(heap.first(), sorted[0]?.[0])
          assert.strictEqual(heap.firstKey(), sorted[0]?.[1])
          assert.deepStrictEqual(
            heap.sorted(),
            sorted.map(([item]) => item)
          )
        }
      })
    )
  })
})
