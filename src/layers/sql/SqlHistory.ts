/**
 * The read model in SQLite or PostgreSQL.
 *
 * A commit is a few many-row statements in one transaction. Its first statement advances the position, and changes no row
 * unless the projection is the next one. Statement texts are built once, and rows carry the JSON text of their record from
 * the projection.
 */
import { Effect, Layer } from "effect"
import { Migrator, SqlClient, type SqlConnection, SqlError } from "effect/sql"
import type { ModelPosition, Projection } from "../../domain/Projection.ts"
import { History, HistoryUnavailable, ProjectionRefused, UserEventsKept } from "../../services/History.ts"
import { dialect } from "./Dialect.ts"
import * as HistoryReads from "./HistoryReads.ts"
import * as LedgerReads from "./LedgerReads.ts"
import * as ProjectionWriter from "./ProjectionWriter.ts"
import * as Tables from "./Tables.ts"
import { history as migrations } from "./migrations/history.ts"

interface Position {
  readonly epoch: string
  readonly seq: number
  readonly began: number
  readonly ts_ms: number
  /** Added to an event's seq to form a row's id: ids grow even when a new epoch numbers its events from 1 again. */
  readonly base: number
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const sqlDialect = yield* dialect
  const { moment, statement } = sqlDialect
  const tables = yield* Tables.make
  const { query } = tables
  const writer = ProjectionWriter.make(tables, sqlDialect, yield* UserEventsKept)

  const begin = statement(
    `INSERT INTO history_position (one, epoch, seq, began, ts_ms, base) VALUES (1, ?, ?, ?, ?, ?)
     ON CONFLICT (one) DO NOTHING RETURNING base`
  )
  const advance = statement(
    `UPDATE history_position SET epoch = ?, seq = ?, began = ?, ts_ms = ? WHERE one = 1 AND epoch = ? AND seq = ? RETURNING base`
  )
  const renumber = statement(
    `UPDATE history_position SET epoch = ?, seq = ?, began = ?, ts_ms = ?, base = ? WHERE one = 1 AND epoch = ? AND seq = ?
     RETURNING base`
  )

  /** Runs statements on the connection of one transaction. */
  const transaction = <A, E>(
    body: (connection: SqlConnection.Connection) => Effect.Effect<A, E | SqlError.SqlError>
  ): Effect.Effect<A, Exclude<E, SqlError.SqlError> | HistoryUnavailable> =>
    sql
      .withTransaction(Effect.flatMap(sql.transactionService, ([connection]) => body(connection)))
      .pipe(
        Effect.mapError((error) =>
          (error as { readonly _tag?: string })._tag === "SqlError" ? new HistoryUnavailable({ cause: error }) : error
        )
      ) as Effect.Effect<A, Exclude<E, SqlError.SqlError> | HistoryUnavailable>

  const readPosition = Effect.map(
    query<{ [K in keyof Position]: number | string }>(
      "SELECT epoch, seq, began, ts_ms, base FROM history_position WHERE one = 1"
    ),
    ([row]): Position | undefined =>
      row && {
        epoch: String(row.epoch),
        seq: Number(row.seq),
        began: Number(row.began),
        ts_ms: Number(row.ts_ms),
        base: Number(row.base)
      }
  )
  const position = Effect.map(readPosition, (row): ModelPosition | undefined => {
    if (row === undefined) return undefined
    const { base: _, ...current } = row
    return current
  })

  /** Nothing is written unless the model is at the expected position: of two writers the first one wins. */
  const ifExpectedPosition = (write: Effect.Effect<void, HistoryUnavailable | ProjectionRefused>) =>
    Effect.catchTag(write, "ProjectionRefused", () =>
      Effect.flatMap(position, (current) => Effect.fail(new ProjectionRefused({ position: current })))
    )

  const commit = (projection: Projection) => {
    const { after, position: to } = projection
    const moved = [to.epoch, to.seq, to.began, to.ts_ms]
    return ifExpectedPosition(
      transaction((connection) =>
        Effect.flatMap(
          after === undefined
            ? connection.execute(begin, [...moved, 0], undefined)
            : connection.execute(advance, [...moved, after.epoch, after.seq], undefined),
          ([row]): Effect.Effect<void, SqlError.SqlError | ProjectionRefused> =>
            row === undefined
              ? Effect.fail(new ProjectionRefused({ position: undefined }))
              : writer.write(connection, projection, Number((row as { readonly base: number | string }).base))
        )
      )
    )
  }

  const restart: History["Service"]["restart"] = (after, to, open) =>
    ifExpectedPosition(
      transaction((connection) =>
        Effect.gen(function* () {
          const from = yield* readPosition
          // ids keep growing: first those of the open orders, then those of the events to come
          const newest = from === undefined ? to.seq : from.base + from.seq
          const base = newest + open.orders.length - to.seq
          const moved = [to.epoch, to.seq, to.began, to.ts_ms, base]
          const [row] = yield* after === undefined
            ? connection.execute(begin, moved, undefined)
            : connection.execute(renumber, [...moved, after.epoch, after.seq], undefined)
          if (row === undefined) return yield* new ProjectionRefused({ position: undefined })
          yield* writer.replaceOpen(connection, open, newest)
        })
      )
    )

  return History.of({
    position,
    moment: (reads) =>
      moment(reads).pipe(
        Effect.catchIf(SqlError.isSqlError, (cause) => Effect.fail(new HistoryUnavailable({ cause })))
      ),
    commit,
    restart,
    ...HistoryReads.make(tables),
    ...LedgerReads.make(tables)
  })
})

/** Migrates the tables, then serves the read model from them. */
export const layer = Layer.effect(
  History,
  Effect.andThen(Migrator.make({})({ loader: migrations, table: "history_migrations" }), make)
)
