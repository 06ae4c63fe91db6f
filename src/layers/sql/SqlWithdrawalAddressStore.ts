/** Withdrawal addresses in SQLite or PostgreSQL. */
import { Clock, Effect, Layer } from "effect"
import { type Migrator, SqlClient, type SqlError } from "effect/sql"
import type { WithdrawalAddress } from "../../domain/WithdrawalAddress.ts"
import { TooManyAddresses, WithdrawalAddressStore } from "../../services/trading/WithdrawalAddressStore.ts"
import { dialect } from "./Dialect.ts"
import { orUnavailable, unavailable } from "./Unavailable.ts"
import { migrateWithdrawalAddresses } from "./migrations/withdrawals.ts"

interface RulesRow {
  /** SQLite returns 0 and 1. */
  readonly only_listed: boolean | number
  readonly loosens_time: number | null
}

/** Gateways of an earlier version ignore and delete an attempt that is older than this, in ms. */
const FORMER_ATTEMPT_MS = 10_000

export const layer: Layer.Layer<
  WithdrawalAddressStore,
  Migrator.MigrationError | SqlError.SqlError,
  SqlClient.SqlClient
> = Layer.effect(
  WithdrawalAddressStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { alone, moment } = yield* dialect
    yield* migrateWithdrawalAddresses

    const listOf = (user_id: string) =>
      sql<WithdrawalAddress>`
        SELECT destination, label, created_time, effective_time FROM withdrawal_addresses
        WHERE user_id = ${user_id} ORDER BY created_time, destination`

    return WithdrawalAddressStore.of({
      of: (user_id) =>
        orUnavailable(
          moment(
            Effect.gen(function* () {
              const [row] = yield* sql<RulesRow>`
                SELECT only_listed, loosens_time FROM withdrawal_rules WHERE user_id = ${user_id}`
              return {
                only_listed: Boolean(row?.only_listed),
                loosens_time: row?.loosens_time ?? undefined,
                list: yield* listOf(user_id)
              }
            })
          )
        ),
      add: (user_id, address, max) =>
        Effect.gen(function* () {
          // serializes gateways that add the last allowed address at the same time
          yield* alone(`withdrawal_addresses of ${user_id}`)
          const list = yield* listOf(user_id)
          const listed = list.find(({ destination }) => destination === address.destination)
          if (listed !== undefined) return listed
          if (list.length >= max) return yield* new TooManyAddresses({ max })
          const { created_time, destination, effective_time, label } = address
          yield* sql`
            INSERT INTO withdrawal_addresses ${sql.insert({ user_id, destination, label, created_time, effective_time })}`
          return address
        }).pipe(
          sql.withTransaction,
          Effect.catchTag("SqlError", (cause) => Effect.fail(unavailable(cause)))
        ),
      remove: (user_id, destination) =>
        orUnavailable(
          Effect.map(
            sql`
              DELETE FROM withdrawal_addresses WHERE user_id = ${user_id} AND destination = ${destination}
              RETURNING destination`,
            (rows) => rows.length > 0
          )
        ),
      restrict: (user_id, only_listed, loosens_time) =>
        orUnavailable(
          Effect.asVoid(sql`
            INSERT INTO withdrawal_rules ${sql.insert({ user_id, only_listed, loosens_time: loosens_time ?? null })}
            ON CONFLICT (user_id) DO UPDATE
            SET only_listed = excluded.only_listed, loosens_time = excluded.loosens_time`)
        ),
      begin: (user_id, attempt) =>
        orUnavailable(
          Effect.flatMap(Clock.currentTimeMillis, (now_ms) => {
            const until_ms = now_ms + FORMER_ATTEMPT_MS
            return Effect.asVoid(sql`INSERT INTO withdrawal_attempts ${sql.insert({ user_id, attempt, until_ms })}`)
          })
        ),
      end: (user_id, attempt) =>
        orUnavailable(
          Effect.asVoid(sql`DELETE FROM withdrawal_attempts WHERE user_id = ${user_id} AND attempt = ${attempt}`)
        ),
      open: (user_id) =>
        orUnavailable(
          Effect.map(
            sql<{ readonly attempt: string }>`SELECT attempt FROM withdrawal_attempts WHERE user_id = ${user_id}`,
            (rows) => rows.map(({ attempt }) => attempt)
          )
        )
    })
  })
)
