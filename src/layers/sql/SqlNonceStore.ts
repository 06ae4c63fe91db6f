/**
 * Nonces in a database: those of logins and activations for ever, those of API keys for their window.
 *
 * A claim is one statement, so the database decides races. Claims of API keys that arrive in one turn of the event loop
 * share a statement, and so a commit. Where all spaces share a connection that syncs every commit, that costs a sync: give
 * the windowed spaces a connection with `synchronous` "NORMAL" through `NonceStore.routed`; its claims survive the death
 * of the process, and after a loss of power the window is over.
 *
 * What is deleted leaves a mark, a row beside the nonces: up to when nonces are forgotten. A gateway whose clock was set
 * back behind it refuses claims as unavailable until it has caught up. Nonces are deleted a while after they expired, so that
 * clocks may be a little apart.
 */
import { Array as Arr, Cause, Clock, Duration, Effect, FiberSet, Layer } from "effect"
import { Hex } from "effect/encoding"
import { type Migrator, SqlClient, type SqlError } from "effect/sql"
import { nonceDigest } from "../../domain/Secrets.ts"
import { CLOCKS_APART_MS } from "../../domain/Time.ts"
import { NonceReused, type NonceSpace, NonceStore, NonceStoreUnavailable } from "../../services/identity/NonceStore.ts"
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
/** The row that says up to when nonces are forgotten: no space has its name. */
const MARK = { space: "forgotten", digest: new Uint8Array(0) }

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
          (now) => sql<{
            readonly space: string
            readonly digest: Uint8Array
            readonly is_forgotten: boolean | number
          }>`
            INSERT INTO windowed_nonces ${sql.insert(
              Arr.map(claims, ({ space, digest }) => ({ space, digest, expires_at_ms: now + retention_ms }))
            )}
            ON CONFLICT (space, digest) DO UPDATE SET expires_at_ms = excluded.expires_at_ms
            WHERE windowed_nonces.expires_at_ms < ${now}
            RETURNING space, digest, EXISTS (
              SELECT 1 FROM windowed_nonces AS mark
              WHERE mark.space = ${MARK.space} AND mark.digest = ${MARK.digest} AND mark.expires_at_ms >= ${now}
            ) AS is_forgotten`
        )

      const run = yield* FiberSet.makeRuntime<never>()
      let isBehind = false
      const tell = (now: boolean) => {
        if (now === isBehind) return
        isBehind = now
        run(
          now
            ? Effect.logWarning("the clock was set back: API keys are refused until it has caught up")
            : Effect.logInfo("API keys are taken again")
        )
      }
      let waiting = new Map<string, Claim>()
      /** Claims that the database has not answered. */
      let count = 0
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
                if (rows[0] !== undefined) tell(Boolean(rows[0].is_forgotten))
                const won = new Map(rows.map((row) => [nameOf(row.space, row.digest), Boolean(row.is_forgotten)]))
                for (const claim of some) {
                  const isForgotten = won.get(nameOf(claim.space, claim.digest))
                  claim.resume(
                    isForgotten === undefined
                      ? Effect.fail(new NonceReused())
                      : isForgotten
                        ? Effect.fail(new NonceStoreUnavailable({ cause: "the clock was set back" }))
                        : Effect.void
                  )
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
        const through = (yield* Clock.currentTimeMillis) - CLOCKS_APART_MS
        const [old] = yield* sql<{ readonly last: number | string | null }>`
          SELECT MAX(expires_at_ms) AS last FROM windowed_nonces
          WHERE expires_at_ms < ${through} AND space <> ${MARK.space}`
        if (old === undefined || old.last === null) return
        const last = Number(old.last)
        // the mark first: nothing is forgotten without it
        yield* sql`
          INSERT INTO windowed_nonces ${sql.insert({ ...MARK, expires_at_ms: last })}
          ON CONFLICT (space, digest) DO UPDATE SET expires_at_ms = excluded.expires_at_ms
          WHERE windowed_nonces.expires_at_ms < excluded.expires_at_ms`
        while (true) {
          const rows = yield* sql`
            DELETE FROM windowed_nonces WHERE (space, digest) IN (
              SELECT space, digest FROM windowed_nonces
              WHERE expires_at_ms <= ${last} AND space <> ${MARK.space} LIMIT ${PRUNE_ROWS}
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
