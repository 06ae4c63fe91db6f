/** Lists that are joined from the texts of their rows are those that the schemas would write. */
import { Arbitrary, Effect, Schema } from "effect"
import { assert, describe, it } from "vitest"
import { Execution } from "../../../src/domain/Execution.ts"
import { Order } from "../../../src/domain/Order.ts"
import { TextRows } from "../../../src/domain/Page.ts"
import * as RecordJson from "../../../src/domain/RecordJson.ts"
import { execution, order } from "../../../verification/harness/Records.ts"
import { type Doubles, gateway } from "../Fixture.ts"

/** What the schema makes of a text, as a text again; fails where the schema refuses it. */
const through = <S extends Schema.Codec<unknown, unknown>>(schema: S) => {
  const decode = Schema.decodeUnknownSync(schema)
  const encode = Schema.encodeUnknownSync(schema)
  return (text: string) => JSON.stringify(encode(decode(JSON.parse(text))))
}

const ROWS = 60
/** Records of any shape that the schema allows. */
const some = <S extends Schema.Codec<unknown, unknown>>(schema: S): ReadonlyArray<S["Type"]> =>
  Effect.runSync(Arbitrary.sampleEffect(Arbitrary.schema(schema), { count: ROWS, seed: 1, maxDiscards: 1_000_000 }))

describe("the text of a row", () => {
  it("is what the schema of an order writes, whatever fields the order has", () => {
    const again = through(Order)
    for (const text of some(Order).map(RecordJson.order)) assert.strictEqual(again(text), text)
  })
  it("is what the schema of an execution writes, whatever fields the execution has", () => {
    const again = through(Execution)
    for (const text of some(Execution).map(RecordJson.execution)) assert.strictEqual(again(text), text)
  })
})

describe("a list of rows that are kept as text", () => {
  const orders = [order({ order_link_id: 'ä-\u2028-"' as never }), order({ order_status: "Filled", version: 3 })]
  const executions = [execution(), execution({ is_maker: true })]
  const next = { time: 5, id: 6 }
  const kept: Doubles = {
    history: {
      orders: () => Effect.succeed(new TextRows(orders.map(RecordJson.order), next)),
      executions: () => Effect.succeed(new TextRows(executions.map(RecordJson.execution), undefined))
    }
  }
  const plain: Doubles = {
    history: {
      orders: () => Effect.succeed({ rows: [orders[1]!, orders[1]!], next }),
      executions: () => Effect.succeed({ rows: executions, next: undefined })
    }
  }
  const answer = async (doubles: Doubles, path: string) => {
    const { dispose, fetch } = gateway(doubles)
    const response = await fetch("GET", path)
    const answered = [response.status, response.headers.get("content-type"), await response.text()] as const
    await dispose()
    return answered
  }

  it("is answered as if its rows had been encoded one by one", async () => {
    const equal: Doubles = {
      history: {
        ...kept.history,
        orders: () => Effect.succeed(new TextRows([orders[1]!, orders[1]!].map(RecordJson.order), next))
      }
    }
    for (const path of ["/api/v1/order/history", "/api/v1/order/realtime", "/api/v1/execution/list"]) {
      const [status, type, text] = await answer(equal, path)
      assert.strictEqual(status, 200)
      assert.deepStrictEqual([status, type, text], [...(await answer(plain, path))], path)
    }
  })
  it("is JSON whatever its texts hold, and may be empty", async () => {
    const [, , text] = await answer(kept, "/api/v1/order/history")
    assert.deepStrictEqual((JSON.parse(text) as { readonly list: unknown }).list, orders)
    const none: Doubles = { history: { orders: () => Effect.succeed(new TextRows([], undefined)) } }
    assert.strictEqual((await answer(none, "/api/v1/order/history"))[2], '{"list":[],"next_page_cursor":""}')
  })
})
