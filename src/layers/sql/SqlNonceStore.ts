/**
 * Nonces in a database: those of logins and activations for ever, those of API keys for their window.
 *
 * A claim is one statement, so the database decides races. Claims of API keys that arrive in one turn of the event loop
 * share a statement, and so a commit. Where all spaces share a connection that syncs every commit, that costs a sync: give
 * the windowed spaces a connection with `synchronous` "NORMAL" through `NonceStore.routed`; its claims survive the death
 * of the process, and after a loss of power the window is over.
 */
import { Array as Arr, Cause, Clock, Duration, Effect, FiberSet, Layer } from "effect"
import { Hex } from "effect/encoding"
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

/** Claims written by one statement; more of a turn take several. */
const BATCH_MAX = 64
/** Claims that may wait for the database; later ones are refused as unavailable. */
const WAITING_MAX = 4096
/** Rows deleted by one statement, so that claims wait little for it. */
const PRUNE_ROWS = 1000

interface Claim {
  readonly space: NonceSpace
  readonly digest: Uint8Array
  readonly resume: (answer: Effect.Effect<void, NonceReused | NonceStoreUnavailable>) => void
}
const nameOf = (space: string, digest: Uint8Array): string => `${space} ${Hex.encode(digest)}`

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
      const insertWindowed = (claims: Arr.NonEmptyReadonlyArray<Claim>) =>
        Effect.flatMap(
          Clock.currentTimeMillis,
          (now) => sql<{ readonly space: string; readonly digest: Uint8Array }>`
            INSERT INTO windowed_nonces ${sql.insert(
              Arr.map(claims, ({ space, digest }) => ({ space, digest, expires_at_ms: now + retention_ms }))
            )}
            ON CONFLICT (space, digest) DO UPDATE SET expires_at_ms = excluded.expires_at_ms
            WHERE windowed_nonces.expires_at_ms < ${now}
            RETURNING space, digest`
        )

      let waiting = new Map<string, Claim>()
      /** Claims that the database has not answered. */
      let count = 0
      const run = yield* FiberSet.makeRuntime<never>()
      const flush = () => {
        const claims = [...waiting.values()]
        waiting = new Map()
        for (const some of Arr.chunksOf(claims, BATCH_MAX)) {
          run(
            Effect.matchCause(insertWindowed(some), {
              // a defect too must not leave a caller waiting
              onFailure: (failed) => {
                const cause = Cause.squash(failed)
                count -= some.length
                for (const claim of some) claim.resume(Effect.fail(new NonceStoreUnavailable({ cause })))
              },
              onSuccess: (rows) => {
                count -= some.length
                const won = new Set(rows.map(({ space, digest }) => nameOf(space, digest)))
                for (const claim of some) {
                  const name = nameOf(claim.space, claim.digest)
                  claim.resume(won.has(name) ? Effect.void : Effect.fail(new NonceReused()))
                }
              }
            })
          )
        }
      }
      const claimWindowed = (space: NonceSpace, digest: Uint8Array) =>
        Effect.callback<void, NonceReused | NonceStoreUnavailable>((resume) => {
          const name = nameOf(space, digest)
          // of two in one turn the first is before the second, as it would be on its own
          if (waiting.has(name)) return resume(Effect.fail(new NonceReused()))
          if (count >= WAITING_MAX) return resume(Effect.fail(new NonceStoreUnavailable({})))
          if (waiting.size === 0) setImmediate(flush)
          count++
          waiting.set(name, { space, digest, resume })
        })

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
          if (space === "rest" || space === "ws") return claimWindowed(space, digest)
          const insert = space === "login" ? insertLogin(digest) : insertActivation(digest)
          return Effect.matchEffect(insert, {
            onFailure: (cause) => Effect.fail(new NonceStoreUnavailable({ cause })),
            onSuccess: (rows) => (rows.length === 0 ? Effect.fail(new NonceReused()) : Effect.void)
          })
        }
      })
    })
  )
