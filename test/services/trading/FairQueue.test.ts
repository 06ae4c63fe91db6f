import { assert, describe, it } from "vitest"
import { FairQueue } from "../../../src/services/trading/FairQueue.ts"

const AGE_MS = 1_000
const all = (queue: FairQueue<string>): ReadonlyArray<string> => {
  const items: Array<string> = []
  for (let item = queue.shift(); item !== undefined; item = queue.shift()) items.push(item)
  return items
}

describe("a fair queue", () => {
  it("serves its owners in turn, each one's items in their order", () => {
    const queue = new FairQueue<string>(16, AGE_MS)
    for (const item of ["a1", "a2", "a3", "b1", "c1", "c2"]) queue.push(item[0]!, item, 0)
    assert.strictEqual(queue.size, 6)
    assert.deepStrictEqual(all(queue), ["a1", "b1", "c1", "a2", "c2", "a3"])
    assert.strictEqual(queue.size, 0)
  })

  it("has room for half of itself for one owner, and for an equal share of each when it is fuller", () => {
    const queue = new FairQueue<string>(16, AGE_MS)
    let ofOne = 0
    for (; queue.hasRoom("a", 0); ofOne++) queue.push("a", "a", 0)
    assert.strictEqual(ofOne, 8)
    for (const owner of ["b", "c", "d"]) assert.isTrue(queue.hasRoom(owner, 0), owner)
    let ofAnother = 0
    for (; queue.hasRoom("b", 0); ofAnother++) queue.push("b", "b", 0)
    assert.strictEqual(ofAnother, 6)
    assert.isFalse(queue.hasRoom("a", 0))
    assert.isTrue(queue.hasRoom("c", 0), "there is room for another one")
    queue.push("c", "c", 0)
    queue.push("d", "d", 0)
    assert.strictEqual(queue.size, 16)
    for (const owner of ["a", "e", undefined]) assert.isFalse(queue.hasRoom(owner, 0))
  })

  it("has room for everyone while less than half of it is taken", () => {
    const queue = new FairQueue<string>(16, AGE_MS)
    for (const item of ["a1", "a2", "a3", "a4", "a5", "a6", "b1"]) queue.push(item[0]!, item, 0)
    // more than an equal share
    assert.isTrue(queue.hasRoom("a", 0))
    queue.push("b", "b2", 0)
    assert.isFalse(queue.hasRoom("a", 0))
  })

  it("has no room for an owner whose oldest item is too old", () => {
    const queue = new FairQueue<string>(16, AGE_MS)
    queue.push("a", "a1", 0)
    queue.push("a", "a2", 900)
    assert.isTrue(queue.hasRoom("a", 1_000))
    assert.isFalse(queue.hasRoom("a", 1_001))
    assert.isTrue(queue.hasRoom("b", 1_001))
    queue.shift()
    assert.isTrue(queue.hasRoom("a", 1_001))
  })

  it("gives up items anywhere in it, once", () => {
    const queue = new FairQueue<string>(16, AGE_MS)
    const [a1, a2, b1] = ["a1", "a2", "b1"].map((item) => queue.push(item[0]!, item, 0))
    queue.push("a", "a3", 0)
    for (const queued of [a2!, a2!, b1!]) queue.remove(queued)
    assert.strictEqual(queue.size, 2)
    assert.deepStrictEqual(all(queue), ["a1", "a3"])
    queue.remove(a1!)
    assert.strictEqual(queue.size, 0)
  })

  it("takes out what has waited for too long", () => {
    const queue = new FairQueue<string>(16, AGE_MS)
    for (const [item, at] of [
      ["a1", 0],
      ["a2", 50],
      ["a3", 100],
      ["b1", 70],
      ["b2", 130]
    ] as const) {
      queue.push(item[0]!, item, at)
    }
    assert.deepStrictEqual(queue.expired(90), ["a1", "a2", "b1"])
    assert.deepStrictEqual(queue.expired(100), [], "not before this time")
    assert.deepStrictEqual(all(queue), ["a3", "b2"])
  })

  it("does not grow with the number of items that passed", () => {
    const queue = new FairQueue<number>(16, AGE_MS)
    queue.push("a", 0, 0)
    for (let i = 1; i < 10_000; i++) {
      queue.push("a", i, 0)
      assert.strictEqual(queue.shift(), i - 1)
    }
    assert.isAtMost(JSON.stringify(queue).length, 20_000)
  })
})
