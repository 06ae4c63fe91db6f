/** Reads of the history beside commits. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Projecting } from "../../../src/domain/Projection.ts"
import { MINUTE_MS } from "../../../src/domain/Time.ts"
import * as HistoryReads from "../../../src/layers/sql/HistoryReads.ts"
import * as NodeSqlite from "../../../src/layers/sql/NodeSqlite.ts"
import * as SqlHistory from "../../../src/layers/sql/SqlHistory.ts"
import * as Tables from "../../../src/layers/sql/Tables.ts"
import { History } from "../../../src/services/History.ts"
import { body, event, START, symbol } from "../../../verification/harness/Records.ts"

const layer = SqlHistory.layer.pipe(
  Layer.provideMerge(NodeSqlite.layer({ filename: ":memory:", synchronous: "NORMAL" }))
)

it.effect("candles have no gap where several close between the statements of a read", () =>
  Effect.gen(function* () {
    const history = yield* History
    const tables = yield* Tables.make
    const projecting = new Projecting({ position: undefined, heads: [], candles: [] })
    const trade = (minute: number) => {
      const timestamp = START + minute * MINUTE_MS
      return event(minute + 1, body.trades({ timestamp, price: String(10 + minute) }), { ts_ms: timestamp })
    }
    yield* history.commit(projecting.next("e1", [trade(0)]))
    let isFirst = true
    const closing = Effect.suspend(() => {
      if (!isFirst) return Effect.void
      isFirst = false
      return history.commit(projecting.next("e1", [1, 2, 3].map(trade)))
    })
    const reads = HistoryReads.make({
      ...tables,
      query: (text, values) => Effect.tap(tables.query(text, values), () => Effect.orDie(closing))
    } as Tables.Tables)
    const minutes = Effect.map(
      reads.candles({ kind: "trade", symbol, interval: "1", start: 0, end: 2 * START, limit: 10 }),
      (candles) => candles.map(({ close, start_time }) => [(start_time - START) / MINUTE_MS, close])
    )
    assert.deepStrictEqual(yield* minutes, [
      [2, "12"],
      [1, "11"],
      [0, "10"]
    ])
    assert.deepStrictEqual(yield* minutes, [
      [3, "13"],
      [2, "12"],
      [1, "11"],
      [0, "10"]
    ])
  }).pipe(Effect.provide(layer))
)

it.effect("the last records leave out rows of a version that stored no record", () =>
  Effect.gen(function* () {
    const history = yield* History
    const sql = yield* SqlClient.SqlClient
    const row = { user_id: "u", topic: "position" as const, sub_account_address: "0x1", seq: 7 }
    const known = { ...row, subject: "BTC-USDC", record: "{}" }
    for (const one of [known, { ...row, subject: "ETH-USDC", record: null }])
      yield* sql`INSERT INTO last_seqs ${sql.insert(one)}`
    assert.deepStrictEqual(yield* history.lastRecords("u", "position"), [known])
    assert.deepStrictEqual(yield* history.lastRecords("u", undefined), [known])
    assert.deepStrictEqual(yield* history.lastRecords("u", "account_balance"), [])
  }).pipe(Effect.provide(Layer.fresh(layer)))
)
