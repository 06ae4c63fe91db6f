import { assert, describe, it } from "vitest"
import type { Position } from "../../src/domain/Position.ts"
import { reversal } from "../../page/ReverseDialog.ts"

const long = { sub_account_address: "0xa", symbol: "BTC-USDC", side: "Buy", size: "0.1" } as Position

describe("the order that reverses a position", () => {
  it("has twice its size, on the other side", () => {
    const order = { sub_account_address: "0xa", symbol: "BTC-USDC", order_type: "Market", qty: "0.2" }
    assert.deepStrictEqual(reversal(long, { ...long, mark_price: "60000" }), { ...order, side: "Sell" })
    const short: Position = { ...long, side: "Sell" }
    assert.deepStrictEqual(reversal(short, short), { ...order, side: "Buy" })
  })

  it("is not sent after the position was closed, resized or reversed", () => {
    const changed: ReadonlyArray<Position | undefined> = [
      undefined,
      { ...long, side: "", size: "0" },
      { ...long, size: "0.05" },
      { ...long, side: "Sell" }
    ]
    for (const now of changed) assert.throws(() => reversal(long, now), /not the one that is shown any more/u)
  })
})
