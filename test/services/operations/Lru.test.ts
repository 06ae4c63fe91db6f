import { assert, describe, it } from "vitest"
import { Lru } from "../../../src/services/operations/Lru.ts"

describe("a bounded map", () => {
  const filled = () => {
    const map = new Lru<string, number>(3)
    for (const [i, key] of ["a", "b", "c"].entries()) map.set(key, i)
    return map
  }
  const held = (map: Lru<string, number>) => ["a", "b", "c", "d", "e"].filter((key) => map.get(key) !== undefined)

  it("evicts what was set first", () => {
    const map = filled()
    map.set("d", 3)
    assert.deepStrictEqual(held(map), ["b", "c", "d"])
    assert.deepStrictEqual([map.get("a"), map.get("d")], [undefined, 3])
  })

  it("keeps what was read last, however often it is read", () => {
    const map = filled()
    for (const key of ["a", "a", "b", "a"]) assert.isDefined(map.get(key))
    map.set("d", 3)
    map.set("e", 4)
    assert.deepStrictEqual(held(map), ["a", "d", "e"])
  })

  it("keeps what is read after another was set", () => {
    const map = filled()
    assert.isDefined(map.get("a"))
    map.set("b", 7)
    assert.isDefined(map.get("a"))
    map.set("d", 3)
    map.set("e", 4)
    assert.deepStrictEqual(held(map), ["a", "d", "e"])
  })

  it("takes a value that is set again for the newest, and evicts nothing for it", () => {
    const map = filled()
    map.set("b", 7)
    assert.deepStrictEqual(held(map), ["a", "b", "c"])
    const other = filled()
    other.set("a", 7)
    assert.strictEqual(other.get("a"), 7)
    other.set("d", 3)
    assert.deepStrictEqual(held(other), ["a", "c", "d"])
  })

  it("forgets what is deleted, and takes it for the newest when it is set and read again", () => {
    const map = filled()
    map.delete("c")
    assert.deepStrictEqual(held(map), ["a", "b"])
    map.set("c", 2)
    map.set("d", 3)
    assert.deepStrictEqual(held(map), ["b", "c", "d"])
    const other = filled()
    other.delete("c")
    other.set("d", 3)
    assert.deepStrictEqual(held(other), ["a", "b", "d"], "a deleted key leaves room")
  })
})
