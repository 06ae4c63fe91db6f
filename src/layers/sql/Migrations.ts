/**
 * Runs migrations, one gateway of a fleet at a time.
 *
 * On PostgreSQL an advisory lock of the schema surrounds each set of migrations, and the others wait for it. A migration waits
 * {@link LOCK_WAIT_MS} for a table in use, because the statements of running gateways queue behind it, and then begins again.
 * Both waits together end after {@link MIGRATION_WAIT_MS}. A gateway with nothing to migrate takes no lock.
 */
import { Clock, Context, Effect } from "effect"
import { Migrator, SqlClient, SqlError } from "effect/sql"
import { dialect } from "./Dialect.ts"

/** Longest wait of a start for the migrations of other gateways and for tables in use, in ms. */
export const MIGRATION_WAIT_MS = 600_000
/** Longest wait of one statement for a lock, in ms; less than the time limit of a statement. */
export const LOCK_WAIT_MS = 2_000
/** Pause between two attempts, in which the statements of running gateways go on. */
const PAUSE = "250 millis"

/** The effective {@link MIGRATION_WAIT_MS}. */
export const MigrationWait = Context.Reference<number>("gateway/layers/sql/Migrations/MigrationWait", {
  defaultValue: () => MIGRATION_WAIT_MS
})

type Migration = Effect.Effect<unknown, unknown, SqlClient.SqlClient>

/** The error of a statement that did not get its lock, or lost it to another transaction. */
const isLocked = (error: unknown): boolean =>
  SqlError.isSqlError(error)
    ? error.reason._tag === "LockTimeoutError" || error.reason._tag === "DeadlockError"
    : error instanceof Migrator.MigrationError && isLocked(error.cause)

/** Id of the newest migration that the database has; 0 without one. */
const newestOf = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, table: string) {
  const found = yield* sql`SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = ${table}`
  if (found.length === 0) return 0
  const [row] = yield* sql<{ readonly id: number | null }>`SELECT MAX(migration_id) AS id FROM ${sql(table)}`
  return row?.id ?? 0
})

/** Migrations by `<id>_<name>`, whose ids `table` stores. */
export const migrations = (
  table: string,
  migrations: Record<string, Migration>
): Effect.Effect<void, Migrator.MigrationError | SqlError.SqlError, SqlClient.SqlClient> => {
  const run = Migrator.make({})({ loader: Migrator.fromRecord(migrations), table })
  const newest = Math.max(...Object.keys(migrations).map((name) => Number.parseInt(name, 10)))

  const onPostgres = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
    const { alone } = yield* dialect
    const clock = yield* Clock.Clock
    const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1_000_000
    const wait_ms = yield* MigrationWait
    const began = now()
    const limited = <A, E>(work: Effect.Effect<A, E, SqlClient.SqlClient>) =>
      sql.withTransaction(Effect.andThen(sql.unsafe(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`), work))
    const isNewest = Effect.map(newestOf(sql, table), (id) => id >= newest)
    const attempt = Effect.gen(function* () {
      if (yield* limited(isNewest)) return
      yield* limited(
        Effect.gen(function* () {
          yield* alone("migrations")
          // the first read of a table in a transaction also makes the server's cache of names current, which `run` uses
          if (!(yield* isNewest)) yield* run
        })
      )
    })
    for (let tries = 1; ; tries++) {
      const isDone = yield* attempt.pipe(
        Effect.as(true),
        Effect.catchIf(isLocked, (cause) =>
          now() - began < wait_ms
            ? Effect.succeed(false)
            : Effect.fail(
                new Migrator.MigrationError({
                  kind: "Locked",
                  cause,
                  message:
                    `${table}: the tables were in use for ${wait_ms / 1_000} s; ` +
                    "end the transaction that holds them (pg_locks), or wait for the gateway that migrates them"
                })
              )
        )
      )
      if (isDone) return
      if (tries === 1)
        yield* Effect.logInfo(
          "this gateway waits for the migrations of the database: another gateway migrates, or tables are in use"
        ).pipe(Effect.annotateLogs({ migrations: table, wait_ms }))
      yield* Effect.sleep(PAUSE)
    }
  })

  return Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.onDialectOrElse({ pg: () => onPostgres(sql), orElse: () => Effect.asVoid(run) })
  )
}
