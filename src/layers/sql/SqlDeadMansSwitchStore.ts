/** Settings of the dead-man's switch, and absences, in SQLite or PostgreSQL. */
import { Effect, Layer, Schema } from "effect"
import { type Migrator, SqlClient, type SqlError } from "effect/sql"
import { DeadMansSwitchStore, type StoredAbsence } from "../../services/trading/DeadMansSwitchStore.ts"
import { SqlBoolean } from "./Dialect.ts"
import { orUnavailable } from "./Unavailable.ts"
import { migrateSwitches } from "./migrations/accounts.ts"

const Row = Schema.Struct({
  sub_account_address: Schema.String,
  enabled: SqlBoolean,
  time_window: Schema.Int
})
const readRows = Schema.decodeUnknownEffect(Schema.Array(Row))
const AbsenceRow = Schema.Struct({
  sub_account_address: Schema.String,
  began_ms: Schema.Int,
  canceled: SqlBoolean
})
const readAbsence = Schema.decodeUnknownEffect(Schema.Array(AbsenceRow))

/** The address in the row of the absence itself. */
const WHOLE = ""

export const layer: Layer.Layer<DeadMansSwitchStore, Migrator.MigrationError | SqlError.SqlError, SqlClient.SqlClient> =
  Layer.effect(
    DeadMansSwitchStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* migrateSwitches
      const put = (user_id: string, row: StoredAbsence["windows"][number]) =>
        sql`INSERT INTO absences ${sql.insert({ user_id, ...row })}
          ON CONFLICT (user_id, sub_account_address)
          DO UPDATE SET began_ms = excluded.began_ms, canceled = excluded.canceled
          WHERE excluded.began_ms >= absences.began_ms OR (absences.canceled AND NOT excluded.canceled)`
      return DeadMansSwitchStore.of({
        of: (user_id) =>
          orUnavailable(
            Effect.map(
              Effect.flatMap(
                sql`SELECT sub_account_address, enabled, time_window FROM switches
                    WHERE user_id = ${user_id} ORDER BY sub_account_address`,
                readRows
              ),
              (rows) => rows.map((row) => ({ ...row, enabled: Boolean(row.enabled) }))
            )
          ),
        set: (user_id, setting) =>
          orUnavailable(
            Effect.asVoid(sql`
              INSERT INTO switches ${sql.insert({ user_id, ...setting })}
              ON CONFLICT (user_id, sub_account_address)
              DO UPDATE SET enabled = excluded.enabled, time_window = excluded.time_window`)
          ),
        users: orUnavailable(
          Effect.map(
            sql<{ readonly user_id: string }>`SELECT DISTINCT user_id FROM switches WHERE enabled = ${true}`,
            (rows) => rows.map(({ user_id }) => user_id)
          )
        ),
        absent: (user_id, began_ms) =>
          orUnavailable(
            sql.withTransaction(
              Effect.andThen(
                sql`DELETE FROM absences WHERE user_id = ${user_id} AND began_ms < ${began_ms}`,
                Effect.asVoid(put(user_id, { sub_account_address: WHOLE, began_ms, canceled: false }))
              )
            )
          ),
        present: (user_id) => orUnavailable(Effect.asVoid(sql`DELETE FROM absences WHERE user_id = ${user_id}`)),
        window: (user_id, window) => orUnavailable(Effect.asVoid(put(user_id, window))),
        absence: (user_id) =>
          orUnavailable(
            Effect.map(
              Effect.flatMap(
                sql`SELECT sub_account_address, began_ms, canceled FROM absences WHERE user_id = ${user_id}`,
                readAbsence
              ),
              (rows) => {
                const whole = rows.find(({ sub_account_address }) => sub_account_address === WHOLE)
                if (whole === undefined) return undefined
                const windows = rows
                  .filter((row) => row !== whole)
                  .map((row) => ({ ...row, canceled: Boolean(row.canceled) }))
                return { began_ms: whole.began_ms, windows }
              }
            )
          )
      })
    })
  )
