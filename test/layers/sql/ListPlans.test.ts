/** The query plan of every list with every filter, and walks that miss and repeat no row. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient, type SqlError, Statement } from "effect/sql"
import { describe as describeIf } from "vitest"
import { type Asked, type Case, cases } from "../../../verification/query-plans/Pages.ts"
import { fill, type Table, tables } from "../../../verification/query-plans/Fill.ts"
import * as NodeSqlite from "../../../src/layers/sql/NodeSqlite.ts"
import * as SqlHistory from "../../../src/layers/sql/SqlHistory.ts"
import * as SqlStores from "../../../src/layers/sql/SqlStores.ts"
import { SCAN_MAX } from "../../../src/services/History.ts"
import * as Postgres from "../../doubles/Postgres.ts"

/** Half of the rows belong to the user: more than one scan step. */
const ROWS = 5 * SCAN_MAX
const LIMIT = 200
type Asking = readonly [text: string, values: ReadonlyArray<unknown>]

/** Records the reading statements, prepared or not. */
const recording = (client: Layer.Layer<SqlClient.SqlClient, SqlError.SqlError>, read: Array<Asking>) =>
  Layer.effect(
    SqlClient.SqlClient,
    Effect.map(SqlClient.SqlClient, (sql) => {
      const keep = (text: string, values: ReadonlyArray<unknown>) => {
        if (/^\s*SELECT/u.test(text)) read.push([text, values])
      }
      return new Proxy(sql, {
        get: (target, key) =>
          key === "unsafe"
            ? (text: string, values: ReadonlyArray<unknown> = []) => {
                keep(text, values)
                return target.unsafe(text, values)
              }
            : Reflect.get(target, key),
        apply: (target, self, parts: Parameters<SqlClient.SqlClient>) => {
          const made: unknown = Reflect.apply(target, self, parts)
          if (Statement.isFragment(made) && "compile" in made) keep(...(made as Statement.Statement<object>).compile())
          return made
        }
      })
    })
  ).pipe(Layer.provide(client))

/** Runs queries one after the other and checks the plan of every statement. */
const plansOf = Effect.fnUntraced(function* (
  read: Array<Asking>,
  explain: (text: string, values: ReadonlyArray<unknown>) => Effect.Effect<string, unknown, SqlClient.SqlClient>,
  check: (plan: string, of: string) => void
) {
  for (const each of cases) {
    const name = `${each.endpoint} by ${each.filter}`
    for (const after of [undefined, ROWS / 2]) {
      read.length = 0
      yield* each.read({ limit: LIMIT, after })
      const statements = [...read]
      assert.isNotEmpty(statements, name)
      for (const [text, values] of statements) check(yield* Effect.orDie(explain(text, values)), `${name}: ${text}`)
    }
  }
})

/** The numbers of all rows of a list, page by page. */
const walk = Effect.fnUntraced(function* ({ filter, endpoint, read }: Case) {
  const walked: Array<number> = []
  let after: Asked["after"]
  let pages = 0
  do {
    const page = yield* read({ limit: LIMIT, after })
    walked.push(...page.numbers!)
    assert.isAtMost(page.rows, LIMIT)
    after = page.next?.id
    // a page that is not full has reached the limit of scanned entries
    assert.isBelow(pages++, ROWS / LIMIT + ROWS / SCAN_MAX + 1, `${endpoint} by ${filter} ends`)
  } while (after !== undefined)
  return walked
})
const everyRow = (has: (n: number) => boolean): ReadonlyArray<number> => {
  const found: Array<number> = []
  for (let n = ROWS; n > 0; n--) if (has(n)) found.push(n)
  return found
}

const services = Layer.mergeAll(SqlHistory.layer, SqlStores.layer)
const fillAll = Effect.forEach(Object.keys(tables) as ReadonlyArray<Table>, (table) => fill(table, ROWS))

const plans = (
  name: string,
  client: Layer.Layer<SqlClient.SqlClient, SqlError.SqlError>,
  explain: (text: string, values: ReadonlyArray<unknown>) => Effect.Effect<string, unknown, SqlClient.SqlClient>,
  check: (plan: string, of: string) => void
) =>
  it.effect(
    `${name}: every list with any filter reads one range of an index in its order, and reaches its end`,
    () => {
      const read: Array<Asking> = []
      return Effect.gen(function* () {
        yield* fillAll
        yield* plansOf(read, explain, check)
        for (const each of cases) {
          if (each.has === undefined) continue
          assert.deepStrictEqual(yield* walk(each), everyRow(each.has), `${each.endpoint} by ${each.filter}`)
        }
      }).pipe(Effect.provide(Layer.provideMerge(services, recording(client, read))))
    },
    120_000
  )

describe("the query plans of lists", () => {
  plans(
    "SQLite",
    NodeSqlite.layer({ filename: ":memory:", synchronous: "NORMAL" }),
    (text, values) =>
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.map(sql.unsafe<{ readonly detail: string }>(`EXPLAIN QUERY PLAN ${text}`, values), (rows) =>
          rows.map(({ detail }) => detail).join("; ")
        )
      ),
    (plan, of) => {
      // without conditions a list is a whole index, ended by its LIMIT
      assert.match(plan, /^(?:SEARCH|SCAN \w+ USING INDEX \w+_(?:all|by_time)$)/u, of)
      assert.notMatch(plan, /SCAN(?! \w+ USING INDEX \w+_(?:all|by_time)$)|TEMP B-TREE/u, of)
    }
  )
})

const { fresh } = Postgres.throwaway()
describeIf.skipIf(!Postgres.isThere)("the plans of lists", () => {
  plans(
    "PostgreSQL",
    fresh,
    (text, values) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        // the planner may prefer to sort the few rows of a test; the index must make that unnecessary
        for (const way of ["seqscan", "sort", "bitmapscan"]) yield* sql.unsafe(`SET LOCAL enable_${way} = off`)
        const rows = yield* sql.unsafe<{ readonly "QUERY PLAN": string }>(`EXPLAIN ${text}`, values)
        return rows.map((row) => row["QUERY PLAN"]).join("; ")
      }).pipe((explained) => Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(explained))),
    (plan, of) => {
      assert.match(plan, /Index (?:Only )?Scan/u, `${of}\n${plan}`)
      // where the index ends with the time, only rows of one time are sorted
      assert.notMatch(plan, /Seq Scan|(?<!Incremental )Sort (?!Key)/u, `${of}\n${plan}`)
    }
  )
})
