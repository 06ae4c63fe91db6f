/**
 * Leader election by an advisory lock of PostgreSQL: its holder is the leader of its database and schema.
 *
 * The lock belongs to a dedicated session. A gateway that stops releases it at once. If a leader is suspended or
 * disconnected, the server ends its session after {@link SILENCE_MS}, and the next gateway that tries gets the lock. A
 * connection pooler in between must not share sessions (pgbouncer: `pool_mode = session`).
 */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import { Effect, Latch, Layer } from "effect"
import type { SqlError } from "effect/sql"
import * as Daemon from "../../services/operations/Daemon.ts"
import { Leadership } from "../../services/operations/Leadership.ts"
import { withTimeout } from "../../services/operations/Timeout.ts"
import * as NodePostgres from "./NodePostgres.ts"
import { timedOut } from "./DatabaseTimeout.ts"

/** Interval at which followers try to take the lock and the leader renews its session. */
const EVERY = "250 millis"
/** Silence after which the server releases the lock, and after which a leader without a response resigns, in ms. */
const SILENCE_MS = 2_000

/** Pause of a gateway that resigned, in which others take the lock. */
const RESIGNED = "5 seconds"

const TRY = `SELECT pg_try_advisory_lock(hashtextextended(current_schema() || ' leadership', 0)) AS mine`

export const layer = (options: NodePostgres.Options): Layer.Layer<never> =>
  Layer.effect(
    Leadership,
    Effect.gen(function* () {
      let terms = 0
      let term: number | undefined
      /** Whether the server has not responded since the last warning. */
      let isAway = false
      const resigned = Latch.makeUnsafe(false)
      const config = NodePostgres.configOf(options, "trading-gateway leadership")
      const startupParameters = { ...config.startupParameters, idle_session_timeout: String(SILENCE_MS) }

      const session = Effect.scoped(
        Effect.gen(function* () {
          const connection = yield* PgConnection.make({ ...config, startupParameters })
          const run = (sql: string) => withTimeout(SILENCE_MS, connection.query(sql), timedOut)
          isAway = false
          while (true) {
            if (term !== undefined) yield* run("SELECT 1")
            else if ((yield* run(TRY)).rows[0]!["mine"] === true) {
              term = ++terms
              yield* Effect.logInfo("this gateway is now the leader and writes the read model")
            }
            yield* Effect.sleep(EVERY)
          }
        })
      ).pipe(Effect.ensuring(Effect.sync(() => (term = undefined))))

      const resignation = resigned.await.pipe(
        Effect.andThen(
          Effect.logWarning("this gateway cannot commit to the read model and resigns: another one may lead")
        )
      )
      yield* Effect.raceFirst(session, resignation).pipe(
        Effect.catch((error: SqlError.SqlError) => {
          if (isAway) return Effect.void
          isAway = true
          return Effect.logWarning("leader election failed: another gateway may write the read model", error)
        }),
        Effect.andThen(Effect.suspend(() => Effect.sleep(resigned.isOpen() ? RESIGNED : EVERY))),
        Effect.andThen(resigned.close),
        Daemon.repeat("leader election")
      )
      return { term: () => term, resign: Effect.asVoid(resigned.open) }
    })
  )
