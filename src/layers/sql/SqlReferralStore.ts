/** Referrals in SQLite or PostgreSQL. */
import { Effect, Layer } from "effect"
import { type Migrator, SqlClient, type SqlError } from "effect/sql"
import { ReferralLoop, ReferralStore, type Referrer, ReferrerSet } from "../../services/rewards/ReferralStore.ts"
import { dialect } from "./Dialect.ts"
import { orUnavailable, unavailable } from "./Unavailable.ts"
import { migrateReferrals } from "./migrations/users.ts"

interface Row {
  readonly user_id: string
  readonly referrer_id: string
  readonly since: number
}
const referrerOf = ({ referrer_id, since }: Row): Referrer => ({ referrer_id, since })

export const layer: Layer.Layer<ReferralStore, Migrator.MigrationError | SqlError.SqlError, SqlClient.SqlClient> =
  Layer.effect(
    ReferralStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { alone } = yield* dialect
      yield* migrateReferrals

      const referrer = (user_id: string) =>
        Effect.map(sql<Row>`SELECT * FROM referrals WHERE user_id = ${user_id}`, ([row]) => row && referrerOf(row))

      return ReferralStore.of({
        referrer: (user_id) => orUnavailable(referrer(user_id)),
        referrers: (user_ids) =>
          user_ids.length === 0
            ? Effect.succeed(new Map())
            : orUnavailable(
                Effect.map(
                  sql<Row>`SELECT * FROM referrals WHERE ${sql.in("user_id", [...user_ids])}`,
                  (rows) => new Map(rows.map((row) => [row.user_id, referrerOf(row)]))
                )
              ),
        refer: (user_id, { referrer_id, since }) =>
          Effect.gen(function* () {
            // one change of the referral chains at a time, over all gateways
            yield* alone("referrals")
            const known = yield* referrer(user_id)
            if (known !== undefined) return yield* new ReferrerSet({ referrer_id: known.referrer_id })
            // walks up from the referrer: a chain that contains the user would become a loop
            const loop = yield* sql`
                WITH RECURSIVE chain (id) AS (
                  SELECT referrer_id FROM referrals WHERE user_id = ${referrer_id}
                  UNION SELECT referrer_id FROM referrals JOIN chain ON user_id = id
                ) SELECT 1 FROM chain WHERE id = ${user_id}`
            if (referrer_id === user_id || loop.length > 0) return yield* new ReferralLoop()
            yield* sql`INSERT INTO referrals ${sql.insert({ user_id, referrer_id, since })}`
          }).pipe(
            sql.withTransaction,
            Effect.catchTag("SqlError", (cause) => Effect.fail(unavailable(cause)))
          ),
        downline: (user_id) =>
          orUnavailable(
            Effect.map(
              sql<{ readonly n: number }>`SELECT COUNT(*) AS n FROM referrals WHERE referrer_id = ${user_id}`,
              ([row]) => row!.n
            )
          )
      })
    })
  )
