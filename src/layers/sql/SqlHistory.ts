/**
 * The read model in SQLite or PostgreSQL.
 *
 * A commit is a few many-row statements in one transaction of a {@link CommitPort}. Its first statement advances the
 * position, and changes no row unless the projection is the next one of a model of this version. Statement texts are built once, and rows carry the
 * JSON text of their record from the projection.
 */
import { Effect, Layer } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import type { ModelPosition, Projection } from "../../domain/Projection.ts"
import {
  History,
  HistoryUnavailable,
  ProjectionRefused,
  ReadModelVersion,
  type StoredPosition,
  UserEventsKept
} from "../../services/History.ts"
import { CommitPort, overClient, transaction } from "./CommitPort.ts"
import { dialect } from "./Dialect.ts"
import * as HistoryReads from "./HistoryReads.ts"
import * as LedgerReads from "./LedgerReads.ts"
import * as ProjectionWriter from "./ProjectionWriter.ts"
import * as Tables from "./Tables.ts"
import { migrateHistory, modelTables } from "./migrations/history.ts"

interface Position {
  readonly epoch: string
  readonly seq: number
  readonly began: number
  readonly ts_ms: number
  readonly fork: string | null
  readonly checksum: number | null
  readonly stream: string | null
  readonly version: number
  /** Added to an event's seq to form a row's id: ids grow even when a new epoch numbers its events from 1 again. */
  readonly base: number
}

/** The columns of a position, in the order of {@link valuesOf}. */
const columns = ["epoch", "seq", "began", "ts_ms", "fork", "checksum", "checksum_seq"] as const
const valuesOf = (to: ModelPosition) => [
  to.epoch,
  to.seq,
  to.began,
  to.ts_ms,
  to.fork ?? null,
  to.checksum ?? null,
  to.seq
]
const assigned = columns.map((column) => `${column} = ?`).join(", ")

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const sqlDialect = yield* dialect
  const { moment, statement } = sqlDialect
  const tables = yield* Tables.make
  const { query } = tables
  const writer = ProjectionWriter.make(tables, sqlDialect, yield* UserEventsKept)
  const version = yield* ReadModelVersion
  const port = (yield* CommitPort) ?? overClient(sql)

  const begin = statement(
    `INSERT INTO history_position (one, ${columns.join(", ")}, stream, base, version) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${version})
     ON CONFLICT (one) DO NOTHING RETURNING base`
  )
  const advance = statement(
    `UPDATE history_position SET ${assigned} WHERE one = 1 AND epoch = ? AND seq = ? AND base = ?
     AND began = ? AND COALESCE(stream, '') = ? AND version = ${version} RETURNING base`
  )
  const renumber = `UPDATE history_position SET ${assigned}, stream = ?, base = ?, version = ${version} WHERE one = 1 AND epoch = ?`
  const renumberOwn = statement(`${renumber} AND seq = ? AND version = ${version} RETURNING base`)
  // an older gateway may commit until then
  const renumberOlder = statement(`${renumber} AND version = ? AND version < ${version} RETURNING base`)
  const renumbered = (moved: ReadonlyArray<Tables.Value>, after: StoredPosition): Tables.Statement =>
    after.version === undefined || after.version === version
      ? [renumberOwn, [...moved, after.epoch, after.seq]]
      : [renumberOlder, [...moved, after.epoch, after.version]]

  const readPosition = Effect.map(
    query<Position & { readonly checksum_seq: number | null }>(
      `SELECT ${columns.join(", ")}, stream, base, version FROM history_position WHERE one = 1`
    ),
    ([row]): Position | undefined => {
      if (row === undefined) return undefined
      const { checksum_seq, ...stored } = row
      // otherwise they are of an earlier event: a gateway from before forks has advanced the position since
      return checksum_seq === stored.seq ? stored : { ...stored, fork: null, checksum: null }
    }
  )
  const modelPosition = (row: Position | undefined): ModelPosition | undefined => {
    if (row === undefined) return undefined
    const { base: _, checksum, fork, stream, ...current } = row
    return {
      ...current,
      ...(fork !== null && { fork }),
      ...(checksum !== null && { checksum }),
      ...(stream !== null && { stream })
    }
  }

  /** The base of the position that was last read for a commit, which is refused if the model has another one. */
  let base = 0
  const basePosition = Effect.tap(readPosition, (row) => Effect.sync(() => (base = row?.base ?? 0)))
  const position = Effect.map(basePosition, modelPosition)

  const commit = Effect.fnUntraced(function* (projection: Projection) {
    const { after, position: to } = projection
    const moved = valuesOf(to)
    const guard: Tables.Statement =
      after === undefined
        ? [begin, [...moved, to.stream ?? null, 0]]
        : [advance, [...moved, after.epoch, after.seq, base, to.began, to.stream ?? ""]]
    const isDone = yield* Effect.mapError(
      port.commit(guard, writer.write(projection, after === undefined ? 0 : base)),
      (cause) => new HistoryUnavailable({ cause })
    )
    if (!isDone) return yield* new ProjectionRefused({ position: yield* position })
  })

  const restart = Effect.fnUntraced(function* (
    after: StoredPosition | undefined,
    to: ModelPosition,
    open: Parameters<History["Service"]["restart"]>[2]
  ) {
    const isDone = yield* transaction(sql, (connection) =>
      Effect.gen(function* () {
        const from = yield* basePosition
        // ids keep growing: first those of the open orders, then those of the events to come
        const newest = from === undefined ? to.seq : from.base + from.seq
        const moved = [...valuesOf(to), to.stream ?? null, newest + open.orders.length - to.seq]
        const [row] = yield* connection.execute(
          ...(after === undefined ? ([begin, moved] as const) : renumbered(moved, after)),
          undefined
        )
        if (row === undefined) return false
        for (const [text, values] of writer.replaceOpen(open, newest)) yield* connection.executeRaw(text, values)
        return true
      })
    ).pipe(Effect.catchTag("SqlError", (cause) => Effect.fail(new HistoryUnavailable({ cause }))))
    if (!isDone) return yield* new ProjectionRefused({ position: yield* position })
  })

  const clear = Effect.fnUntraced(function* (after: StoredPosition, to: ModelPosition) {
    const isDone = yield* transaction(sql, (connection) =>
      sqlDialect.unlimited(
        Effect.gen(function* () {
          // the ids of rows are those of the first time
          const moved = [...valuesOf(to), to.stream ?? null, 0]
          const [row] = yield* connection.execute(...renumbered(moved, after), undefined)
          if (row === undefined) return false
          for (const text of sqlDialect.emptied(modelTables)) yield* connection.executeRaw(text, [])
          return true
        })
      )
    ).pipe(Effect.catchTag("SqlError", (cause) => Effect.fail(new HistoryUnavailable({ cause }))))
    if (!isDone) return yield* new ProjectionRefused({ position: yield* position })
  })

  const ofOneMoment: History["Service"]["moment"] = (reads) =>
    moment(reads).pipe(Effect.catchIf(SqlError.isSqlError, (cause) => Effect.fail(new HistoryUnavailable({ cause }))))

  return History.of({
    position,
    moment: ofOneMoment,
    momentAndPosition: (reads) =>
      ofOneMoment(Effect.all({ at: Effect.map(readPosition, modelPosition), value: reads })),
    commit,
    restart,
    clear,
    ...HistoryReads.make(tables),
    ...LedgerReads.make(tables)
  })
})

/** Migrates the tables, then serves the read model from them. */
export const layer = Layer.effect(History, Effect.andThen(migrateHistory, make))
