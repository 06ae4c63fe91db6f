/** Bans in SQLite or PostgreSQL. */
import { Effect, Layer } from "effect"
import { type Migrator, SqlClient, type SqlError } from "effect/sql"
import { type Ban, BanStore } from "../../services/identity/BanStore.ts"
import { dialect } from "./Dialect.ts"
import { orUnavailable } from "./Unavailable.ts"
import { migrateBans } from "./migrations/users.ts"

/** SQLite returns BOOLEAN as 0 and 1. */
interface BanRow extends Omit<Ban, "banned"> {
  readonly banned: boolean | number
}

export const layer: Layer.Layer<BanStore, Migrator.MigrationError | SqlError.SqlError, SqlClient.SqlClient> =
  Layer.effect(
    BanStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { changeTime } = yield* dialect
      yield* migrateBans
      return BanStore.of({
        get: (root_address) =>
          orUnavailable(
            Effect.map(
              sql<BanRow>`
                SELECT root_address, user_id, banned, reason, changed_time FROM bans WHERE root_address = ${root_address}`,
              ([row]) => row && { ...row, banned: Boolean(row.banned) }
            )
          ),
        put: (ban) =>
          orUnavailable(
            Effect.map(
              sql<Pick<BanRow, "changed_time">>`
                INSERT INTO bans (root_address, user_id, banned, reason, changed_time)
                VALUES (${ban.root_address}, ${ban.user_id}, ${ban.banned}, ${ban.reason}, ${changeTime(ban.changed_time)})
                ON CONFLICT (root_address) DO UPDATE SET
                  banned = excluded.banned,
                  reason = excluded.reason,
                  changed_time =
                    CASE WHEN bans.changed_time >= excluded.changed_time THEN bans.changed_time + 1 ELSE excluded.changed_time END
                RETURNING changed_time`,
              ([row]) => ({ ...ban, changed_time: row!.changed_time })
            )
          )
      })
    })
  )
