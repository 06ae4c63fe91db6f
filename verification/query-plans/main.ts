/**
 * The cost of a page of each list, for each filter, in tables of a million rows of which one user owns half:
 * `node verification/query-plans/main.ts [--rows N] [--times N] [--database sqlite|postgresql]`. The cost is the processor
 * time of the event loop's thread; the wait is the time to the answer. Pages have the maximum of 200 rows.
 */
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { join } from "node:path"
import { parseArgs } from "node:util"
import * as NodePostgres from "../../src/layers/sql/NodePostgres.ts"
import * as NodeSqlite from "../../src/layers/sql/NodeSqlite.ts"
import * as SqlHistory from "../../src/layers/sql/SqlHistory.ts"
import * as SqlStores from "../../src/layers/sql/SqlStores.ts"
import { PostgresServer, urlOf } from "../harness/PostgresServer.ts"
import { temporaryFolder } from "../harness/Programs.ts"
import { type Figures, measured } from "./Measure.ts"

/** Highest cost of a page, in ms. */
const COST_MAX = 2

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "1000000" },
    times: { type: "string", default: "40" },
    database: { type: "string" }
  }
})

const ms = (value: number): string => value.toFixed(2).padStart(7)
const print = ({ endpoint, filter, first, last, middle, p99, rows, wait }: Figures): void =>
  console.log(
    `${endpoint.padEnd(36)} ${filter.padEnd(28)} ${ms(first)} ${ms(middle)} ${ms(last)} ${ms(p99)} ${ms(wait)} ${String(rows).padStart(6)}`
  )

const run = Effect.fnUntraced(function* (database: "SQLite" | "PostgreSQL") {
  console.log(
    `\n${database}, ${values.rows} rows; event loop in ms (median of the first, middle, last page; p99); wait; rows`
  )
  const sql = yield* SqlClient.SqlClient
  let expensive = 0
  yield* measured(
    Number(values.rows),
    Number(values.times),
    (table) => sql.unsafe(database === "SQLite" ? `DELETE FROM ${table}` : `TRUNCATE ${table}`),
    (figures) => {
      print(figures)
      if (Math.max(figures.first, figures.middle, figures.last) > COST_MAX) expensive++
    }
  )
  console.log(
    expensive === 0 ? `every page costs less than ${COST_MAX} ms` : `${expensive} pages cost more than ${COST_MAX} ms`
  )
})

const tables = Layer.mergeAll(SqlHistory.layer, SqlStores.layer)
const folder = temporaryFolder("query-plans")
try {
  if (values.database !== "postgresql") {
    const client = NodeSqlite.layer({ filename: join(folder.path, "lists.sqlite"), synchronous: "NORMAL" })
    await Effect.runPromise(run("SQLite").pipe(Effect.provide(Layer.provideMerge(tables, client))))
  }
  if (values.database !== "sqlite") {
    const server = await PostgresServer.start()
    try {
      const client = NodePostgres.layer({ url: Redacted.make(urlOf("public", server.port)), silence_ms: 20_000 })
      await Effect.runPromise(run("PostgreSQL").pipe(Effect.provide(Layer.provideMerge(tables, client))))
    } finally {
      await server.remove()
    }
  }
} finally {
  folder.remove()
}
