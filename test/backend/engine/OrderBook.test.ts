/** `BOOK_OPERATIONS=1000000` runs a longer comparison. */
import { assert, describe, it } from "vitest"
import * as Venue from "../../../bench/matching/Venue.ts"
import * as OrderBook from "../../../src/backend/engine/book/OrderBook.ts"
import * as Slots from "../../../src/backend/engine/book/Slots.ts"
import * as BookChanges from "../../../src/backend/engine/book/TrackedBook.ts"
import { Side } from "../../../src/proto/gateway/v1/types.ts"
import { pick, random } from "../Invariants.ts"
import * as NaiveBook from "../NaiveBook.ts"

const OPERATIONS = Number(process.env["BOOK_OPERATIONS"] ?? 30_000)
const MILLIS = 60_000 + OPERATIONS
const BUY = Side.SIDE_BUY
const SELL = Side.SIDE_SELL
/** Maximum number of resting orders, so that the naive book stays fast enough and slots are reused often. */
const RESTING_MAX = 300

describe("the order book", () => {
  it.each([
    { name: "at a few prices", middle: 1_000, spread: 12 },
    { name: "over several pages", middle: 100_000, spread: 900 },
    { name: "over all prices that there are", middle: 2 ** 40, spread: 2 ** 40 - 1 }
  ])(
    `is the naive book's equal over ${OPERATIONS} random operations $name`,
    { timeout: MILLIS },
    ({ middle, spread }) => {
      const next = random(spread)
      const fast = Venue.make(OrderBook.make(), Slots.make(), OPERATIONS)
      const slow = Venue.make(NaiveBook.make(), Slots.make(), OPERATIONS)
      const done = { place: 0, take: 0, cancel: 0, stale: 0, kept: 0, lost: 0, fills: 0, selfTrades: 0 }
      fast.onFill(() => void done.fills++)
      fast.onSelfTrade(() => void done.selfTrades++)
      let placed = 0
      let open: Array<number> = []
      const price = () => Math.max(1, Math.round(middle + spread * (next() - 0.5) * next() * 2))
      const both = <A>(act: (venue: Venue.Venue) => A): A => {
        const [one, other] = [act(fast), act(slow)]
        assert.strictEqual(one, other)
        return one
      }
      for (let i = 0; i < OPERATIONS; i++) {
        if (i % 64 === 0) open = open.filter((number) => fast.isOpen(number))
        const dice = next()
        const side = next() < 0.5 ? BUY : SELL
        const user = Math.floor(next() * 6)
        const smp = pick(next, Object.values(Venue.Smp))
        const lots = 1 + Math.floor(next() * 50)
        const ticks = price()
        // any earlier order, or a recently open one
        const number = next() < 0.1 || open.length === 0 ? Math.ceil(next() * placed) : pick(next, open)
        if (dice < 0.5 && open.length < RESTING_MAX) {
          placed = both((venue) => venue.place(user, side, ticks, lots, smp))
          open.push(placed)
          done.place++
        } else if (dice < 0.6) {
          both((venue) => venue.take(user, side, ticks, lots * 4, smp))
          done.take++
        } else if (dice < 0.85) {
          if (both((venue) => venue.cancel(number))) done.cancel++
          else done.stale++
        } else {
          const keeps = next() < 0.5
          if (both((venue) => venue.amend(number, keeps ? 0 : ticks, keeps ? 1 : lots, smp)))
            done[keeps ? "kept" : "lost"]++
          else done.stale++
        }
        assert.strictEqual(fast.fingerprint(), slow.fingerprint(), `operation ${i}`)
        if (i % 16 === 0) assert.strictEqual(fast.stateHash(), slow.stateHash(), `operation ${i}`)
      }
      assert.strictEqual(fast.stateHash(), slow.stateHash())
      for (const [what, count] of Object.entries(done)) assert.isAbove(count, OPERATIONS / 100, what)
    }
  )
  it("iterates over a side by price and time", () => {
    const book = OrderBook.make()
    for (const [slot, ticks] of [100, 101, 100, 9_999, 101].entries()) book.add(slot, BUY, ticks, slot + 1)
    const walk: Array<number> = []
    for (let slot = book.first(BUY); slot !== OrderBook.NONE; slot = book.after(slot)) walk.push(slot)
    assert.deepStrictEqual(walk, [3, 1, 4, 0, 2])
    assert.deepStrictEqual(OrderBook.levels(book, BUY, 2), [
      { ticks: 9_999, lots: 4 },
      { ticks: 101, lots: 7 }
    ])
    assert.strictEqual(book.first(SELL), OrderBook.NONE)
    assert.strictEqual(book.best(SELL), undefined)
  })

  it("keeps its order when it grows, in orders and in levels", () => {
    const book = OrderBook.make()
    const slots = [
      ...Array.from({ length: 600 }, (_, i) => i),
      5_000,
      ...Array.from({ length: 600 }, (_, i) => 5_001 + i)
    ]
    for (const slot of slots) {
      book.add(slot, BUY, 1_000 + slot, slot + 1)
      book.add(20_000 + slot, BUY, 1_000 + slot, 1)
      book.add(40_000 + slot, SELL, 2 ** 40 + 300 * slot, 2)
    }
    const walk = (side: Side) => {
      const found: Array<number> = []
      for (let slot = book.first(side); slot !== OrderBook.NONE; slot = book.after(slot)) found.push(slot)
      return found
    }
    assert.deepStrictEqual(
      walk(BUY),
      slots.toReversed().flatMap((slot) => [slot, 20_000 + slot])
    )
    assert.deepStrictEqual(
      walk(SELL),
      slots.map((slot) => 40_000 + slot)
    )
    assert.deepStrictEqual(OrderBook.levels(book, BUY, 2), [
      { ticks: 6_600, lots: 5_602 },
      { ticks: 6_599, lots: 5_601 }
    ])
    for (const slot of slots) for (const one of [slot, 20_000 + slot, 40_000 + slot]) book.remove(one)
    assert.deepStrictEqual([book.best(BUY), book.best(SELL), book.first(BUY)], [undefined, undefined, OrderBook.NONE])
  })

  it("can be overridden in some of its methods", () => {
    const book = OrderBook.make()
    const removed: Array<number> = []
    const over = OrderBook.overriding(book, { remove: (slot) => void removed.push(slot) })
    over.add(1, BUY, 100, 5)
    over.reduce(1, 2)
    over.remove(1)
    assert.deepStrictEqual(removed, [1])
    for (const one of [book, over]) {
      assert.deepStrictEqual([one.has(1), one.sideOf(1), one.ticksOf(1), one.lotsOf(1)], [true, BUY, 100, 3])
      assert.deepStrictEqual([one.first(BUY), one.after(1), one.best(BUY)], [1, OrderBook.NONE, 100])
      assert.deepStrictEqual([one.worse(BUY, 101), one.worse(BUY, 100), one.total(BUY, 100)], [100, undefined, 3])
    }
  })

  it("rejects invalid operations", () => {
    const book = OrderBook.make()
    book.add(7, SELL, 100, 5)
    assert.throws(() => book.add(7, SELL, 101, 5), /in the book/)
    assert.throws(() => book.add(8, SELL, 101, 0), /0 lots/)
    assert.throws(() => book.reduce(7, 5), /too many/)
    assert.throws(() => book.remove(8), /not in the book/)
    assert.throws(() => book.lotsOf(100_000), /not in the book/)
    assert.isFalse(book.has(100_000))
    assert.deepStrictEqual(OrderBook.levels(book, SELL, 0), [{ ticks: 100, lots: 5 }])
  })

  it("reports the levels that differ from the last call", () => {
    const book = BookChanges.track(OrderBook.make())
    book.add(0, BUY, 100, 5)
    book.add(1, BUY, 99, 5)
    book.add(2, SELL, 101, 5)
    assert.deepStrictEqual(
      book.takeChanges().map(({ ticks, lots }) => [ticks, lots]),
      [
        [100, 5],
        [99, 5],
        [101, 5]
      ]
    )
    book.reduce(0, 2)
    book.remove(1)
    book.remove(2)
    book.add(3, SELL, 101, 5)
    assert.deepStrictEqual(book.takeChanges(), [
      { side: BUY, ticks: 100, lots: 3 },
      { side: BUY, ticks: 99, lots: 0 }
    ])
    assert.deepStrictEqual(book.takeChanges(), [])
  })
})

describe("slots", () => {
  it("allocate the lowest free slot, so the used slots determine the next one", () => {
    const next = random(3)
    const slots = Slots.make()
    const taken = new Set<number>()
    for (let i = 0; i < 20_000; i++) {
      if (next() < 0.55 || taken.size === 0) {
        let lowest = 0
        while (taken.has(lowest)) lowest++
        assert.strictEqual(slots.take(), lowest)
        taken.add(lowest)
      } else {
        const slot = pick(next, [...taken])
        slots.free(slot)
        taken.delete(slot)
      }
      if (i % 4_000 !== 0) continue
      const again = Slots.make()
      for (const slot of taken) again.takeAt(slot)
      const lowest = again.take()
      assert.strictEqual(lowest, slots.take())
      slots.free(lowest)
    }
  })

  it("have a maximum, and are never allocated or freed twice", () => {
    const slots = Slots.make()
    for (let i = 0; i < Slots.SLOTS_MAX; i++) slots.take()
    assert.throws(() => slots.take(), /all slots are in use/)
    slots.free(Slots.SLOTS_MAX - 1)
    assert.throws(() => slots.free(Slots.SLOTS_MAX - 1), /is free already/)
    assert.throws(() => slots.takeAt(5), /is in use/)
    assert.strictEqual(slots.take(), Slots.SLOTS_MAX - 1)
  })
})
