import { assert, describe, it } from "vitest"
import { CommandIds, emptyPortion, hashOf as keyedHashOf, PORTION } from "../../../src/backend/journal/CommandIds.ts"

const HORIZON_MS = 1000
const KEY = "0001020304050607"
const hashOf = (command_id: string) => keyedHashOf(KEY, command_id)

describe("the index of command ids", () => {
  it("hashes as the journals on disk do: the first four bytes of SHA-256 of key and id, little-endian", () => {
    // printf 0001020304050607id-1 | sha256sum
    assert.strictEqual(hashOf("id-1"), 0xf93db154)
    assert.notStrictEqual(keyedHashOf("0001020304050608", "id-1"), hashOf("id-1"))
  })

  it("returns the position of every stored id, and few false candidates", () => {
    const ids = new CommandIds([])
    const count = 3 * PORTION + 77
    for (let position = 1; position <= count; position++) ids.add(position, 0, hashOf(`id-${position}`), HORIZON_MS)
    let found = 0
    for (let position = 1; position <= count; position++)
      if (ids.find(hashOf(`id-${position}`)).includes(position)) found++
    assert.strictEqual(found, count)
    let guesses = 0
    for (let i = 0; i < 100_000; i++) guesses += ids.find(hashOf(`other-${i}`)).length
    // a lookup hits an unrelated word with the same 15 bits about once in 10,000 times
    assert.isBelow(guesses, 100)
  })

  it("returns the last position of a repeated id or hash first, and skips Ticks", () => {
    const ids = new CommandIds([])
    for (const position of [1, 2, PORTION - 1, PORTION, PORTION + 1, 3 * PORTION])
      ids.add(position, 0, position === 2 ? 0 : 4711, HORIZON_MS)
    assert.deepStrictEqual(ids.find(4711), [3 * PORTION, PORTION + 1, PORTION, PORTION - 1, 1])
  })

  it("returns a full portion when the next one begins, and can be rebuilt from it", () => {
    const ids = new CommandIds([])
    for (let position = 1; position < PORTION; position++)
      ids.add(position, position, hashOf(`id-${position}`), PORTION * 2)
    const full = ids.add(PORTION, PORTION, hashOf("next"), PORTION * 2)!
    assert.strictEqual(full.number, 0)
    assert.strictEqual(full.until_ms, PORTION - 1)
    const again = new CommandIds([emptyPortion(1), full])
    assert.deepStrictEqual(again.find(hashOf("id-17")), [17])
  })

  it("drops portions that ended before the horizon", () => {
    const ids = new CommandIds([])
    ids.add(1, 0, 1, HORIZON_MS)
    ids.add(PORTION, HORIZON_MS, 1, HORIZON_MS)
    assert.deepStrictEqual(ids.find(1), [PORTION, 1])
    ids.add(2 * PORTION, HORIZON_MS + 1, 1, HORIZON_MS)
    assert.deepStrictEqual(ids.find(1), [2 * PORTION, PORTION])
  })

  it("hashes with a key: ids that collide with one key are spread with another", () => {
    const PLACES = 256
    const other = "f0e0d0c0b0a09080"
    const place = (key: string, id: string) => keyedHashOf(key, id) % PLACES
    const together: Array<string> = []
    for (let i = 0; together.length < 1000; i++) if (place(KEY, `id-${i}`) === 7) together.push(`id-${i}`)
    // the expected number of non-empty urns for 1,000 balls in 256 urns, with a margin
    assert.isAbove(new Set(together.map((id) => place(other, id))).size, 235)
  })

  it("takes the hash from SHA-256 of key and id, never 0", () => {
    // printf 0001020304050607id-1 | sha256sum
    assert.strictEqual(hashOf("id-1"), 0xf93db154)
    for (let i = 0; i < 10_000; i++) assert.isAbove(hashOf(`id-${i}`), 0)
  })
})
