/** What the ranges of lists say of their indexes, beside the indexes that the migrations make. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { executionRange, movementRange, orderRange } from "../../../src/layers/sql/HistoryRanges.ts"
import * as NodeSqlite from "../../../src/layers/sql/NodeSqlite.ts"
import * as SqlHistory from "../../../src/layers/sql/SqlHistory.ts"

const page = { user_id: "u", start_time: undefined, end_time: undefined, limit: 1, after: undefined }
const every = { ...page, symbol: "BTC-USDC", sub_accounts: ["0xa"], side: "Buy" } as const
const orders = { ...every, order_id: undefined, order_link_id: undefined }
const executions = { ...every, exec_type: "Trade" } as const
const movements = { ...page, symbol: undefined, sub_accounts: ["0xa"], within: ["0xb"] }

const ranges = [
  orderRange({ ...orders, statuses: undefined }),
  orderRange({ ...orders, statuses: ["Filled", "New"] }),
  orderRange({ ...orders, statuses: ["New"] }),
  executionRange({ ...executions, order_id: undefined }),
  executionRange({ ...executions, order_id: "o" }),
  movementRange({ ...movements, kind: undefined }),
  movementRange({ ...movements, kind: "transfer" })
]

it.effect("a range covers its filter exactly if its index has every column of the filter", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const { covers = true, filter, index, table } of ranges) {
      const columns = yield* sql.unsafe<{ readonly name: string }>(`PRAGMA index_info(${index})`)
      assert.isNotEmpty(columns, index)
      const filtered = [...String(filter).matchAll(/(\w+) (?:=|IN)/gu)].map(([, name]) => name!)
      assert.isAbove(filtered.length, 1, `${table} by ${index}`)
      const isCovered = filtered.every((name) => columns.some((column) => column.name === name))
      assert.strictEqual(covers, isCovered, `${index}: ${filtered.join()}`)
    }
  }).pipe(
    Effect.provide(
      Layer.provideMerge(SqlHistory.layer, NodeSqlite.layer({ filename: ":memory:", synchronous: "NORMAL" }))
    )
  )
)
