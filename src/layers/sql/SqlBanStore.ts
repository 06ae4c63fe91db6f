/** Bans in SQLite or PostgreSQL. */
import { Effect, Layer } from "effect"
import { type Migrator, SqlClient, type SqlError } from "effect/sql"
import { AccountsUnavailable } from "../../services/identity/Accounts.ts"
import { BanStore } from "../../services/identity/BanStore.ts"
import { migrateBans } from "./migrations/users.ts"

const orUnavailable = <A>(effect: Effect.Effect<A, SqlError.SqlError>) =>
  Effect.mapError(effect, (cause) => new AccountsUnavailable({ cause }))

export const layer: Layer.Layer<BanStore, Migrator.MigrationError | SqlError.SqlError, SqlClient.SqlClient> =
  Layer.effect(
    BanStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* migrateBans
      return BanStore.of({
        put: ({ root_address, user_id, banned, reason, changed_time }) =>
          orUnavailable(
            Effect.asVoid(sql`
              INSERT INTO bans ${sql.insert({ root_address, user_id, banned, reason, changed_time })}
              ON CONFLICT (root_address) DO UPDATE
              SET banned = excluded.banned, reason = excluded.reason, changed_time = excluded.changed_time`)
          )
      })
    })
  )
