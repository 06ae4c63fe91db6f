/**
 * Runs migrations, one gateway of a fleet at a time.
 *
 * On PostgreSQL an advisory lock of the schema surrounds each set of migrations, and the others wait for it. A migration waits
 * {@link LOCK_WAIT_MS} for a table in use, because the statements of running gateways queue behind it, and then begins again.
 * Both waits together end after {@link MIGRATION_WAIT_MS}. A gateway with nothing to migrate takes no lock. A start also waits
 * {@link ABSENCE_WAIT_MS} for a server that does not respond, such as one that starts or restarts at the same time.
 */
import { Clock, Context, Effect } from "effect"
import { Migrator, SqlClient, SqlError } from "effect/sql"
import { dialect } from "./Dialect.ts"

/** Longest wait of a start for the migrations of other gateways and for tables in use, in ms. */
export const MIGRATION_WAIT_MS = 600_000
/** Longest wait of a start for a server that does not respond, in ms. */
export const ABSENCE_WAIT_MS = 30_000
/** Longest wait of one statement for a lock, in ms; less than the time limit of a statement. */
export const LOCK_WAIT_MS = 2_000
/** Pause between two attempts, in which the statements of running gateways go on. */
const PAUSE = "250 millis"

/** The effective {@link MIGRATION_WAIT_MS}. */
export const MigrationWait = Context.Reference<number>("gateway/layers/sql/Migrations/MigrationWait", {
  defaultValue: () => MIGRATION_WAIT_MS
})

/** The effective {@link ABSENCE_WAIT_MS}. */
export const AbsenceWait = Context.Reference<number>("gateway/layers/sql/Migrations/AbsenceWait", {
  defaultValue: () => ABSENCE_WAIT_MS
})

type Migration = Effect.Effect<unknown, unknown, SqlClient.SqlClient>

/** The reason of a failed statement, also within a migration. */
const reasonOf = (error: unknown): SqlError.SqlErrorReason | undefined => {
  if (SqlError.isSqlError(error)) return error.reason
  return error instanceof Migrator.MigrationError ? reasonOf(error.cause) : undefined
}
/** The error of a statement that did not get its lock, or lost it to another transaction. */
const isLocked = (error: unknown): boolean => {
  const reason = reasonOf(error)?._tag
  return reason === "LockTimeoutError" || reason === "DeadlockError"
}
/** SQLSTATE of a server that starts or stops: admin_shutdown, crash_shutdown, cannot_connect_now. */
const PASSING = /^57P0[123]$/u
/** The error of a server that does not respond, or not yet. */
const isAbsent = (error: unknown): boolean => {
  const reason = reasonOf(error)
  if (reason?._tag === "ConnectionError") return true
  const { cause } = reason ?? {}
  return cause instanceof Error && "code" in cause && PASSING.test(String(cause.code))
}

/** Id of the newest migration that the database has; 0 without one. */
const newestOf = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, table: string) {
  const found = yield* sql`SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = ${table}`
  if (found.length === 0) return 0
  const [row] = yield* sql<{ readonly id: number | null }>`SELECT MAX(migration_id) AS id FROM ${sql(table)}`
  return row?.id ?? 0
})

const inUse = (table: string, wait_ms: number, cause: unknown) =>
  new Migrator.MigrationError({
    kind: "Locked",
    cause,
    message:
      `${table}: the tables were in use for ${wait_ms / 1_000} s; ` +
      "end the transaction that holds them (pg_locks), or wait for the gateway that migrates them"
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
    const [lockWait_ms, absenceWait_ms] = [yield* MigrationWait, yield* AbsenceWait]
    const began = now()
    /** When the server last responded. */
    let responded = began
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
    /** What a start waits for after a failed attempt; undefined: the failure is final. */
    const waitOf = (error: unknown): string | undefined => {
      if (isAbsent(error)) return now() - responded < absenceWait_ms ? "PostgreSQL does not respond" : undefined
      responded = now()
      return isLocked(error) && now() - began < lockWait_ms
        ? "another gateway migrates, or tables are in use"
        : undefined
    }
    let logged: string | undefined
    while (true) {
      const wait = yield* attempt.pipe(
        Effect.as(undefined),
        Effect.catch((error) => {
          const wait = waitOf(error)
          if (wait !== undefined) return Effect.succeed(wait)
          return Effect.fail(isLocked(error) ? inUse(table, lockWait_ms, error) : error)
        })
      )
      if (wait === undefined) return
      if (wait !== logged)
        yield* Effect.logInfo(`this gateway waits for the migrations of the database: ${wait}`).pipe(
          Effect.annotateLogs({ migrations: table })
        )
      logged = wait
      yield* Effect.sleep(PAUSE)
    }
  })

  return Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.onDialectOrElse({ pg: () => onPostgres(sql), orElse: () => Effect.asVoid(run) })
  )
}
