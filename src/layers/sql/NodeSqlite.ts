/**
 * `SqlClient` over `node:sqlite`: one connection in WAL mode, with a cache of prepared statements.
 *
 * The driver is synchronous, so statements must be short. `synchronous` "FULL" makes every commit durable before it
 * returns. "NORMAL" may lose the last commits on power loss, but not on a crash of the process: for data that can be
 * read again.
 */
import { Effect, Layer, Scope, Semaphore, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError, Statement } from "effect/sql"
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"
import * as PrivateFiles from "../../node/PrivateFiles.ts"

/** Prepared statements per connection; a new one evicts the oldest. */
const STATEMENTS_MAX = 256
/** Longest wait for a lock of another process, in ms. */
export const BUSY_TIMEOUT_MS = 5_000

export interface Options {
  /** Path of the database file, or `:memory:`. */
  readonly filename: string
  readonly synchronous: "FULL" | "NORMAL"
}

/** SQLITE_CORRUPT and SQLITE_NOTADB, the low bytes of the codes of a damaged file. */
const DAMAGED: ReadonlySet<number> = new Set([11, 26])

/** The error of a failed statement on a database file. */
export const failure = (filename: string, cause: unknown, operation: string) => {
  // node:sqlite reports the extended code as `errcode`; 1555 is a violation of the primary key
  const errcode = (cause as { readonly errcode?: number }).errcode
  const reported = cause instanceof Error ? cause.message : "sqlite failed"
  const message =
    errcode !== undefined && DAMAGED.has(errcode & 0xff)
      ? `${filename} is damaged: ${reported}; see docs/operations/backup.md, "Another damaged file"`
      : reported
  const props = { cause, message, operation }
  return new SqlError.SqlError({
    reason:
      errcode === 1555
        ? new SqlError.UniqueViolation({ ...props, constraint: "PRIMARY KEY" })
        : SqlError.classifySqliteError(Object.assign(new Error(message, { cause }), { errno: errcode }), {
            message,
            operation
          })
  })
}

const parameter = (value: unknown): SQLInputValue => {
  if (typeof value === "boolean") return value ? 1 : 0
  if (value === undefined) return null
  return value as SQLInputValue
}

class Connection implements SqlConnection.Connection {
  private readonly statements = new Map<string, StatementSync>()
  readonly database: DatabaseSync
  private readonly filename: string
  constructor(database: DatabaseSync, filename: string) {
    this.database = database
    this.filename = filename
  }
  private prepare(sql: string): StatementSync {
    const known = this.statements.get(sql)
    if (known !== undefined) return known
    const statement = this.database.prepare(sql)
    if (this.statements.size >= STATEMENTS_MAX) this.statements.delete(this.statements.keys().next().value!)
    this.statements.set(sql, statement)
    return statement
  }
  private rows(sql: string, params: ReadonlyArray<unknown>, arrays: boolean) {
    return Effect.try({
      try: () => {
        const statement = this.prepare(sql)
        statement.setReturnArrays(arrays)
        return statement.all(...params.map(parameter)) as ReadonlyArray<unknown>
      },
      catch: (cause) => failure(this.filename, cause, "execute")
    })
  }
  readonly execute: SqlConnection.Connection["execute"] = (sql, params, transformRows) => {
    const rows = this.rows(sql, params, false)
    return transformRows === undefined ? rows : Effect.map(rows, (all) => transformRows(all as ReadonlyArray<object>))
  }
  readonly executeUnprepared = this.execute
  readonly executeRaw: SqlConnection.Connection["executeRaw"] = (sql, params) => this.rows(sql, params, false)
  readonly executeValues = (sql: string, params: ReadonlyArray<unknown>) =>
    this.rows(sql, params, true) as Effect.Effect<ReadonlyArray<ReadonlyArray<unknown>>, SqlError.SqlError>
  readonly executeValuesUnprepared = this.executeValues
  readonly executeStream: SqlConnection.Connection["executeStream"] = (sql, params, transformRows) =>
    Stream.unwrap(Effect.map(this.execute(sql, params, transformRows), Stream.fromIterable))
}

const make = Effect.fnUntraced(function* (options: Options) {
  const scope = yield* Effect.scope
  const database = yield* Effect.try({
    try: () => {
      if (options.filename !== ":memory:") PrivateFiles.database(options.filename)
      return new DatabaseSync(options.filename, { timeout: BUSY_TIMEOUT_MS })
    },
    catch: (cause) => failure(options.filename, cause, "connect")
  })
  yield* Scope.addFinalizer(
    scope,
    Effect.sync(() => database.close())
  )
  yield* Effect.try({
    try: () => database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${options.synchronous};`),
    catch: (cause) => failure(options.filename, cause, "connect")
  })
  const acquirers = SqlClient.makeSqliteAcquirers({
    connection: Effect.succeed(new Connection(database, options.filename)),
    semaphore: Semaphore.makeUnsafe(1),
    isTransaction: (connection) => connection.database.isTransaction
  })
  return yield* SqlClient.make({
    ...acquirers,
    driver: "node:sqlite",
    compiler: Statement.makeCompilerSqlite(),
    beginTransaction: "BEGIN IMMEDIATE",
    prepareTransactionControls: true,
    spanAttributes: [["db.system.name", "sqlite"]]
  })
})

export const layer = (options: Options): Layer.Layer<SqlClient.SqlClient, SqlError.SqlError> =>
  Layer.effect(SqlClient.SqlClient, make(options)).pipe(Layer.provide(Reactivity.layer))
