import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as OpenOrders from "../../../src/backend/engine/book/OpenOrders.ts"
import { SLOTS_MAX } from "../../../src/backend/engine/book/Slots.ts"
import * as Ids from "../../../src/backend/engine/state/Ids.ts"
import type { Order } from "../../../src/backend/engine/state/State.ts"
import { OrderStatus, RejectReason } from "../../../src/proto/gateway/v1/types.ts"
import { Bench, BUY, orders as ordersOf, trader } from "../Bench.ts"

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/u
const seed = Ids.seedOf("epoch", "order")
const handles = fc.record({
  at_ms: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
  number: fc.integer({ min: 0, max: 2 ** 40 - 1 }),
  slot: fc.integer({ min: 0, max: SLOTS_MAX - 1 })
})

describe("an id of the engine", () => {
  it("is a UUID of version 7 that encodes counter and slot", () => {
    fc.assert(
      fc.property(handles, ({ at_ms, number, slot }) => {
        const id = Ids.print(seed, at_ms, number, slot)
        assert.match(id, UUID_V7)
        assert.deepStrictEqual(Ids.read(seed, id), { number, slot })
        assert.strictEqual(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16), at_ms)
      }),
      { numRuns: 2_000 }
    )
  })

  it("is rejected if it was not issued: another digit, kind or installation", () => {
    let believed = 0
    const ids = Array.from({ length: 2_000 }, (_, i) => Ids.print(seed, 1_767_225_600_000 + i, i, i % 7))
    for (const [i, id] of ids.entries()) {
      const at = [0, 5, 12, 16, 22, 30, 35][i % 7]!
      const digit = id[at] === "7" ? "8" : "7"
      for (const other of [
        Ids.read(seed, id.slice(0, at) + digit + id.slice(at + 1)),
        Ids.read(Ids.seedOf("epoch", "trade"), id),
        Ids.read(Ids.seedOf("another", "order"), id)
      ])
        if (other !== undefined) believed++
    }
    // a checksum of 12 bits: one in 4096
    assert.isBelow(believed, 12)
  })

  it("does not reveal the number of orders", () => {
    const [a, b] = [Ids.print(seed, 0, 1), Ids.print(seed, 0, 2)]
    const differ = Array.from(a).filter((digit, i) => i > 18 && digit !== b[i]).length
    assert.isAbove(differ, 8)
  })

  it("is refused beyond the last counter value", () => {
    assert.throws(() => Ids.print(seed, 0, 2 ** 40), /the ids are exhausted/)
  })
})

describe("an order's slot", () => {
  it("is limited: an order that would rest beyond the limit is rejected", () => {
    const bench = new Bench()
    const alice = trader("alice")
    bench.tick()
    bench.open(alice, "100000")
    const crowded: { orders: OpenOrders.OpenOrders<Order> } = bench.state
    const { orders } = crowded
    crowded.orders = { ...orders, size: () => bench.state.config.openOrdersMax + 1 }
    const place = (trigger?: string) => {
      const step = bench.place(alice, { side: BUY, qty: "0.01", price: "50000", ...(trigger ? { trigger } : {}) })
      return ordersOf(step).map(({ order_status, reject_reason }) => [order_status, reject_reason])
    }
    const rejected = [OrderStatus.ORDER_STATUS_REJECTED, RejectReason.REJECT_REASON_EC_REACH_MAX_ORDER_NUM]
    assert.deepStrictEqual(place(), [rejected])
    assert.deepStrictEqual(place("55000"), [rejected])
    crowded.orders = orders
    assert.strictEqual(place()[0]![0], OrderStatus.ORDER_STATUS_NEW)
    assert.strictEqual(orders.size(), 1)
  })

  it("is reused, and the old id does not resolve to the new order", () => {
    const bench = new Bench()
    const alice = trader("alice")
    bench.tick()
    bench.open(alice, "100000")
    const place = () => {
      const { outcome } = bench.place(alice, { side: BUY, qty: "0.01", price: "50000" }).result!
      return outcome!.$case === "ack" ? outcome!.value.orders[0]!.order_id : assert.fail()
    }
    const first = place()
    bench.cancel(alice, { id: first })
    const second = place()
    const [one, other] = [Ids.read(bench.state.orderSeed, first)!, Ids.read(bench.state.orderSeed, second)!]
    assert.strictEqual(one.slot, other.slot)
    assert.strictEqual(other.number, one.number + 1)
    const { outcome } = bench.cancel(alice, { id: first }).result!
    assert.strictEqual(outcome!.$case === "status" ? outcome!.value.reason : "", "OrderAlreadyClosed")
    assert.strictEqual(bench.state.orders.size(), 1)
  })
})
