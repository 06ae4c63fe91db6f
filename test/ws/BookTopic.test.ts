/** Whatever happens to a market, a follower of a depth has the best levels of its book. */
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { Book, checksum } from "../../src/domain/Book.ts"
import type { Depth } from "../../src/domain/Enumerations.ts"
import { LocalBook } from "../../src/client/LocalBook.ts"
import { type Clocks, Flusher, Outbox, type Sink } from "../../src/ws/Outbox.ts"
import type { BookData } from "../../src/ws/api/TopicData.ts"
import { BookTopic, changedLevels } from "../../src/ws/BookTopic.ts"
import type { MarketChange } from "../../src/services/markets/MarketView.ts"
import { FakeMarket, SYMBOL } from "../../verification/harness/WebSocketWorld.ts"

const stillClocks: Clocks = { now: () => 0, monotonic: () => 0 }

const level = (low: number, high: number) =>
  fc.tuple(
    fc.integer({ min: low, max: high }).map((ticks) => String(ticks / 10)),
    fc.integer({ min: 0, max: 3 }).map(String)
  )
/** A change of a book that is never crossed: bids below 10, asks above. */
const change = fc.record({
  bids: fc.array(level(1, 99), { maxLength: 8 }),
  asks: fc.array(level(101, 199), { maxLength: 8 })
})
type Change = typeof change extends fc.Arbitrary<infer A> ? A : never

/** What happens: the market moves, a cadence passes, somebody joins late, the socket is full or drains. */
const step = fc.oneof(
  { weight: 6, arbitrary: change.map((moved) => ({ type: "move" as const, moved })) },
  { weight: 6, arbitrary: fc.constant({ type: "tick" as const }) },
  { weight: 1, arbitrary: fc.constant({ type: "join" as const }) },
  { weight: 2, arbitrary: fc.constant({ type: "full" as const }) },
  { weight: 1, arbitrary: fc.constant({ type: "drain" as const }) }
)

/** A follower behind an outbox that is flushed by hand. */
class Follower {
  readonly book = new LocalBook()
  full = false
  private held = 0
  private resume: (() => void) | undefined
  readonly outbox: Outbox
  constructor() {
    const sink: Sink = {
      deflated: false,
      pending: () => this.held,
      write: (bytes) => {
        if (this.full) this.held += bytes.length
        for (const text of textsOf(bytes)) assert.isUndefined(this.book.take(JSON.parse(text).data), text)
      },
      whenTaken: (callback) => {
        this.resume = callback
      }
    }
    const flusher = new Flusher(stillClocks, (fault) => {
      throw fault
    })
    this.outbox = new Outbox(sink, flusher, { outbound_bytes: 300, outbound_age_ms: 1_000 }, { end: assert.fail })
  }
  drain(): void {
    this.full = false
    this.held = 0
    const { resume } = this
    this.resume = undefined
    resume?.()
    this.outbox.flush()
  }
}

const textsOf = (bytes: Buffer): Array<string> => {
  const found: Array<string> = []
  for (let at = 0; at < bytes.length;) {
    const short = bytes[at + 1]! < 126
    const length = short ? bytes[at + 1]! : bytes.readUInt16BE(at + 2)
    at += short ? 2 : 4
    found.push(bytes.toString("utf8", at, at + length))
    at += length
  }
  return found
}

const play = (steps: ReadonlyArray<Step>, depth: Depth): void => {
  const market = new FakeMarket()
  const topic = new BookTopic(`orderbook.${depth}.${SYMBOL}`, SYMBOL, depth, market.service, () => 0)
  const followers: Array<Follower> = []
  const join = () => {
    const follower = new Follower()
    followers.push(follower)
    topic.members.add(follower.outbox)
    follower.outbox.begin(topic.snapshot(0), topic, 0)
  }
  join()
  for (const one of steps) {
    switch (one.type) {
      case "move":
        market.move(one.moved.bids, one.moved.asks, 2)
        break
      case "tick":
        topic.run(0)
        break
      case "join":
        join()
        break
      case "full":
        followers[0]!.full = true
        break
      case "drain":
        followers[0]!.drain()
        break
    }
    for (const { outbox } of followers) outbox.flush()
  }
  topic.run(0)
  for (const follower of followers) follower.drain()
  for (const { book } of followers) {
    assert.deepStrictEqual(
      [book.bids(), book.asks()],
      [market.book.bids(depth), market.book.asks(depth)],
      `depth ${depth}`
    )
    assert.strictEqual(book.faults, 0)
  }
}
type Step = typeof step extends fc.Arbitrary<infer A> ? A : never

describe("BookTopic", () => {
  it.each([1, 50] as const)("keeps every follower of depth %i at the market's book", (depth) => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 100 }), (steps) => play(steps, depth)),
      { numRuns: 150 }
    )
  })
})

describe("BookTopic, of a book that is read", () => {
  const started = () => {
    const market = new FakeMarket()
    const topic = new BookTopic(`orderbook.50.${SYMBOL}`, SYMBOL, 50, market.service, () => 0)
    const sent: Array<BookData> = []
    const sink: Sink = {
      deflated: false,
      pending: () => 0,
      write: (bytes) => sent.push(...textsOf(bytes).map((text) => JSON.parse(text).data)),
      whenTaken: () => {}
    }
    const limits = { outbound_bytes: 1e6, outbound_age_ms: 1e6 }
    const outbox = new Outbox(sink, new Flusher(stillClocks, assert.isUndefined), limits, { end: assert.fail })
    topic.members.add(outbox)
    const flushed = () => {
      outbox.flush()
      return sent.splice(0)
    }
    const run = () => {
      topic.run(0)
      return flushed()
    }
    return { market, run, flushed, topic }
  }

  it("is sent every 20, 20, 100 or 200 ms, as its depth has it", () => {
    const { service } = new FakeMarket()
    const intervals = ([1, 50, 200, 1000] as const).map(
      (depth) => new BookTopic(`orderbook.${depth}.${SYMBOL}`, SYMBOL, depth, service, () => 0).interval_ms
    )
    assert.deepStrictEqual(intervals, [20, 20, 100, 200])
  })

  it("has the engine's time of the change that it shows", () => {
    const market = new FakeMarket()
    const { book } = market.service
    let mts = 7
    Object.assign(market.service, { book: (...of: Parameters<typeof book>) => ({ ...book(...of)!, mts }) })
    const sent: Array<BookData> = []
    class Shown extends BookTopic {
      protected override send(data: BookData): void {
        sent.push(data)
      }
    }
    const topic = new Shown(`orderbook.50.${SYMBOL}`, SYMBOL, 50, market.service, () => 0)
    const [snapshot] = textsOf(topic.snapshot(99)!.plain)
    assert.deepInclude(JSON.parse(snapshot!).data, { ts: 99, mts: 7 })
    mts = 8
    market.book.apply([["1", "1"]], [], 5)
    topic.run(99)
    assert.deepInclude(sent[0], { type: "delta", ts: 99, mts: 8 })
  })

  it("is one delta for all changes since the last one, without those that were undone", () => {
    const { market, run } = started()
    market.move([["10", "1"]], [["11", "1"]])
    run()
    market.move([["9.5", "1"]], [])
    market.move([["9", "1"]], [])
    market.move([["9", "0"]], [["12", "4"]])
    const [delta, ...more] = run()
    assert.deepStrictEqual(more, [])
    assert.deepInclude(delta, { type: "delta", bids: [["9.5", "1"]], asks: [["12", "4"]], prev_seq: 1, seq: 4 })
    market.move([["9.5", "2"]], [])
    market.move([["9.5", "1"]], [])
    assert.deepStrictEqual(run(), [])
  })

  it("is sent in full at a reset, at once", () => {
    const { market, run, flushed, topic } = started()
    market.move([["10", "1"]], [["11", "1"]])
    run()
    assert.deepStrictEqual(run(), [])
    let change: MarketChange | undefined
    market.service.follow((changes) => (change = changes.at(-1)))
    market.move([["10", "2"]], [])
    assert.strictEqual(topic.take({ ...change!, reset: false }, 0), topic, "a change is sent at its interval")
    assert.isUndefined(topic.take({ ...change!, reset: true }, 0))
    assert.deepStrictEqual(
      flushed().map(({ type }) => type),
      ["snapshot"]
    )
    assert.isUndefined(topic.take({ ...change!, book: undefined, reset: false }, 0), "nothing of the book has changed")
  })

  it("shows no book whose best bid and best ask touch", () => {
    const { market, run, topic } = started()
    market.move([["10", "1"]], [["10", "1"]])
    assert.isUndefined(topic.snapshot(0))
    assert.deepStrictEqual(run(), [])
    market.move(
      [
        ["10", "0"],
        ["9.9", "1"]
      ],
      []
    )
    assert.deepStrictEqual(
      run().map(({ type }) => type),
      ["snapshot"]
    )
  })

  it("sends no delta over a change of the stream: its numbers do not follow one another", () => {
    const { market, run } = started()
    market.move([["10", "1"]], [["11", "1"]])
    assert.deepStrictEqual(
      run().map(({ type }) => type),
      ["snapshot"]
    )
    market.move([["10", "2"]], [])
    assert.deepStrictEqual(
      run().map(({ type }) => type),
      ["delta"]
    )
    // the book is numbered anew, and the notice of it has not come yet
    market.stream_id = "b2"
    market.move([["10", "3"]], [])
    assert.deepStrictEqual(
      run().map((data) => [data.type, data.type === "snapshot" && data.stream_id]),
      [["snapshot", "b2"]]
    )
  })
})

describe("changedLevels", () => {
  it("turns one view into the other, and names only what differs", () => {
    fc.assert(
      fc.property(
        fc.array(change, { maxLength: 6 }),
        change,
        fc.integer({ min: 1, max: 12 }),
        (before, last, depth) => {
          const book = new Book()
          const apply = ({ asks, bids }: Change) => book.apply(bids, asks, book.seq + 1)
          for (const each of before) apply(each)
          const old = { bids: book.bids(depth), asks: book.asks(depth) }
          apply(last)
          const now = { bids: book.bids(depth), asks: book.asks(depth) }
          const local = new Book()
          local.reset(old.bids, old.asks, 0)
          const bids = changedLevels(old.bids, now.bids)
          const asks = changedLevels(old.asks, now.asks)
          local.apply(bids, asks, 1)
          assert.deepStrictEqual([local.bids(), local.asks()], [now.bids, now.asks])
          assert.strictEqual(checksum(local.bids(), local.asks()), checksum(now.bids, now.asks))
          const kept = new Map([...old.bids, ...old.asks].map(([price, qty]) => [price, qty]))
          for (const [price, qty] of [...bids, ...asks]) assert.notStrictEqual(kept.get(price), qty)
        }
      )
    )
  })
})
