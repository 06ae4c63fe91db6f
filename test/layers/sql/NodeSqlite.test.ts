import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { vi } from "vitest"
import * as NodeSqlite from "../../../src/layers/sql/NodeSqlite.ts"

describe("NodeSqlite", () => {
  /** As SQLite numbers them. */
  const levels = { FULL: 2, NORMAL: 1 } as const
  for (const synchronous of ["FULL", "NORMAL"] as const) {
    it.effect(`writes ahead, so that readers do not block a commit, with synchronous ${synchronous}`, () =>
      Effect.gen(function* () {
        const folder = yield* Effect.acquireRelease(
          Effect.sync(() => mkdtempSync(join(tmpdir(), "sqlite-"))),
          (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
        )
        const modes = yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          return [yield* sql`PRAGMA journal_mode`.values, yield* sql`PRAGMA synchronous`.values]
        }).pipe(Effect.provide(NodeSqlite.layer({ filename: join(folder, "a.sqlite"), synchronous })))
        assert.deepStrictEqual(modes, [[["wal"]], [[levels[synchronous]]]])
      })
    )
  }

  it.effect("names a file that a statement finds damaged", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "sqlite-"))),
        (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
      )
      const filename = join(folder, "a.sqlite")
      const on = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) =>
        Effect.provide(effect, NodeSqlite.layer({ filename, synchronous: "FULL" }), { local: true })
      yield* on(
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql`CREATE TABLE texts (text TEXT)`
          for (let i = 0; i < 100; i++) yield* sql`INSERT INTO texts VALUES (${"text".repeat(100)})`
        })
      )
      // the first page has the schema
      const bytes = readFileSync(filename)
      writeFileSync(filename, bytes.fill(0x55, 4_096))
      const error = yield* on(Effect.flip(Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT text FROM texts`)))
      assert.include(error.message, `${filename} is damaged: database disk image is malformed; see docs/operations`)
    })
  )

  it.effect("keeps 256 prepared statements, the newest ones", () =>
    Effect.gen(function* () {
      const prepare = yield* Effect.acquireRelease(
        Effect.sync(() => vi.spyOn(DatabaseSync.prototype, "prepare")),
        (spy) => Effect.sync(() => spy.mockRestore())
      )
      const sql = yield* SqlClient.SqlClient
      const run = (number: number) => sql.unsafe(`SELECT ${number}`)
      for (let number = 0; number <= 256; number++) yield* run(number)
      const count = prepare.mock.calls.length
      yield* run(1)
      assert.strictEqual(prepare.mock.calls.length, count)
      yield* run(0)
      assert.strictEqual(prepare.mock.calls.length, count + 1)
    }).pipe(Effect.provide(NodeSqlite.layer({ filename: ":memory:", synchronous: "NORMAL" })))
  )

  it.effect("runs transactions one after the other, and statements beside them too", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE numbers (number INTEGER PRIMARY KEY)`
      const count = Effect.map(sql`SELECT COUNT(*) FROM numbers`.values, ([row]) => Number(row![0]))
      const add = sql.withTransaction(
        Effect.gen(function* () {
          const number = yield* count
          yield* Effect.yieldNow
          yield* sql`INSERT INTO numbers VALUES (${number})`
        })
      )
      yield* Effect.all([add, add, add, count], { concurrency: "unbounded" })
      assert.strictEqual(yield* count, 3)
    }).pipe(Effect.provide(NodeSqlite.layer({ filename: ":memory:", synchronous: "NORMAL" })))
  )
})
