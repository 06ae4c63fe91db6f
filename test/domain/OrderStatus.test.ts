import { assert, describe, it } from "@effect/vitest"
import { OrderStatus as Statuses } from "../../src/domain/Enumerations.ts"
import { isFinal } from "../../src/domain/Order.ts"
import * as OrderStatus from "../../src/domain/OrderStatus.ts"
import { rowOf } from "../../src/backend/engine/sequencer/Status.ts"
import { OrderCause } from "../../src/proto/gateway/v1/sequencer.ts"
import { OrderStatus as Wire } from "../../src/proto/gateway/v1/types.ts"

describe("the order's state machine", () => {
  it("leads to all eleven statuses, and out of no final one", () => {
    const reached = new Set(OrderStatus.transitions.map(({ to }) => to))
    assert.deepStrictEqual([...reached].sort(), [...Statuses.literals].sort())
    for (const { from, row } of OrderStatus.transitions)
      assert.isFalse(from !== undefined && isFinal(from), `row ${row} leaves ${from}`)
    for (const status of Statuses.literals)
      assert.strictEqual(
        !isFinal(status),
        OrderStatus.transitions.some(({ from }) => from === status)
      )
  })

  it("has every row of the contract; 10 and 11 are the cancels of row 9 at once after the birth", () => {
    const rows = new Set(OrderStatus.transitions.map(({ row }) => row))
    assert.deepStrictEqual(
      [...rows].sort((a, b) => a - b),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 14, 15, 16, 17, 18, 19]
    )
    assert.strictEqual(OrderStatus.transitionOf("Untriggered", "canceled", "Deactivated")?.row, 15)
    assert.strictEqual(OrderStatus.transitionOf("Filled", "canceled", "Canceled"), undefined)
    assert.match(OrderStatus.diagram(), /^stateDiagram-v2\n {2}\[\*\] --> New: 1 accepted\n/u)
  })

  it("is asserted: what is not in the table throws", () => {
    assert.strictEqual(rowOf(Wire.ORDER_STATUS_NEW, OrderCause.ORDER_CAUSE_FILLED, Wire.ORDER_STATUS_FILLED), 5)
    const wrong = [
      [Wire.ORDER_STATUS_FILLED, OrderCause.ORDER_CAUSE_CANCELED, Wire.ORDER_STATUS_CANCELED],
      [Wire.ORDER_STATUS_NEW, OrderCause.ORDER_CAUSE_CANCELED, Wire.ORDER_STATUS_PARTIALLY_FILLED_CANCELED],
      [Wire.ORDER_STATUS_UNTRIGGERED, OrderCause.ORDER_CAUSE_FILLED, Wire.ORDER_STATUS_FILLED],
      [Wire.ORDER_STATUS_UNSPECIFIED, OrderCause.ORDER_CAUSE_FILLED, Wire.ORDER_STATUS_FILLED]
    ] as const
    for (const [from, cause, to] of wrong) assert.throws(() => rowOf(from, cause, to))
    // as many of all combinations as the table has
    const numbers = <E>(all: Record<string, string | E>) =>
      Object.values(all).filter((value): value is E & number => typeof value === "number" && value >= 0)
    let permitted = 0
    for (const from of numbers(Wire))
      for (const cause of numbers(OrderCause))
        for (const to of numbers(Wire)) {
          try {
            rowOf(from, cause, to)
            permitted++
          } catch {
            // not in the table
          }
        }
    assert.strictEqual(permitted, OrderStatus.transitions.length)
  })
})
