/** A local book, message by message. */
import { assert, describe, it } from "vitest"
import { type BookFault, LocalBook } from "../../src/client/LocalBook.ts"
import { checksum } from "../../src/domain/Book.ts"
import type { Level } from "../../src/domain/Market.ts"
import type { BookData } from "../../src/ws/api/TopicData.ts"

const at = { symbol: "BTC-USDC", depth: 50, ts: 1, mts: 1 }
const [bids, asks]: [ReadonlyArray<Level>, ReadonlyArray<Level>] = [[["100", "1"]], [["101", "2"]]]
const snapshot = (seq: number, stream_id = "b") =>
  ({ type: "snapshot", ...at, bids, asks, seq, stream_id, checksum: checksum(bids, asks) }) as BookData
/** A change that leaves the levels as they are. */
const delta = (seq: number, prev_seq: number, fields: object = {}) =>
  ({ type: "delta", ...at, bids: [], asks: [], seq, prev_seq, checksum: checksum(bids, asks), ...fields }) as BookData

describe("a local book", () => {
  it("takes a change that follows its seq, and no other one, even where the levels are right", () => {
    for (const [prev_seq, fault] of [
      [5, undefined],
      [4, "gap"],
      [6, "gap"]
    ] as ReadonlyArray<readonly [number, BookFault | undefined]>) {
      const book = new LocalBook()
      assert.isUndefined(book.take(snapshot(5)))
      assert.strictEqual(book.take(delta(9, prev_seq)), fault)
      assert.deepStrictEqual(
        [book.sound, book.seq, book.faults, book.messages],
        fault === undefined ? [true, 9, 0, 2] : [false, 5, 1, 1]
      )
    }
  })

  it("skips changes after a fault and before its first snapshot, and counts them as neither", () => {
    const book = new LocalBook()
    assert.isUndefined(book.take(delta(2, 1)))
    assert.deepStrictEqual([book.sound, book.stream_id, book.messages, book.faults], [false, undefined, 0, 0])
    book.take(snapshot(5))
    assert.strictEqual(book.take(delta(6, 5, { checksum: 7 })), "checksum")
    assert.isUndefined(book.take(delta(7, 6)))
    assert.deepStrictEqual([book.sound, book.faults], [false, 1])
    // the snapshot of another sequence may have a lower seq
    assert.isUndefined(book.take(snapshot(2, "c")))
    assert.deepStrictEqual([book.sound, book.stream_id, book.seq, book.bids(), book.asks()], [true, "c", 2, bids, asks])
  })

  it("finds crossed prices, which a checksum does not", () => {
    const crossing: ReadonlyArray<Level> = [["101.5", "1"]]
    const book = new LocalBook()
    book.take(snapshot(5))
    const sum = checksum([...crossing, ...bids], asks)
    assert.strictEqual(book.take(delta(6, 5, { bids: crossing, checksum: sum })), "crossed")
    assert.isFalse(book.sound)
  })
})
