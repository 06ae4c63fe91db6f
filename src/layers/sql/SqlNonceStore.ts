/**
 * Nonces in SQLite or PostgreSQL: those of logins and activations are permanent, those of API keys last for their window.
 *
 * A claim is one statement, so the database decides races. Claims of API keys that arrive in one turn of the event loop
 * share a statement, and thereby a commit. On a connection that syncs every commit they cost a sync: provide the windowed
 * spaces with a connection of `synchronous` "NORMAL" through `NonceStore.routed`. Its claims survive a crash of the
 * process, and after a power loss the window is over.
 *
 * Deletion leaves a watermark, a row beside the nonces: the newest expiry that was deleted. A gateway whose clock was set
 * back behind it refuses claims as unavailable until the clock has caught up. Nonces are deleted some time after they
 * expire, so that the clocks of gateways may differ a little.
 */
import { Array as Arr, Cause, Clock, Duration, Effect, FiberSet, Layer } from "effect"
import { Hex } from "effect/encoding"
import { type Migrator, SqlClient, type SqlError } from "effect/sql"
import { nonceDigest } from "../../domain/Secrets.ts"
import { CLOCKS_APART_MS } from "../../domain/Time.ts"
import { NonceReused, type NonceSpace, NonceStore, NonceStoreUnavailable } from "../../services/identity/NonceStore.ts"
import { migrateNonces } from "./migrations/accounts.ts"

export interface Options {
  /** Retention of API-key nonces: twice their window. Default 60 seconds. */
  readonly retention?: Duration.Input
  /** Interval between deletions of expired nonces. Default 30 seconds. */
  readonly prune_every?: Duration.Input
}

/** Claims per statement. */
const BATCH_MAX = 64
/** Claims that wait for the database; further ones are refused as unavailable. */
const WAITING_MAX = 4096
/** Rows per deletion, so that claims wait only briefly for it. */
const PRUNE_ROWS = 1000
/** The row of the watermark; no nonce space has its name. */
const WATERMARK = { space: "forgotten", digest: new Uint8Array(0) }

interface Claim {
  readonly space: NonceSpace
  readonly digest: Uint8Array
  readonly resume: (answer: Effect.Effect<void, NonceReused | NonceStoreUnavailable>) => void
}
const nameOf = (space: string, digest: Uint8Array): string => `${space} ${Hex.encode(digest)}`

/** Logs when the clock falls behind the watermark, and when it has caught up. */
const clockReport = (run: (effect: Effect.Effect<void>) => unknown) => {
  let isClockBehind = false
  return (now: boolean): void => {
    if (now === isClockBehind) return
    isClockBehind = now
    run(
      now
        ? Effect.logWarning("the clock was set back: API keys are refused until the clock catches up")
        : Effect.logInfo("the clock has caught up: API keys are accepted again")
    )
  }
}

/** Claims of API-key nonces: those of one turn of the event loop share a statement. */
const windowedClaims = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, retention_ms: number) {
  const run = yield* FiberSet.makeRuntime<never>()
  const reportClock = clockReport(run)

  // an expired row does not count; a row counts up to and including the last ms of its window
  const insert = (claims: Arr.NonEmptyReadonlyArray<Claim>) =>
    Effect.flatMap(
      Clock.currentTimeMillis,
      (now) => sql<{
        readonly space: string
        readonly digest: Uint8Array
        readonly is_below_watermark: boolean | number
      }>`
        INSERT INTO windowed_nonces ${sql.insert(
          Arr.map(claims, ({ space, digest }) => ({ space, digest, expires_at_ms: now + retention_ms }))
        )}
        ON CONFLICT (space, digest) DO UPDATE SET expires_at_ms = excluded.expires_at_ms
        WHERE windowed_nonces.expires_at_ms < ${now}
        RETURNING space, digest, EXISTS (
          SELECT 1 FROM windowed_nonces AS mark
          WHERE mark.space = ${WATERMARK.space} AND mark.digest = ${WATERMARK.digest} AND mark.expires_at_ms >= ${now}
        ) AS is_below_watermark`
    )

  let waiting = new Map<string, Claim>()
  /** Claims without a result of the database. */
  let count = 0
  const write = (claims: Arr.NonEmptyReadonlyArray<Claim>) =>
    Effect.matchCause(insert(claims), {
      // a defect must complete the claims too
      onFailure: (failed) => {
        const cause = Cause.squash(failed)
        count -= claims.length
        for (const claim of claims) claim.resume(Effect.fail(new NonceStoreUnavailable({ cause })))
      },
      onSuccess: (rows) => {
        count -= claims.length
        if (rows[0] !== undefined) reportClock(Boolean(rows[0].is_below_watermark))
        const won = new Map(rows.map((row) => [nameOf(row.space, row.digest), Boolean(row.is_below_watermark)]))
        for (const claim of claims) {
          const isBelowWatermark = won.get(nameOf(claim.space, claim.digest))
          if (isBelowWatermark === undefined) claim.resume(Effect.fail(new NonceReused()))
          else if (!isBelowWatermark) claim.resume(Effect.void)
          else claim.resume(Effect.fail(new NonceStoreUnavailable({ cause: "the clock was set back" })))
        }
      }
    })
  const flush = () => {
    const claims = [...waiting.values()]
    waiting = new Map()
    for (const batch of Arr.chunksOf(claims, BATCH_MAX)) run(write(batch))
  }

  return (space: NonceSpace, digest: Uint8Array) =>
    Effect.callback<void, NonceReused | NonceStoreUnavailable>((resume) => {
      const name = nameOf(space, digest)
      // of two equal claims in one turn the first wins, as it would in two statements
      if (waiting.has(name)) return resume(Effect.fail(new NonceReused()))
      if (count >= WAITING_MAX) return resume(Effect.fail(new NonceStoreUnavailable({})))
      if (waiting.size === 0) setImmediate(flush)
      count++
      waiting.set(name, { space, digest, resume })
    })
})

/** Deletes expired API-key nonces in batches. */
const prune = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const through = (yield* Clock.currentTimeMillis) - CLOCKS_APART_MS
    const [old] = yield* sql<{ readonly last: number | string | null }>`
      SELECT MAX(expires_at_ms) AS last FROM windowed_nonces
      WHERE expires_at_ms < ${through} AND space <> ${WATERMARK.space}`
    if (old === undefined || old.last === null) return
    const last = Number(old.last)
    // watermark first: a nonce is deleted only below it
    yield* sql`
      INSERT INTO windowed_nonces ${sql.insert({ ...WATERMARK, expires_at_ms: last })}
      ON CONFLICT (space, digest) DO UPDATE SET expires_at_ms = excluded.expires_at_ms
      WHERE windowed_nonces.expires_at_ms < excluded.expires_at_ms`
    while (true) {
      const rows = yield* sql`
        DELETE FROM windowed_nonces WHERE (space, digest) IN (
          SELECT space, digest FROM windowed_nonces
          WHERE expires_at_ms <= ${last} AND space <> ${WATERMARK.space} LIMIT ${PRUNE_ROWS}
        ) RETURNING 1`.values
      if (rows.length < PRUNE_ROWS) return
    }
  }).pipe(Effect.catch((error) => Effect.logWarning("expired nonces not deleted", error)))

export const layer = (
  options: Options = {}
): Layer.Layer<NonceStore, Migrator.MigrationError | SqlError.SqlError, SqlClient.SqlClient> =>
  Layer.effect(
    NonceStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* migrateNonces
      const claimWindowed = yield* windowedClaims(sql, Duration.toMillis(options.retention ?? "60 seconds"))
      const insertLogin = (digest: Uint8Array) =>
        sql`INSERT INTO login_nonces (digest) VALUES (${digest}) ON CONFLICT DO NOTHING RETURNING 1`.values
      const insertActivation = (digest: Uint8Array) =>
        sql`INSERT INTO activation_nonces (digest) VALUES (${digest}) ON CONFLICT DO NOTHING RETURNING 1`.values
      yield* prune(sql).pipe(
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
