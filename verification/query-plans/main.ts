/**
 * `node verification/query-plans/main.ts [--rows N] [--times N] [--database sqlite|postgresql]`: what a page of each list costs the event loop,
 * for each filter, in tables of a million rows of which one user owns half. The cost is the time that the event loop works; the wait is
 * the time to the answer. Pages have 200 rows, the most that a caller may ask for.
 */
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import * as NodePostgres from "../../src/layers/sql/NodePostgres.ts"
import * as NodeSqlite from "../../src/layers/sql/NodeSqlite.ts"
import * as SqlHistory from "../../src/layers/sql/SqlHistory.ts"
import * as SqlStores from "../../src/layers/sql/SqlStores.ts"
import { PostgresServer, urlOf } from "../harness/PostgresServer.ts"
import { clocks, type Figures, measured } from "./Measure.ts"

/** What a page may cost, in ms. */
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

const run = Effect.fnUntraced(function* (database: keyof typeof clocks) {
  console.log(
    `\n${database}, ${values.rows} rows; event loop in ms (median of the first, middle, last page; p99); wait; rows`
  )
  const sql = yield* SqlClient.SqlClient
  let dear = 0
  yield* measured(
    Number(values.rows),
    Number(values.times),
    clocks[database],
    (table) => sql.unsafe(database === "SQLite" ? `DELETE FROM ${table}` : `TRUNCATE ${table}`),
    (figures) => {
      print(figures)
      if (Math.max(figures.first, figures.middle, figures.last) > COST_MAX) dear++
    }
  )
  console.log(dear === 0 ? `every page costs less than ${COST_MAX} ms` : `${dear} pages cost more than ${COST_MAX} ms`)
})

const tables = Layer.mergeAll(SqlHistory.layer, SqlStores.layer)
const folder = mkdtempSync(join(tmpdir(), "list-plans-"))
try {
  if (values.database !== "postgresql") {
    const client = NodeSqlite.layer({ filename: join(folder, "lists.sqlite"), synchronous: "NORMAL" })
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
  rmSync(folder, { recursive: true, force: true })
}
