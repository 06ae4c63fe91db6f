/** The few words in which SQLite and PostgreSQL differ; everything else here is SQL that both take. */
import { Context, Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

/** Whether the statements of an effect may take as long as they need: those of migrations over a large database. */
export const TakesLong = Context.Reference<boolean>("gateway/layers/sql/Dialect/TakesLong", {
  defaultValue: () => false
})

export interface Dialect {
  /** Type of a column of bytes. */
  readonly bytes: string
  /** Closes a table that is kept in the order of its primary key, which saves SQLite a second tree. */
  readonly clustered: string
  /** Makes and changes tables. Texts are in the order of their bytes, whatever language the database speaks. */
  readonly define: (statements: ReadonlyArray<string>) => Effect.Effect<void, SqlError.SqlError>
  /** Binds a table in FROM to an index. PostgreSQL chooses by its statistics; SQLite has none. */
  readonly indexed: (index: string) => string
  /** A member of an object that a column holds as JSON text, as text. */
  readonly member: (column: string, name: string) => string
  /** Runs statements of a transaction without a limit of time. */
  readonly unlimited: <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E | SqlError.SqlError, R>
  /** A statement that is written with `?` for its parameters. */
  readonly statement: (text: string) => string
  /** Lets one transaction at a time pass for this subject, over all gateways, until it ends. SQLite has one writer anyway. */
  readonly alone: (subject: string) => Effect.Effect<void, SqlError.SqlError>
  /** Runs reads that are all of one moment, whatever is committed meanwhile. */
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
      indexed: () => "",
      member: (column, name) => `${column}::json ->> '${name}'`,
      unlimited: (work) =>
        Effect.andThen(sql`SET LOCAL statement_timeout = 0`, work).pipe(Effect.provideService(TakesLong, true)),
      statement: (text) => {
        let n = 0
        return text.replaceAll("?", () => `$${++n}`)
      },
      // schemas of one database are databases to us
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
      indexed: (index) => ` INDEXED BY ${index}`,
      member: (column, name) => `json_extract(${column}, '$.${name}')`,
      unlimited: (work) => work,
      statement: (text) => text,
      alone: () => Effect.void,
      moment: (reads) => sql.withTransaction(reads)
    })
  })
})
