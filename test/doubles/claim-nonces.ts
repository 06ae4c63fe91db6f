/** Claims nonces and revokes tokens until it is killed, and prints each to stdout once the stores have confirmed it. */
import { Effect, Layer } from "effect"
import { writeSync } from "node:fs"
import * as NodeSqlite from "../../src/layers/sql/NodeSqlite.ts"
import * as SqlAccounts from "../../src/layers/sql/SqlAccounts.ts"
import * as SqlNonceStore from "../../src/layers/sql/SqlNonceStore.ts"
import { Accounts } from "../../src/services/identity/Accounts.ts"
import { NonceStore } from "../../src/services/identity/NonceStore.ts"

const [filename, synchronous] = process.argv.slice(2) as [string, "FULL" | "NORMAL"]
const owner = new Uint8Array(32).fill(7)

const main = Effect.gen(function* () {
  const store = yield* NonceStore
  const accounts = yield* Accounts
  for (let i = 0; ; i++) {
    const nonce = `nonce-${i}`
    yield* store.claim("login", owner, nonce)
    yield* store.claim("rest", owner, nonce)
    yield* accounts.revokeToken(nonce, Date.now() + 3_600_000)
    writeSync(1, `${nonce}\n`)
    yield* Effect.sleep(2)
  }
}).pipe(
  Effect.provide(
    Layer.mergeAll(SqlNonceStore.layer({ retention: "1 hour" }), SqlAccounts.layer).pipe(
      Layer.provide(NodeSqlite.layer({ filename, synchronous }))
    )
  )
)

await Effect.runPromise(main)
