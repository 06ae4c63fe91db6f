/** The differences between SQLite and PostgreSQL; all other SQL of this folder runs on both. */
import { Context, Effect, Schema } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"

/** Turns the client's time limit off for an effect: migrations of a large database may take long. */
export const NoTimeLimit = Context.Reference<boolean>("gateway/layers/sql/Dialect/NoTimeLimit", {
  defaultValue: () => false
})

/** A BOOLEAN, which SQLite returns as 0 or 1. */
export const SqlBoolean = Schema.Union([Schema.Boolean, Schema.Literals([0, 1])])

export interface Dialect {
  /** Type of a column of bytes. */
  readonly bytes: string
  /** Table option that stores rows in the order of their primary key: SQLite then needs no second tree. */
  readonly clustered: string
  /** Creates and alters tables. Text sorts by its bytes, whatever the locale of the database. */
  readonly define: (statements: ReadonlyArray<string>) => Effect.Effect<void, SqlError.SqlError>
  /** Statements that delete all rows of tables. */
  readonly emptied: (tables: ReadonlyArray<string>) => ReadonlyArray<string>
  /** Forces an index for a table in FROM. SQLite has no statistics to choose by; PostgreSQL has them and needs no hint. */
  readonly indexed: (index: string) => string
  /**
   * The time of a change that other gateways read: `now_ms`, or by the clock of a database that gateways share, if it is
   * later. So a gateway whose clock is behind does not hide its changes.
   */
  readonly changeTime: (now_ms: number) => Statement.Fragment
  /** A member of an object that a column holds as JSON text, as text. */
  readonly member: (column: string, name: string) => string
  /** Runs the statements of a transaction without a time limit. */
  readonly unlimited: <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E | SqlError.SqlError, R>
  /** Translates a statement with `?` placeholders. */
  readonly statement: (text: string) => string
  /** Serializes the transactions of one subject over all gateways, until they end. SQLite has a single writer anyway. */
  readonly alone: (subject: string) => Effect.Effect<void, SqlError.SqlError>
  /** Runs reads on one snapshot of the database. */
  readonly moment: <A, E, R>(reads: Effect.Effect<A, E, R>) => Effect.Effect<A, E | SqlError.SqlError, R>
}

export const dialect: Effect.Effect<Dialect, never, SqlClient.SqlClient> = Effect.map(SqlClient.SqlClient, (sql) => {
  const run = (statements: ReadonlyArray<string>) =>
    Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
  return sql.onDialectOrElse({
    pg: (): Dialect => ({
      bytes: "BYTEA",
      clustered: "",
      define: (statements) =>
        run(statements.map((statement) => statement.replaceAll(/\bTEXT\b/gu, 'TEXT COLLATE "C"'))),
      emptied: (tables) => [`TRUNCATE ${tables.join(", ")}`],
      indexed: () => "",
      changeTime: (now_ms) => sql`GREATEST(${now_ms}, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)`,
      member: (column, name) => `${column}::json ->> '${name}'`,
      unlimited: (work) =>
        Effect.andThen(sql`SET LOCAL statement_timeout = 0`, work).pipe(Effect.provideService(NoTimeLimit, true)),
      statement: (text) => {
        let n = 0
        return text.replaceAll("?", () => `$${++n}`)
      },
      // gateways can share a database in separate schemas, so the lock includes the schema
      alone: (subject) =>
        Effect.asVoid(
          sql`SELECT 1 FROM pg_advisory_xact_lock(hashtextextended(current_schema() || ' ' || ${subject}, 0))`
        ),
      moment: (reads) =>
        sql
          .withTransaction(reads)
          .pipe(
            Effect.provideService(
              SqlClient.BeginTransaction,
              "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
            )
          )
    }),
    orElse: (): Dialect => ({
      bytes: "BLOB",
      clustered: "WITHOUT ROWID",
      define: run,
      emptied: (tables) => tables.map((table) => `DELETE FROM ${table}`),
      indexed: (index) => ` INDEXED BY ${index}`,
      changeTime: (now_ms) => sql`${now_ms}`,
      member: (column, name) => `json_extract(${column}, '$.${name}')`,
      unlimited: (work) => work,
      statement: (text) => text,
      alone: () => Effect.void,
      // a transaction that begins with the lock of writers would wait for the commit of a history
      moment: (reads) =>
        sql.withTransaction(reads).pipe(Effect.provideService(SqlClient.BeginTransaction, "BEGIN DEFERRED"))
    })
  })
})
