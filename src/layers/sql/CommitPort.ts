/**
 * How commits of the read model reach the database: over the connections of its reads, or over one of their own, so
 * that a commit delays no read.
 */
import { Context, Effect, Layer, Option } from "effect"
import { SqlClient, type SqlConnection, type SqlError } from "effect/sql"
import type { Statement } from "./Tables.ts"

export interface Commits {
  /**
   * Runs statements in one transaction if the first, `guard`, returns a row; otherwise changes nothing and returns
   * false. After a failure the transaction may have been committed or not.
   */
  readonly commit: (guard: Statement, statements: ReadonlyArray<Statement>) => Effect.Effect<boolean, SqlError.SqlError>
}

/** `undefined`: commits use the client of the reads. */
export const CommitPort = Context.Reference<Commits | undefined>("gateway/layers/sql/CommitPort", {
  defaultValue: () => undefined
})

/** Runs a body on the connection of one transaction. */
export const transaction = <A, E, R>(
  sql: SqlClient.SqlClient,
  body: (connection: SqlConnection.Connection) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | SqlError.SqlError, R> =>
  sql.withTransaction(
    Effect.flatMap(Effect.serviceOption(sql.transactionService), (current) =>
      // a transaction always has its connection
      body(Option.getOrThrow(current)[0])
    )
  )

/** Commits over a client. */
export const overClient = (sql: SqlClient.SqlClient): Commits => ({
  commit: (guard, statements) =>
    transaction(
      sql,
      Effect.fnUntraced(function* (connection) {
        const [row] = yield* connection.execute(guard[0], guard[1], undefined)
        if (row === undefined) return false
        for (const [text, values] of statements) yield* connection.executeRaw(text, values)
        return true
      })
    )
})

/** Commits over the client that the layer receives. */
export const layer: Layer.Layer<never, never, SqlClient.SqlClient> = Layer.effect(
  CommitPort,
  Effect.map(SqlClient.SqlClient, overClient)
)
