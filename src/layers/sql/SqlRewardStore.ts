/** Rewards in SQLite or PostgreSQL. */
import { Array as Arr, Effect, Layer } from "effect"
import { type Migrator, SqlClient, type SqlError } from "effect/sql"
import * as Decimal from "../../domain/Decimal.ts"
import type { RewardKind, RewardStatus } from "../../domain/Enumerations.ts"
import {
  isOtherStream,
  type NewReward,
  Outpaced,
  type RewardRecord,
  RewardStore
} from "../../services/rewards/RewardStore.ts"
import { unavailable } from "./Unavailable.ts"
import { migrateRewards } from "./migrations/users.ts"

/** Rewards per statement. */
const BATCH_MAX = 50

interface Row {
  readonly reward_id: string
  readonly user_id: string
  readonly kind: RewardKind
  readonly asset: string
  readonly amount: string
  readonly status: RewardStatus
  readonly source_id: string
  readonly created_time: number
  readonly due_time: number
  readonly claimed_time: number | null
  readonly paid_to: string | null
}
const recordOf = (row: Row): RewardRecord => ({
  ...row,
  claimed_time: row.claimed_time ?? undefined,
  paid_to: row.paid_to ?? undefined
})
const rowOf = (reward: NewReward, status: RewardStatus) => ({ ...reward, status, claimed_time: null, paid_to: null })

export const layer: Layer.Layer<RewardStore, Migrator.MigrationError | SqlError.SqlError, SqlClient.SqlClient> =
  Layer.effect(
    RewardStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* migrateRewards

      const counted = (source: RewardKind) =>
        Effect.map(
          sql<{
            readonly counted_to: number
            readonly through: number
            readonly stream: string | null
          }>`SELECT counted_to, through, stream FROM reward_sources WHERE source = ${source}`,
          ([row]) => ({
            to: row?.counted_to ?? 0,
            through: row?.through ?? 0,
            stream: row?.stream ?? undefined
          })
        )
      const amountOf = (reward_id: string) =>
        Effect.map(
          sql<Pick<Row, "amount" | "status">>`SELECT amount, status FROM rewards WHERE reward_id = ${reward_id}`,
          ([row]) => row
        )

      return RewardStore.of({
        get: (user_id, reward_id) =>
          Effect.mapBoth(sql<Row>`SELECT * FROM rewards WHERE reward_id = ${reward_id} AND user_id = ${user_id}`, {
            onSuccess: ([row]) => row && recordOf(row),
            onFailure: unavailable
          }),
        list: ({ user_id, status, limit, after }) =>
          Effect.mapBoth(
            sql<Row>`
              SELECT * FROM rewards WHERE ${sql.and([
                sql`user_id = ${user_id}`,
                ...(status === undefined ? [] : [sql`status = ${status}`]),
                ...(after === undefined
                  ? []
                  : [sql`(created_time, reward_id) < (${after.created_time}, ${after.reward_id})`])
              ])} ORDER BY created_time DESC, reward_id DESC LIMIT ${limit}`,
            { onSuccess: (rows) => rows.map(recordOf), onFailure: unavailable }
          ),
        grant: (rewards) =>
          Effect.mapError(
            Effect.gen(function* () {
              for (const some of Arr.chunksOf(rewards, BATCH_MAX)) {
                const rows = Arr.map(some, (reward) => rowOf(reward, "claimable"))
                yield* sql`INSERT INTO rewards ${sql.insert(rows)} ON CONFLICT DO NOTHING`
              }
            }).pipe(sql.withTransaction),
            unavailable
          ),

        counted: (source) => Effect.mapError(counted(source), unavailable),
        accrue: (source, from, to, additions) =>
          Effect.gen(function* () {
            yield* sql`
              INSERT INTO reward_sources ${sql.insert({ source, counted_to: 0, through: 0 })} ON CONFLICT DO NOTHING`
            const moved = yield* sql`
              UPDATE reward_sources SET counted_to = ${to.to}, through = ${to.through}, stream = ${to.stream ?? null}
              WHERE source = ${source} AND counted_to = ${from.to} AND through = ${from.through}
                AND stream IS NOT DISTINCT FROM ${from.stream ?? null} RETURNING 1`
            if (moved.length === 0) return yield* new Outpaced()
            if (isOtherStream(from, to)) yield* sql`DELETE FROM rewards WHERE status = 'pending' AND kind = ${source}`
            for (const reward of additions) {
              const known = yield* amountOf(reward.reward_id)
              if (known === undefined) {
                yield* sql`INSERT INTO rewards ${sql.insert(rowOf(reward, "pending"))}`
                continue
              }
              const amount = Decimal.format(Decimal.parse(known.amount) + Decimal.parse(reward.amount))
              yield* sql`UPDATE rewards SET amount = ${amount} WHERE reward_id = ${reward.reward_id}`
            }
            yield* sql`
              UPDATE rewards SET status = ${"claimable"} WHERE status = 'pending' AND due_time <= ${to.through}`
          }).pipe(
            sql.withTransaction,
            Effect.catchTag("SqlError", (cause) => Effect.fail(unavailable(cause)))
          ),

        direct: (reward_id, sub_account_address) =>
          Effect.mapError(
            Effect.gen(function* () {
              yield* sql`
                UPDATE rewards SET paid_to = ${sub_account_address} WHERE reward_id = ${reward_id} AND paid_to IS NULL`
              const [row] = yield* sql<{ readonly paid_to: string }>`
                SELECT paid_to FROM rewards WHERE reward_id = ${reward_id}`
              return row!.paid_to
            }).pipe(sql.withTransaction),
            unavailable
          ),
        undirect: (reward_id, sub_account_address) =>
          Effect.mapError(
            Effect.asVoid(sql`
              UPDATE rewards SET paid_to = NULL
              WHERE reward_id = ${reward_id} AND paid_to = ${sub_account_address} AND status <> 'claimed'`),
            unavailable
          ),
        claim: (reward_id, paid_to, claimed_time) =>
          Effect.mapBoth(
            sql`
              UPDATE rewards SET status = ${"claimed"}, paid_to = ${paid_to}, claimed_time = ${claimed_time}
              WHERE reward_id = ${reward_id} AND status = 'claimable' RETURNING 1`,
            { onSuccess: (rows) => rows.length > 0, onFailure: unavailable }
          )
      })
    })
  )
