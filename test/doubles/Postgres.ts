/**
 * A throwaway PostgreSQL for the tests of one file: its own schemas, ended with the file.
 * Durability is off: what these tests ask is what statements mean, not what a disk keeps.
 */
import { Clock, Effect, Layer, Redacted } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { afterAll, beforeAll } from "vitest"
import * as NodePostgres from "../../src/layers/sql/NodePostgres.ts"
import { isPostgresInstalled, PostgresServer, urlOf } from "../../verification/harness/PostgresServer.ts"
import { START_MS } from "../../verification/harness/Wait.ts"

export const isThere = isPostgresInstalled

/** A busy machine may keep a server from answering for long, in ms. */
const SILENCE_MS = 20_000

/** Deletes every row of a schema but those of the table of migrations. */
const EMPTY = `DO $$ DECLARE name TEXT; BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT LIKE '%migrations%' LOOP
    EXECUTE 'DELETE FROM ' || quote_ident(name);
  END LOOP; END $$`

export interface Throwaway {
  readonly port: () => number
  /** Address of a schema, which is as empty as a database of its own once it is made. */
  readonly url: (schema: string, port?: number) => string
  /** A client of a schema, which is made. */
  readonly client: (schema: string) => Layer.Layer<SqlClient.SqlClient, SqlError.SqlError>
  /** A client of an empty schema for each that is built. */
  readonly fresh: Layer.Layer<SqlClient.SqlClient, SqlError.SqlError>
}

/** Runs a server for the tests of this file. */
export const throwaway = (): Throwaway => {
  let running: PostgresServer | undefined
  if (isPostgresInstalled) {
    beforeAll(async () => {
      running = await PostgresServer.start()
    }, START_MS)
    afterAll(() => running?.remove())
  }
  const port = () => running!.port
  const url: Throwaway["url"] = (schema, at = port()) => urlOf(schema, at)
  const client: Throwaway["client"] = (schema) =>
    Layer.unwrap(
      Effect.sync(() =>
        Layer.effectDiscard(
          Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(`CREATE SCHEMA IF NOT EXISTS ${schema}`))
        ).pipe(
          Layer.provideMerge(NodePostgres.layer({ url: Redacted.make(url(schema)), silence_ms: SILENCE_MS })),
          // connections live in the time of the machine, whatever the test does to its own
          Layer.provide(Layer.succeed(Clock.Clock, Clock.Clock.defaultValue()))
        )
      )
    )
  // making tables takes far longer than what most tests do with them: who is done leaves its schema to the next, empty
  const free: Array<string> = []
  let schemas = 0
  const lent = (schema: string) =>
    Layer.effectDiscard(
      Effect.acquireRelease(SqlClient.SqlClient, (sql) =>
        sql.unsafe(EMPTY).pipe(Effect.andThen(Effect.sync(() => void free.push(schema))), Effect.ignore)
      )
    ).pipe(Layer.provideMerge(client(schema)))
  const fresh = Layer.unwrap(Effect.sync(() => lent(free.pop() ?? `fresh_${++schemas}`)))
  return { port, url, client, fresh }
}
