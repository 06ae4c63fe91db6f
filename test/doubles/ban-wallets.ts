/** Bans wallets, prints each once the store has confirmed it, and ends as by a crash. */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { writeSync } from "node:fs"
import * as NodeSqlite from "../../src/layers/sql/NodeSqlite.ts"
import * as SqlBanStore from "../../src/layers/sql/SqlBanStore.ts"
import { BanStore } from "../../src/services/identity/BanStore.ts"

const { filename, count, synchronous } = JSON.parse(process.argv[2]!) as {
  readonly filename: string
  readonly count: number
  readonly synchronous: "FULL" | "NORMAL"
}

await Effect.runPromise(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const bans = yield* BanStore
    // few pages, so that the log moves to the file, and begins again, many times
    yield* sql`PRAGMA wal_autocheckpoint = 20`
    for (let changed_time = 0; changed_time < count; changed_time++) {
      const root_address = `wallet-${changed_time}`
      yield* bans.put({ root_address, user_id: root_address, banned: true, reason: "test", changed_time })
      writeSync(1, `${root_address}\n`)
    }
    process.kill(process.pid, "SIGKILL")
  }).pipe(Effect.provide(SqlBanStore.layer.pipe(Layer.provideMerge(NodeSqlite.layer({ filename, synchronous })))))
)
