/**
 * Nonces in a database: those of logins and activations for ever, those of API keys for their window.
 *
 * A claim is one statement, so the database decides races. Where all spaces share a connection that syncs every commit,
 * a claim costs a sync: give the windowed spaces a connection with `synchronous` "NORMAL" through `NonceStore.routed`;
 * its claims survive the death of the process, and after a loss of power the window is over.
 */
import { Clock, Duration, Effect, Layer } from "effect"
import { type Migrator, SqlClient, type SqlError } from "effect/sql"
import { nonceDigest } from "../../domain/Secrets.ts"
import { NonceReused, type NonceSpace, NonceStore, NonceStoreUnavailable } from "../../services/NonceStore.ts"
import { migrateNonces } from "./migrations/accounts.ts"

export interface Options {
  /** How long nonces of API keys are kept: twice their window. Default 60 seconds. */
  readonly retention?: Duration.Input
  /** How often expired ones are deleted. Default 30 seconds. */
  readonly prune_every?: Duration.Input
}

/** Rows deleted by one statement, so that claims wait little for it. */
const PRUNE_ROWS = 1000

export const layer = (
  options: Options = {}
): Layer.Layer<NonceStore, Migrator.MigrationError | SqlError.SqlError, SqlClient.SqlClient> =>
  Layer.effect(
    NonceStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* migrateNonces
      const retention_ms = Duration.toMillis(options.retention ?? "60 seconds")

      const insertLogin = (digest: Uint8Array) =>
        sql`INSERT INTO login_nonces (digest) VALUES (${digest}) ON CONFLICT DO NOTHING RETURNING 1`.values
      const insertActivation = (digest: Uint8Array) =>
        sql`INSERT INTO activation_nonces (digest) VALUES (${digest}) ON CONFLICT DO NOTHING RETURNING 1`.values
      // an expired row is as good as none; the last moment of the window still counts
      const insertWindowed = (space: NonceSpace, digest: Uint8Array) =>
        Effect.flatMap(
          Clock.currentTimeMillis,
          (now) =>
            sql`
            INSERT INTO windowed_nonces (space, digest, expires_at_ms)
            VALUES (${space}, ${digest}, ${now + retention_ms})
            ON CONFLICT (space, digest) DO UPDATE SET expires_at_ms = excluded.expires_at_ms
            WHERE windowed_nonces.expires_at_ms < ${now}
            RETURNING 1`.values
        )

      const prune = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        while (true) {
          const rows = yield* sql`
            DELETE FROM windowed_nonces WHERE (space, digest) IN (
              SELECT space, digest FROM windowed_nonces WHERE expires_at_ms < ${now} LIMIT ${PRUNE_ROWS}
            ) RETURNING 1`.values
          if (rows.length < PRUNE_ROWS) return
        }
      }).pipe(Effect.catch((error) => Effect.logWarning("expired nonces not deleted", error)))
      yield* prune.pipe(
        Effect.andThen(Effect.sleep(options.prune_every ?? "30 seconds")),
        Effect.forever,
        Effect.forkScoped
      )

      return NonceStore.of({
        claim: (space, owner, nonce) => {
          const digest = nonceDigest(owner, nonce)
          const insert =
            space === "login"
              ? insertLogin(digest)
              : space === "activation"
                ? insertActivation(digest)
                : insertWindowed(space, digest)
          return Effect.matchEffect(insert, {
            onFailure: (cause) => Effect.fail(new NonceStoreUnavailable({ cause })),
            onSuccess: (rows) => (rows.length === 0 ? Effect.fail(new NonceReused()) : Effect.void)
          })
        }
      })
    })
  )
