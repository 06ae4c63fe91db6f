import { existsSync } from "node:fs"
import { assert, beforeAll, describe, it } from "vitest"
import { type Message, naiveBook, near, play, readFeed } from "../../verification/replay/Levels.ts"
import { Book } from "../../src/domain/Book.ts"

const file = "../shared/data/bybit-xrpusdt-orderbook-500.ndjson.gz"

describe.skipIf(!existsSync(file))("another exchange's depth feed", () => {
  let messages: ReadonlyArray<Message>
  beforeAll(() => {
    messages = readFeed(file)
  })
  /** The feed applied by the book that gateway and clients keep theirs with. */
  const kept = (some: ReadonlyArray<Message>): Book => {
    const book = new Book()
    for (const { changes, type, update_id } of some) {
      const of = (wanted: string) =>
        changes.filter(({ side }) => side === wanted).map(({ price, qty }) => [price, qty] as const)
      if (type === "snapshot") book.reset(of("Buy"), of("Sell"), update_id)
      else book.apply(of("Buy"), of("Sell"), update_id)
      assert.isFalse(book.crossed())
    }
    return book
  }

  it("is complete, and equals the book of a naive reader: 500 levels a side, always", () => {
    assert.lengthOf(messages, 50)
    for (const [i, { update_id }] of messages.entries()) assert.strictEqual(update_id, messages[0]!.update_id + i)
    for (let count = 1; count <= messages.length; count++) {
      const naive = naiveBook(messages.slice(0, count))
      assert.deepStrictEqual([naive.bids.length, naive.asks.length], [500, 500])
      if (count < messages.length) continue
      const ours = kept(messages)
      assert.deepStrictEqual([ours.bids(), ours.asks()], [naive.bids, naive.asks])
    }
  })

  it("played as one order a level ends in the same book, streamed and read", { timeout: 120_000 }, async () => {
    const some = near(messages, 15)
    const { asks, bids, bookChecks, bookFaults, crossed, requests } = await play({
      messages: some,
      subscribers: 4,
      every: 10
    })
    const ours = kept(some)
    assert.isAtLeast(bids.length + asks.length, 20)
    assert.deepStrictEqual([bids, asks], [ours.bids(), ours.asks()])
    assert.isAtLeast(requests, 300)
    assert.deepStrictEqual([bookChecks, bookFaults, crossed], [4 * 5, 0, 0])
  })
})
