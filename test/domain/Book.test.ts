import { crc32 as zlibCrc32 } from "node:zlib"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import type { Level } from "../../src/domain/Market.ts"
import { Book, checksum, CHECKSUM_LEVELS, crc32 } from "../../src/domain/Book.ts"

const book = (bids: ReadonlyArray<Level>, asks: ReadonlyArray<Level>, seq = 1): Book => {
  const made = new Book()
  made.reset(bids, asks, seq)
  return made
}
const level = fc.tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 0, max: 3 }))
const changes = fc.array(fc.tuple(fc.boolean(), level), { maxLength: 60 })

describe("a book", () => {
  it("orders prices by value, best first, however they are written", () => {
    const made = book(
      [
        ["9", "1"],
        ["10", "2"],
        ["9.5", "3"]
      ],
      [
        ["100", "1"],
        ["11", "2"]
      ]
    )
    assert.deepStrictEqual(made.bids(), [
      ["10", "2"],
      ["9.5", "3"],
      ["9", "1"]
    ])
    assert.deepStrictEqual(made.asks(1), [["11", "2"]])
    assert.deepStrictEqual(made.bids(0), [])
  })

  it("has the levels of a list that is sorted after each change", () => {
    fc.assert(
      fc.property(changes, (list) => {
        const made = new Book()
        const naive = { bids: new Map<number, string>(), asks: new Map<number, string>() }
        for (const [i, [isBid, [price, total]]] of list.entries()) {
          const change: Level = [String(price), String(total)]
          made.apply(isBid ? [change] : [], isBid ? [] : [change], i)
          const side = isBid ? naive.bids : naive.asks
          if (total === 0) side.delete(price)
          else side.set(price, String(total))
        }
        const sorted = (side: ReadonlyMap<number, string>, sign: 1 | -1) =>
          [...side].sort(([a], [b]) => sign * (a - b)).map(([price, total]): Level => [String(price), total])
        assert.deepStrictEqual(made.bids(), sorted(naive.bids, -1))
        assert.deepStrictEqual(made.asks(), sorted(naive.asks, 1))
        assert.strictEqual(made.seq, Math.max(0, list.length - 1))
      })
    )
  })

  it("is crossed where the best bid is at or above the best ask", () => {
    assert.isFalse(book([["10", "1"]], [["10.1", "1"]]).crossed())
    assert.isTrue(book([["10", "1"]], [["10", "1"]]).crossed())
    assert.isTrue(book([["10.2", "1"]], [["10.1", "1"]]).crossed())
    assert.isFalse(book([["10", "1"]], []).crossed())
    assert.isFalse(book([], [["10", "1"]]).crossed())
  })

  it("has nothing of before its reset", () => {
    const made = book([["10", "1"]], [["11", "1"]])
    made.reset([], [["12", "1"]], 7)
    assert.deepStrictEqual([made.bids(), made.asks(), made.seq], [[], [["12", "1"]], 7])
  })
})

describe("the checksum of a book", () => {
  it("is CRC-32 of ASCII text", () => {
    for (const text of ["", "0", "123456789", "60000.1:0.5:60000.2:1"]) assert.strictEqual(crc32(text), zlibCrc32(text))
  })

  it("covers price and total of the best levels, a bid before an ask, and skips a side that has ended", () => {
    const [bids, asks]: [ReadonlyArray<Level>, ReadonlyArray<Level>] = [
      [
        ["10", "1"],
        ["9", "2"]
      ],
      [["11", "3"]]
    ]
    assert.strictEqual(checksum(bids, asks), zlibCrc32("10:1:11:3:9:2"))
    assert.strictEqual(checksum([], asks), zlibCrc32("11:3"))
    assert.strictEqual(checksum([], []), 0)
  })

  it("covers 25 levels of each side", () => {
    const levels = Array.from({ length: CHECKSUM_LEVELS + 1 }, (_, i): Level => [String(100 + i), "1"])
    const other: Level = ["999", "9"]
    assert.strictEqual(checksum([], levels), checksum([], [...levels.slice(0, CHECKSUM_LEVELS), other]))
    assert.notStrictEqual(checksum([], levels), checksum([], [...levels.slice(0, CHECKSUM_LEVELS - 1), other]))
  })
})
