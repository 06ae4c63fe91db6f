import { assert, describe, it } from "vitest"
import type { Order } from "../../src/domain/Order.ts"
import type { Position } from "../../src/domain/Position.ts"
import { changesOf, referencesOf } from "../../page/ExitsDialog.ts"

const none = { take_profit: "", stop_loss: "" }
const both = { take_profit: "62000", stop_loss: "58000" }
const unset = { take_profit: undefined, stop_loss: undefined }
const byMark = { chosen: "MarkPrice", shown: "MarkPrice" } as const

describe("the exits dialog", () => {
  it("reads the reference prices of the exits that close the whole position", () => {
    const exit = (fields: object) => ({ symbol: "BTC-USDC", ...fields }) as Order
    const orders = [
      exit({ stop_order_type: "PartialStopLoss", trigger: { trigger_by: "LastPrice" } }),
      exit({ stop_order_type: "StopLoss", trigger: { trigger_by: "IndexPrice" } }),
      exit({ stop_order_type: "TakeProfit", trigger: { trigger_by: "LastPrice" }, symbol: "ETH-USDC" })
    ]
    assert.deepStrictEqual(referencesOf(orders, { symbol: "BTC-USDC" } as Position), {
      take_profit: undefined,
      stop_loss: "IndexPrice"
    })
  })

  it("changes a price, and leaves the other exit as it is", () => {
    assert.deepStrictEqual(changesOf(both, both, { take_profit: "MarkPrice", stop_loss: "MarkPrice" }, byMark), {})
    assert.deepStrictEqual(changesOf(none, { ...none, stop_loss: "58000" }, unset, byMark), {
      stop_loss: "58000",
      sl_trigger_by: "MarkPrice"
    })
    assert.deepStrictEqual(
      changesOf(both, { ...both, take_profit: "" }, { ...unset, take_profit: "MarkPrice" }, byMark),
      {
        take_profit: "0",
        tp_trigger_by: "MarkPrice"
      }
    )
    // the dialog shows the reference of the take-profit
    const set = { take_profit: "MarkPrice", stop_loss: "LastPrice" } as const
    assert.deepStrictEqual(changesOf(both, { ...both, stop_loss: "57000" }, set, byMark), {
      stop_loss: "57000",
      sl_trigger_by: "LastPrice"
    })
  })

  it("changes the reference of exits that keep their prices", () => {
    const set = { take_profit: "MarkPrice", stop_loss: "MarkPrice" } as const
    assert.deepStrictEqual(changesOf(both, both, set, { chosen: "LastPrice", shown: "MarkPrice" }), {
      ...both,
      tp_trigger_by: "LastPrice",
      sl_trigger_by: "LastPrice"
    })
    assert.deepStrictEqual(changesOf(none, none, unset, { chosen: "LastPrice", shown: "MarkPrice" }), {})
  })
})
