import { existsSync } from "node:fs"
import { assert, describe, it } from "vitest"
import * as OrderBook from "../../src/backend/engine/book/OrderBook.ts"
import { Side } from "../../src/proto/gateway/v1/types.ts"
import * as NaiveBook from "../backend/NaiveBook.ts"
import { measure, table } from "../../verification/replay/Priority.ts"
import { OPENS_AT, read, type Session } from "../../verification/replay/Session.ts"

/** After so many events the whole book is compared; after each one in the long run. */
const EVERY = process.env["BOOK_OPERATIONS"] === undefined ? 32 : 1
const file = "../shared/data/es-mbo-2023-12-25.csv.gz"

describe.skipIf(!existsSync(file))("the order book beside the recorded session", () => {
  it("fills the orders that the exchange filled, and the record explains the others", () => {
    const report = measure(read(file, OPENS_AT))
    assert.strictEqual(report.fills, 6_229)
    assert.isAtLeast(report.sameOrder / report.fills, 0.98)
    assert.isAtLeast(report.sameFill / report.fills, 0.9)
    const explained = Object.values(report.others).reduce((a, b) => a + b, 0)
    assert.strictEqual(report.sameFill + explained, report.fills)
    assert.strictEqual(report.others.unexplained, 0)
    assert.isAbove(report.resting, 1_000)
  })

  it(`is the naive book's equal, order by order, compared every ${EVERY} events`, { timeout: 600_000 }, () => {
    const fast = OrderBook.make()
    const slow = NaiveBook.make()
    const both = OrderBook.overriding(fast, {
      add: (...order) => (fast.add(...order), slow.add(...order)),
      reduce: (...part) => (fast.reduce(...part), slow.reduce(...part)),
      remove: (slot) => (fast.remove(slot), slow.remove(slot))
    })
    let events = 0
    measure(read(file, OPENS_AT), both, () => {
      if (++events % EVERY !== 0) return
      for (const side of [Side.SIDE_BUY, Side.SIDE_SELL] as const) {
        let slot = fast.first(side)
        for (const { lots, slot: expected, ticks } of slow.orders(side)) {
          if (slot !== expected || fast.ticksOf(slot) !== ticks || fast.lotsOf(slot) !== lots)
            assert.fail(`event ${events}: order ${slot} where ${expected} is due`)
          slot = fast.after(slot)
        }
        assert.strictEqual(slot, OrderBook.NONE, `event ${events}`)
      }
    })
    assert.isAbove(events, 50_000)
  })
})

describe("the comparison with a record", () => {
  const order = (id: string, size: number) => ({ id, side: "Sell", price: "100.25", size }) as const
  const aggress = (hits: ReadonlyArray<{ readonly id: string; readonly size: number }>, size: number) =>
    ({ at: 2n, type: "aggress", id: "t", side: "Buy", price: "100.5", size, hits, rested: false }) as const
  const play = (...steps: Session["steps"]) =>
    measure({ opening: [order("a", 2), order("b", 2), order("c", 2)], steps })

  it("counts a fill of the first order as the same", () => {
    const report = play(aggress([{ id: "a", size: 2 }, { id: "b", size: 1 }], 3)) // prettier-ignore
    assert.deepStrictEqual([report.fills, report.sameOrder, report.sameFill], [2, 2, 2])
  })

  it("names the cause of each other fill, and does not take one for explained that is not", () => {
    const hit = aggress([{ id: "b", size: 2 }], 2)
    assert.strictEqual(play(hit, { at: 2n, type: "cancel", id: "a" }).others.withdrawn, 1)
    assert.strictEqual(play(hit, { at: 3n, type: "cancel", id: "a" }).others.unexplained, 1)
    assert.strictEqual(play(aggress([{ id: "a", size: 4 }], 4)).others.hidden, 1)
    assert.strictEqual(play(aggress([{ id: "b", size: 2 }, { id: "a", size: 2 }], 4)).others.sequence, 2) // prettier-ignore
    assert.match(table(play(hit)), /unexplained \| 1 \| 100\.00 %/u)
  })

  it("moves an order that was increased or replenished behind the others", () => {
    const up = { at: 1n, type: "modify", id: "a", price: "100.25", size: 3 } as const
    const down = { at: 1n, type: "modify", id: "a", price: "100.25", size: 1 } as const
    assert.strictEqual(play(up, aggress([{ id: "b", size: 2 }], 2)).sameFill, 1)
    assert.strictEqual(play(down, aggress([{ id: "a", size: 1 }], 1)).sameFill, 1)
    const anew = { at: 2n, type: "settle", ...order("a", 2) } as const
    const report = play(aggress([{ id: "a", size: 2 }], 2), anew, aggress([{ id: "b", size: 2 }], 2))
    assert.strictEqual(report.sameFill, 2)
  })
})
