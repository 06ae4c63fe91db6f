import { assert, describe, it } from "vitest"
import { Batch, queuedFrame } from "../../src/ws/Batch.ts"
import { Frame } from "../../src/ws/Frame.ts"

const [long, short] = [new Frame("a".repeat(2_000)), new Frame("b")]
const [first, second] = [queuedFrame(long, undefined, 1), queuedFrame(short, undefined, 2)]

describe("a batch", () => {
  it("has its frames compressed for sockets that negotiated it, and plain for the others", () => {
    const batch = new Batch().with(first).with(second)
    for (const deflated of [true, false, true, false]) {
      const expected = Buffer.concat([long.bytes(deflated), short.bytes(deflated)])
      assert.isTrue(batch.bytes(deflated).equals(expected), `deflated: ${deflated}`)
    }
    assert.isBelow(long.bytes(true).length, long.bytes(false).length)
  })

  it("joins its frames once for all sockets", () => {
    const batch = new Batch().with(first).with(second)
    for (const deflated of [true, false]) assert.strictEqual(batch.bytes(deflated), batch.bytes(deflated))
  })

  it("is the same for sockets that get the same frames, until it is reset", () => {
    const empty = new Batch()
    const one = empty.with(first)
    assert.strictEqual(empty.with(first), one)
    assert.notStrictEqual(empty.with(second), one)
    assert.strictEqual(one.with(second), one.with(second))
    const before = empty.with(first)
    empty.reset()
    assert.notStrictEqual(empty.with(first), before)
  })

  it("counts its frames, their bytes and what counts against a limit", () => {
    const batch = new Batch().with(first).with({ ...second, weight: 7 })
    assert.deepStrictEqual([batch.count, batch.length, batch.weight], [2, long.length + short.length, long.length + 7])
    assert.deepStrictEqual(batch.frames(), [first, { ...second, weight: 7 }])
    const empty = new Batch()
    assert.deepStrictEqual([empty.count, empty.length, empty.weight, empty.frames()], [0, 0, 0, []])
    assert.lengthOf(empty.bytes(false), 0)
  })
})
