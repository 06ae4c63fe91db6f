import { assert, describe, it } from "vitest"
import type { EventBody } from "../../src/domain/Event.ts"
import { transactionsOf } from "../../src/domain/Transaction.ts"
import { body } from "../../verification/harness/Records.ts"

type Balance = Extract<EventBody, { readonly type: "balance" }>
const of = (fields: Partial<Balance>) => {
  const event = body.money("trade", "1000", { balance: { isolated_margin: "50" } }) as Balance
  return transactionsOf("e-7", 5, { ...event, ...fields })
}

describe("the transactions of a balance event", () => {
  it("are the result of a fill and its fee, in this order, each with the balance after it", () => {
    const both = of({ realised_pnl: "20", fee: "3", amount: "17" })
    assert.deepStrictEqual(
      both.map(({ amount, balance_after, id, timestamp }) => [id, amount, balance_after, timestamp]),
      [
        ["e-7-1", "20", "1053", 5],
        ["e-7-2", "-3", "1050", 5]
      ]
    )
    const [one] = of({ realised_pnl: "0", fee: "3", amount: "-3" })
    assert.deepInclude(one, { id: "e-7", amount: "-3", balance_after: "1050" })
  })

  it("name the market, the order and the fill where the event does, each independently", () => {
    const names = ["symbol", "order_id", "exec_id"] as const
    const bare = { fee: "3", amount: "-3", symbol: undefined, order_id: undefined, exec_id: undefined }
    assert.doesNotHaveAnyKeys(of(bare)[0], [...names])
    for (const name of names) {
      const [shown] = of({ ...bare, [name]: "x" })
      assert.deepInclude(shown, { [name]: "x" })
      for (const other of names) if (other !== name) assert.notProperty(shown, other)
    }
  })

  it("are none where no money moved", () => assert.deepStrictEqual(of({ fee: "0", realised_pnl: "0" }), []))
})
