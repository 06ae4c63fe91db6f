/** Bans in SQLite or PostgreSQL. */
import { Effect, Layer } from "effect"
import { type Migrator, SqlClient, type SqlError } from "effect/sql"
import { AccountsUnavailable } from "../../services/identity/Accounts.ts"
import { type Ban, BanStore } from "../../services/identity/BanStore.ts"
import { migrateBans } from "./migrations/users.ts"

interface BanRow {
  readonly root_address: string
  readonly user_id: string
  readonly banned: boolean | number
  readonly reason: string
  readonly changed_time: number | string
}
const banOf = (row: BanRow): Ban => ({
  ...row,
  banned: Boolean(row.banned),
  changed_time: Number(row.changed_time)
})

const orUnavailable = <A>(effect: Effect.Effect<A, SqlError.SqlError>) =>
  Effect.mapError(effect, (cause) => new AccountsUnavailable({ cause }))

export const layer: Layer.Layer<BanStore, Migrator.MigrationError | SqlError.SqlError, SqlClient.SqlClient> =
  Layer.effect(
    BanStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* migrateBans
      return BanStore.of({
        get: (root_address) =>
          orUnavailable(
            Effect.map(
              sql<BanRow>`SELECT * FROM bans WHERE root_address = ${root_address}`,
              ([row]) => row && banOf(row)
            )
          ),
        put: ({ root_address, user_id, banned, reason, changed_time }) =>
          orUnavailable(
            Effect.map(
              sql<BanRow>`
                INSERT INTO bans ${sql.insert({ root_address, user_id, banned, reason, changed_time })}
                ON CONFLICT (root_address) DO UPDATE
                SET banned = excluded.banned, reason = excluded.reason,
                  changed_time = CASE WHEN excluded.changed_time > bans.changed_time
                    THEN excluded.changed_time ELSE bans.changed_time + 1 END
                RETURNING *`,
              ([row]) => banOf(row!)
            )
          )
      })
    })
  )
