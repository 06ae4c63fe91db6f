/** Competitions and their entries in SQLite or PostgreSQL. */
import { Array as Arr, Effect, Layer, Schema } from "effect"
import { type Migrator, SqlClient, type SqlError } from "effect/sql"
import type { CompetitionState } from "../../domain/Competition.ts"
import type { CompetitionStatus, IneligibleReason } from "../../domain/Enumerations.ts"
import { Scoring } from "../../domain/Scoring.ts"
import {
  type CompetitionRecord,
  CompetitionStore,
  type DayUnits,
  type Entry,
  placeOf,
  SlugTaken,
  type Tally
} from "../../services/rewards/CompetitionStore.ts"
import { Outpaced } from "../../services/rewards/RewardStore.ts"
import { unavailable } from "./Unavailable.ts"
import { migrateCompetitions } from "./migrations/users.ts"

/** Entries per statement, reads and writes. */
const BATCH_MAX = 64

interface Row {
  readonly id: string
  readonly slug: string
  readonly title: string
  readonly description_md: string
  readonly start_time_ms: number
  readonly end_time_ms: number
  readonly prize_usdc: number
  readonly symbol: string | null
  readonly scoring: string
  readonly state: CompetitionState
  readonly created_time: number
  readonly finalized_time: number | null
  readonly revision: number
}
interface TallyRow {
  readonly revision: number
  readonly counted_to: number
  readonly stream: string | null
  readonly eligible_total: string
  readonly settling: boolean | number
}
interface EntryRow {
  readonly sub_account_address: string
  readonly user_id: string
  readonly days: string
  readonly last_time: number
  readonly active_days: number
  readonly metric_value: string
  readonly score: string
  readonly ineligible_reason: IneligibleReason | null
  readonly multiplier_bps: number | null
}

const readScoring = Schema.decodeUnknownSync(Schema.fromJsonString(Scoring))
const recordOf = (row: Row): CompetitionRecord => ({
  id: row.id,
  slug: row.slug,
  title: row.title,
  description_md: row.description_md,
  start_time_ms: row.start_time_ms,
  end_time_ms: row.end_time_ms,
  prize_usdc: row.prize_usdc,
  symbol: row.symbol ?? undefined,
  scoring: readScoring(row.scoring),
  state: row.state,
  created_time: row.created_time,
  finalized_time: row.finalized_time ?? undefined,
  revision: row.revision
})
const entryOf = (row: EntryRow): Entry => ({
  sub_account_address: row.sub_account_address,
  user_id: row.user_id,
  days: JSON.parse(row.days) as ReadonlyArray<DayUnits>,
  last_time: row.last_time,
  active_days: row.active_days,
  metric_value: row.metric_value,
  score: row.score,
  ineligible_reason: row.ineligible_reason ?? undefined,
  multiplier_bps: row.multiplier_bps ?? undefined
})

const slugOr = (cause: SqlError.SqlError) =>
  Effect.fail(cause.reason._tag === "UniqueViolation" ? new SlugTaken() : unavailable(cause))

export const layer: Layer.Layer<CompetitionStore, Migrator.MigrationError | SqlError.SqlError, SqlClient.SqlClient> =
  Layer.effect(
    CompetitionStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* migrateCompetitions

      const many = (rows: Effect.Effect<ReadonlyArray<Row>, SqlError.SqlError>) =>
        Effect.mapBoth(rows, { onSuccess: (all) => all.map(recordOf), onFailure: unavailable })
      const entries = (rows: Effect.Effect<ReadonlyArray<EntryRow>, SqlError.SqlError>) =>
        Effect.mapBoth(rows, { onSuccess: (all) => all.map(entryOf), onFailure: unavailable })

      /** The condition of a status, in columns and time. */
      const isStatus = (status: CompetitionStatus, now: number) => {
        const open = sql`state = 'published' AND finalized_time IS NULL`
        switch (status) {
          case "draft":
          case "cancelled":
            return sql`state = ${status}`
          case "scheduled":
            return sql`${open} AND start_time_ms > ${now}`
          case "active":
            return sql`${open} AND start_time_ms <= ${now} AND end_time_ms > ${now}`
          case "ended":
            return sql`${open} AND end_time_ms <= ${now}`
          case "finalized":
            return sql`state = 'published' AND finalized_time IS NOT NULL`
        }
      }
      const rowOf = (id: string, entry: Entry) => ({
        competition_id: id,
        sub_account_address: entry.sub_account_address,
        user_id: entry.user_id,
        days: JSON.stringify(entry.days),
        last_time: entry.last_time,
        active_days: entry.active_days,
        metric_value: entry.metric_value,
        score: entry.score,
        ineligible_reason: entry.ineligible_reason ?? null,
        multiplier_bps: entry.multiplier_bps ?? null,
        place: placeOf(entry) ?? null
      })

      /** Writes a tally if its revision is the next one. */
      const moved = (id: string, { counted_to, eligible_total, revision, stream }: Omit<Tally, "settling">) =>
        Effect.flatMap(
          sql`
            UPDATE competitions SET revision = ${revision}, counted_to = ${counted_to}, stream = ${stream ?? null},
              eligible_total = ${eligible_total}
            WHERE id = ${id} AND revision = ${revision - 1} RETURNING 1`,
          (rows) => (rows.length > 0 ? Effect.void : Effect.fail(new Outpaced()))
        )

      return CompetitionStore.of({
        create: (competition, { counted_to, stream }) =>
          Effect.catch(
            Effect.asVoid(sql`
              INSERT INTO competitions ${sql.insert({
                ...competition,
                symbol: competition.symbol ?? null,
                scoring: JSON.stringify(competition.scoring),
                finalized_time: competition.finalized_time ?? null,
                revision: 0,
                counted_to,
                stream: stream ?? null,
                eligible_total: "0"
              })}`),
            slugOr
          ),
        update: (competition, was, counted) =>
          Effect.flatMap(
            Effect.catch(
              sql`
              UPDATE competitions SET slug = ${competition.slug}, title = ${competition.title},
                description_md = ${competition.description_md}, start_time_ms = ${competition.start_time_ms},
                end_time_ms = ${competition.end_time_ms}, prize_usdc = ${competition.prize_usdc},
                symbol = ${competition.symbol ?? null}, scoring = ${JSON.stringify(competition.scoring)},
                state = ${competition.state} ${
                  counted === undefined
                    ? sql``
                    : sql`, revision = revision + 1, counted_to = ${counted.counted_to}, stream = ${counted.stream ?? null}`
                }
              WHERE id = ${competition.id} AND state = ${was} ${competition.state === was ? sql`` : sql`AND NOT settling`}
                ${counted === undefined ? sql`` : sql`AND revision = ${competition.revision}`}
              RETURNING 1`,
              slugOr
            ),
            (rows) => (rows.length > 0 ? Effect.void : Effect.fail(new Outpaced()))
          ),
        get: (id) => Effect.map(many(sql<Row>`SELECT * FROM competitions WHERE id = ${id}`), ([found]) => found),
        list: ({ status, symbol, now, limit, after }) =>
          many(sql<Row>`
            SELECT * FROM competitions WHERE ${sql.and([
              status === undefined ? sql`state <> 'draft'` : sql`state <> 'draft' AND ${isStatus(status, now)}`,
              ...(symbol === undefined ? [] : [sql`symbol = ${symbol}`]),
              ...(after === undefined ? [] : [sql`(start_time_ms, id) < (${after.start_time_ms}, ${after.id})`])
            ])} ORDER BY start_time_ms DESC, id DESC LIMIT ${limit}`),
        running: (now) =>
          many(sql<Row>`
            SELECT * FROM competitions
            WHERE state = 'published' AND finalized_time IS NULL AND start_time_ms <= ${now} ORDER BY id`),

        tally: (id) =>
          Effect.mapBoth(
            sql<TallyRow>`
              SELECT revision, counted_to, stream, eligible_total, settling FROM competitions WHERE id = ${id}`,
            {
              onSuccess: ([row]) => ({
                revision: row!.revision,
                counted_to: row!.counted_to,
                stream: row!.stream ?? undefined,
                eligible_total: row!.eligible_total,
                settling: Boolean(row!.settling)
              }),
              onFailure: unavailable
            }
          ),
        entries: (id, addresses) =>
          Effect.gen(function* () {
            const found: Array<Entry> = []
            for (const some of Arr.chunksOf(addresses, BATCH_MAX)) {
              const rows = yield* entries(sql<EntryRow>`
                SELECT * FROM competition_entries
                WHERE competition_id = ${id} AND ${sql.in("sub_account_address", some)}`)
              for (const entry of rows) found.push(entry)
            }
            return found
          }),
        entriesOf: (id, user_id) =>
          entries(
            sql<EntryRow>`SELECT * FROM competition_entries WHERE competition_id = ${id} AND user_id = ${user_id}`
          ),
        walk: (id, after, limit) =>
          entries(sql<EntryRow>`
            SELECT * FROM competition_entries WHERE competition_id = ${id} AND sub_account_address > ${after}
            ORDER BY sub_account_address LIMIT ${limit}`),
        ranked: (id, after, limit) =>
          entries(sql<EntryRow>`
            SELECT * FROM competition_entries
            WHERE competition_id = ${id} AND place IS NOT NULL AND place > ${after ?? ""} ORDER BY place LIMIT ${limit}`),
        ahead: (id, place, from = "") =>
          Effect.mapBoth(
            sql<{ readonly n: number }>`
              SELECT COUNT(*) AS n FROM competition_entries
              WHERE competition_id = ${id} AND place IS NOT NULL AND place >= ${from} AND place < ${place}`,
            { onSuccess: ([row]) => row!.n, onFailure: unavailable }
          ),
        advance: (id, tally, changed) =>
          Effect.gen(function* () {
            yield* moved(id, tally)
            for (const some of Arr.chunksOf(changed, BATCH_MAX)) {
              const rows = Arr.map(some, (entry) => rowOf(id, entry))
              yield* sql`
                INSERT INTO competition_entries ${sql.insert(rows)}
                ON CONFLICT (competition_id, sub_account_address) DO UPDATE
                SET days = excluded.days, last_time = excluded.last_time, active_days = excluded.active_days,
                  metric_value = excluded.metric_value, score = excluded.score,
                  ineligible_reason = excluded.ineligible_reason, multiplier_bps = excluded.multiplier_bps,
                  place = excluded.place`
            }
          }).pipe(
            sql.withTransaction,
            Effect.catchTag("SqlError", (cause) => Effect.fail(unavailable(cause)))
          ),
        startOver: (id, revision, stream) =>
          Effect.andThen(
            moved(id, { revision: revision + 1, counted_to: 0, stream, eligible_total: "0" }),
            sql`DELETE FROM competition_entries WHERE competition_id = ${id}`
          ).pipe(
            Effect.asVoid,
            sql.withTransaction,
            Effect.catchTag("SqlError", (cause) => Effect.fail(unavailable(cause)))
          ),
        settle: (id) =>
          Effect.mapBoth(
            sql`
              UPDATE competitions
              SET revision = CASE WHEN settling THEN revision ELSE revision + 1 END, settling = TRUE
              WHERE id = ${id} AND state = 'published' RETURNING 1`,
            { onSuccess: (rows) => rows.length > 0, onFailure: unavailable }
          ),
        finalize: (id, finalized_time) =>
          Effect.mapError(
            Effect.asVoid(sql`
              UPDATE competitions SET finalized_time = ${finalized_time} WHERE id = ${id} AND finalized_time IS NULL`),
            unavailable
          )
      })
    })
  )
