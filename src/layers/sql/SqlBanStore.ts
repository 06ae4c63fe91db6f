/** Bans in SQLite or PostgreSQL. */
import { Effect, Layer } from "effect"
import { type Migrator, SqlClient, type SqlError } from "effect/sql"
import { AccountsUnavailable } from "../../services/identity/Accounts.ts"
import { BanStore } from "../../services/identity/BanStore.ts"
import { migrateBans } from "./migrations/users.ts"

interface Row {
  readonly root_address: string
  readonly user_id: string
  /** SQLite returns 0 and 1. */
  readonly banned: boolean | number
  readonly reason: string
  readonly changed_time: number | string
}

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
          ),
        since: (changed_time) =>
          orUnavailable(
            Effect.map(sql<Row>`SELECT * FROM bans WHERE changed_time >= ${changed_time}`, (rows) =>
              rows.map((row) => ({ ...row, banned: Boolean(row.banned), changed_time: Number(row.changed_time) }))
            )
          )
      })
    })
  )
