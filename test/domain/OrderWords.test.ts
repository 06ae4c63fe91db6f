import { assert, describe, it } from "vitest"
import type { Order } from "../../src/domain/Order.ts"
import * as OrderWords from "../../src/domain/OrderWords.ts"
import { order } from "../../verification/harness/Records.ts"

const plain: Partial<Order> = { order_type: "Limit", time_in_force: "GTC", post_only: false, reduce_only: false }
const of = (fields: Partial<Order>) => order({ ...plain, ...fields })
const trigger = { trigger_by: "MarkPrice", trigger_direction: "Up", trigger_price: "61000" } as const

describe("an order in words", () => {
  it("has a kind with its conditions", () => {
    const kinds: ReadonlyArray<readonly [Partial<Order>, string]> = [
      [{}, "Limit"],
      [{ order_type: "Market", time_in_force: "IOC" }, "Market"],
      [{ time_in_force: "IOC" }, "Limit, IOC"],
      [{ post_only: true }, "Limit, post only"],
      [{ reduce_only: true }, "Limit, reduce only"],
      [{ post_only: true, time_in_force: "GTT", reduce_only: true }, "Limit, post only, GTT, reduce only"],
      [{ trigger }, "Conditional Limit"],
      [{ order_type: "Market", trigger, stop_order_type: "Stop" }, "Conditional Market"],
      [{ trigger, stop_order_type: "TakeProfit", reduce_only: true }, "Take profit"],
      [{ trigger, stop_order_type: "PartialStopLoss" }, "Stop loss, part"],
      [{ create_type: "CreateByLiq" }, "Liquidation"],
      [{ create_type: "CreateByTakeOverPassThrough" }, "Liquidation"],
      [{ create_type: "CreateByAdlPassThrough" }, "Auto-deleveraging"]
    ]
    for (const [fields, kind] of kinds) assert.strictEqual(OrderWords.kindOf(of(fields)), kind)
  })

  it("is an exit where it is a take-profit or stop-loss, and closes where it can only reduce", () => {
    assert.deepStrictEqual(
      [undefined, "Stop", "TakeProfit", "PartialStopLoss"].map((stop_order_type) =>
        OrderWords.isExit(order(stop_order_type === undefined ? {} : { stop_order_type: stop_order_type as "Stop" }))
      ),
      [false, false, true, true]
    )
    const closing = (reduce_only: boolean, close_on_trigger: boolean) =>
      OrderWords.isClosing(of({ reduce_only, close_on_trigger }))
    assert.deepStrictEqual([closing(false, false), closing(true, false), closing(false, true)], [false, true, true])
  })

  it("names what it waits for", () => {
    const shown = (fields: Partial<Order>) => OrderWords.triggerOf(of(fields), (text) => `<${text}>`)
    assert.strictEqual(shown({}), "")
    assert.strictEqual(shown({ trigger }), "mark ≥ <61000>")
    assert.strictEqual(
      shown({ trigger: { ...trigger, trigger_by: "IndexPrice", trigger_direction: "Down" } }),
      "index ≤ <61000>"
    )
  })

  it("names why it was canceled; a market order names the side of the book that was empty", () => {
    const reason = (fields: Partial<Order>) => OrderWords.cancelReason(of(fields))
    assert.strictEqual(reason({}), "")
    assert.strictEqual(reason({ cancel_type: "CancelByUser" }), "by you")
    const cancel_type = "CancelByTimeInForce"
    assert.strictEqual(reason({ cancel_type }), "the book had nothing more at its price")
    for (const [side, empty] of [
      ["Buy", "asks"],
      ["Sell", "bids"]
    ] as const)
      assert.strictEqual(
        reason({ cancel_type, order_type: "Market", side }),
        `the book had no more ${empty} within the price band`
      )
    // the book may hold a part of a fill-or-kill order
    assert.strictEqual(reason({ cancel_type, time_in_force: "FOK" }), "the book could not fill all of it")
    // docs/contract/exchange.md#fill-check: no position was closed for its margin
    assert.strictEqual(
      reason({ cancel_type: "CancelByCannotAffordOrderCost" }),
      "the account could not afford the fill"
    )
  })
})
