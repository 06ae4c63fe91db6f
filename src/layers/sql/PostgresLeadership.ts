/**
 * Leadership by an advisory lock of PostgreSQL: whoever holds it leads, in its database and schema.
 *
 * The lock belongs to a session of its own. A gateway that ends lets go of it at once. One that is suspended, or cut off, says
 * nothing for {@link SILENCE_MS}: then the server ends the session, and the next one that tries gets the lock. It needs
 * sessions of its own, so a pooler in between must not share them (pgbouncer: `pool_mode = session`).
 */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import { Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { Leadership } from "../../services/operations/Leadership.ts"
import { withTimeout } from "../../services/operations/Timeout.ts"
import * as NodePostgres from "./NodePostgres.ts"
import { unanswered } from "./DatabaseTimeout.ts"

/** How often who does not lead tries, and who leads shows that it is there. */
const EVERY = "250 millis"
/** Silence after which the server lets go of the lock, and wait after which a leader without an answer takes it for lost. */
const SILENCE_MS = 2_000

const TRY = `SELECT pg_try_advisory_lock(hashtextextended(current_schema() || ' leadership', 0)) AS mine`

export const layer = (options: NodePostgres.Options): Layer.Layer<never> =>
  Layer.effect(
    Leadership,
    Effect.gen(function* () {
      let terms = 0
      let term: number | undefined
      const config = NodePostgres.configOf(options, "trading-gateway leadership")
      const startupParameters = { ...config.startupParameters, idle_session_timeout: String(SILENCE_MS) }

      const session = Effect.scoped(
        Effect.gen(function* () {
          const connection = yield* PgConnection.make({ ...config, startupParameters })
          const ask = (sql: string) => withTimeout(SILENCE_MS, connection.query(sql), unanswered)
          while (true) {
            if (term !== undefined) yield* ask("SELECT 1")
            else if ((yield* ask(TRY)).rows[0]!["mine"] === true) {
              term = ++terms
              yield* Effect.logInfo("this gateway writes the read model from here on")
            }
            yield* Effect.sleep(EVERY)
          }
        })
      ).pipe(Effect.ensuring(Effect.sync(() => (term = undefined))))

      yield* session.pipe(
        Effect.catch((error: SqlError.SqlError) =>
          Effect.logWarning("no session to lead by: another gateway may write the read model", error)
        ),
        Effect.andThen(Effect.sleep(EVERY)),
        Effect.forever,
        Effect.forkScoped
      )
      return { term: () => term }
    })
  )
