import { existsSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { CommitPort } from "../../../src/layers/sql/CommitPort.ts"
import * as NodeSqlite from "../../../src/layers/sql/NodeSqlite.ts"
import * as SqliteCommits from "../../../src/layers/sql/SqliteCommits.ts"
import { temporaryFolder } from "../../../verification/harness/Programs.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => temporaryFolder("commits")),
  ({ remove }) => Effect.sync(remove)
)
const commit = (...statements: ReadonlyArray<string>) =>
  Effect.flatMap(CommitPort, (port) =>
    port!.commit(
      ["SELECT 1", []],
      statements.map((text) => [text, []] as const)
    )
  )
const numbers = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT number FROM numbers`.values)

describe("the thread of commits", () => {
  it.effect("undoes a commit that fails, reports why, and takes the next one", () =>
    Effect.gen(function* () {
      const options = { filename: join((yield* folder).path, "history.sqlite"), synchronous: "NORMAL" } as const
      const write = Effect.gen(function* () {
        yield* commit("CREATE TABLE numbers (number INTEGER PRIMARY KEY)")
        const error = yield* Effect.flip(commit("INSERT INTO numbers VALUES (1)", "INSERT INTO numbers VALUES (1)"))
        assert.strictEqual(error.reason._tag, "UniqueViolation")
        assert.isTrue(yield* commit("INSERT INTO numbers VALUES (2)"))
      })
      yield* Effect.provide(write, SqliteCommits.layer(options))
      assert.deepStrictEqual(yield* Effect.provide(numbers, NodeSqlite.layer(options)), [[2]])
    })
  )

  it.effect("fails the commits that it did not answer when it ends, and starts again with the next one", () =>
    Effect.gen(function* () {
      // a thread whose database cannot be opened ends at once
      const directory = join((yield* folder).path, "later")
      const options = { filename: join(directory, "history.sqlite"), synchronous: "NORMAL" } as const
      const write = Effect.gen(function* () {
        const create = commit("CREATE TABLE numbers (number INTEGER)")
        const failed = yield* Effect.all([Effect.flip(create), Effect.flip(create)], { concurrency: "unbounded" })
        assert.lengthOf(failed, 2)
        mkdirSync(directory)
        assert.isTrue(yield* create)
      })
      yield* Effect.provide(write, SqliteCommits.layer(options))
      assert.deepStrictEqual(yield* Effect.provide(numbers, NodeSqlite.layer(options)), [])
    })
  )

  it.effect("ends with its scope, after the commits that it has received", () =>
    Effect.gen(function* () {
      const options = { filename: join((yield* folder).path, "history.sqlite"), synchronous: "NORMAL" } as const
      const write = Effect.gen(function* () {
        const port = yield* CommitPort
        const create = ["CREATE TABLE numbers (number INTEGER)", []] as const
        assert.isTrue(yield* port!.commit(["SELECT 1", []], [create, ["INSERT INTO numbers VALUES (?)", [7]]]))
        assert.isFalse(yield* port!.commit(["SELECT 1 WHERE FALSE", []], [["DELETE FROM numbers", []]]))
        assert.isTrue(existsSync(`${options.filename}-wal`))
      })
      yield* Effect.provide(write, SqliteCommits.layer(options))
      // the last connection to close merges it into the database
      assert.isFalse(existsSync(`${options.filename}-wal`))
      assert.deepStrictEqual(yield* Effect.provide(numbers, NodeSqlite.layer(options)), [[7]])
    })
  )
})
