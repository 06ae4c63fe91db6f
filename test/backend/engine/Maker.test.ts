import { assert, describe, it } from "@effect/vitest"
import * as Engine from "../../../src/backend/engine/Engine.ts"
import * as Reads from "../../../src/backend/engine/Reads.ts"
import { MAKER_USER } from "../../../src/backend/engine/referee/Maker.ts"
import * as Decimal from "../../../src/domain/Decimal.ts"
import { Bench, BTC, BUY, orders, SELL, trader } from "../Bench.ts"

describe("the simulated maker", () => {
  it("funds itself and quotes ten levels per side around the index", () => {
    const bench = new Bench({ simMaker: true, indexSource: "simulated" })
    bench.now -= 1000
    bench.tick()
    const book = Reads.orderBook(bench.state, BTC, 0)!
    assert.strictEqual(book.bids.length, 10)
    assert.strictEqual(book.asks.length, 10)
    // index 60061.8: 2 bps away, outward to the tick, 5000 USDC rounded down to the step
    assert.deepStrictEqual(book.bids[0], { price: "60049.7", qty: "0.083" })
    assert.deepStrictEqual(book.asks[0], { price: "60073.9", qty: "0.083" })
    assert.deepStrictEqual(book.bids[9], { price: "59887.6", qty: "0.834" })
    assert.strictEqual(Reads.subAccounts(bench.state, MAKER_USER).length, 1)
    assert.strictEqual(Decimal.format(bench.state.deposits), "10000000")
  })

  it("requotes when the index has moved 1 bp or a level was hit, without self-trades", () => {
    const bench = new Bench({ simMaker: true, indexSource: "simulated" })
    const user = trader("alice")
    bench.tick()
    bench.open(user, "100000")
    const book = () => Reads.orderBook(bench.state, BTC, 0)!
    for (let i = 0; i < 200; i++) {
      bench.tick(i % 7 === 0 ? 61_000 : 1000)
      assert.strictEqual(book().bids.length, 10)
      assert.strictEqual(book().asks.length, 10)
      if (i % 20 === 0) bench.place(user, { side: i % 40 === 0 ? BUY : SELL, qty: "0.1" })
    }
    const best = book().asks[0]!
    bench.index(BTC, "60000")
    bench.tick()
    bench.place(user, { side: BUY, qty: "0.01" })
    assert.notStrictEqual(book().asks[0]!.qty, best.qty)
    bench.tick(100)
    const hit = book().asks[0]!.qty
    bench.tick(1000)
    assert.notStrictEqual(book().asks[0]!.qty, hit)
    assert.strictEqual(book().asks[0]!.price, "60012")
    // one order per level, however often it was requoted
    assert.isBelow(bench.state.orderNumber, 120)
  })

  it("keeps the order of each level when it requotes", () => {
    const bench = new Bench({ simMaker: true, indexSource: "manual" })
    bench.index(BTC, "60000")
    bench.tick()
    /** Orders of a side, best price first. */
    const levels = (side: number) =>
      Reads.openOrders(bench.state, { symbol: BTC })
        .filter((order) => order.side === side)
        .toSorted((a, b) => (side === BUY ? -1 : 1) * (Number(a.price) - Number(b.price)))
    const before = [levels(BUY), levels(SELL)]
    assert.lengthOf(before[0]!, 10)
    for (const index of ["60100", "59900"]) {
      bench.index(BTC, index)
      bench.tick()
      const after = [levels(BUY), levels(SELL)]
      assert.deepStrictEqual(
        after.map((side) => side.map(({ order_id }) => order_id)),
        before.map((side) => side.map(({ order_id }) => order_id))
      )
      assert.notStrictEqual(after[0]![0]!.price, before[0]![0]!.price)
    }
  })

  it("requotes the sell side first where the index is the same", () => {
    const bench = new Bench({ simMaker: true, indexSource: "manual" })
    const user = trader("alice")
    bench.tick()
    bench.open(user, "100000")
    // hits a level of each side
    for (const side of [BUY, SELL]) bench.place(user, { side, qty: "0.01" })
    const requoted = orders(bench.tick()).filter(({ user_id }) => user_id === MAKER_USER)
    assert.deepStrictEqual([...new Set(requoted.map(({ side }) => side))], [SELL, BUY])
  })

  it("quotes a side only while its position is within 2,000,000 if all of that side is filled", () => {
    for (const side of [BUY, SELL]) {
      const bench = new Bench({ simMaker: true, indexSource: "manual" })
      const user = trader("alice")
      bench.open(user, "50000000")
      bench.index(BTC, "60000")
      bench.tick()
      const book = () => Reads.orderBook(bench.state, BTC, 0)!
      const taken = () => (side === BUY ? book().asks : book().bids)
      let fills = 0
      for (; taken().length > 0; fills++) {
        assert.lengthOf(taken(), 10)
        assert.isBelow(fills, 10)
        for (const { qty } of taken()) bench.place(user, { side, qty, price: side === BUY ? "61000" : "59000" })
        bench.tick(1000)
      }
      // a side is worth 275,000
      assert.strictEqual(fills, 7)
      assert.lengthOf(side === BUY ? book().bids : book().asks, 10)
    }
  })

  it("predicts whether a Tick changes anything", () => {
    const bench = new Bench({ simMaker: true, indexSource: "simulated" })
    bench.tick()
    let skipped = 0
    for (let i = 0; i < 40; i++) {
      const at = bench.now + 100
      const matters = Engine.tickMatters(bench.state, at)
      const before = Engine.hash(bench.state)
      bench.tick(100)
      assert.strictEqual(Engine.hash(bench.state) !== before, matters)
      if (!matters) skipped++
    }
    assert.isAbove(skipped, 30)
  })
})
