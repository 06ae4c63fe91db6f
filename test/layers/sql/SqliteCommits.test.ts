import { existsSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { CommitPort } from "../../../src/layers/sql/CommitPort.ts"
import * as NodeSqlite from "../../../src/layers/sql/NodeSqlite.ts"
import * as SqliteCommits from "../../../src/layers/sql/SqliteCommits.ts"
import { temporaryFolder } from "../../../verification/harness/Programs.ts"

describe("the thread of commits", () => {
  it.effect("ends with its scope, after the commits that it has received", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => temporaryFolder("commits")),
        ({ remove }) => Effect.sync(remove)
      )
      const options = { filename: join(folder.path, "history.sqlite"), synchronous: "NORMAL" } as const
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
      const read = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT number FROM numbers`.values)
      assert.deepStrictEqual(yield* Effect.provide(read, NodeSqlite.layer(options)), [[7]])
    })
  )
})
