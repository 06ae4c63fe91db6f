/**
 * Nonces in SQLite or PostgreSQL: those of logins and activations are permanent, those of API keys last for their window.
 *
 * A claim is one statement, so the database decides races. Claims of API keys that arrive in one turn of the event loop
 * share a statement, and thereby a commit. On a connection that syncs every commit they cost a sync: provide the windowed
 * spaces with a connection of `synchronous` "NORMAL" through `NonceStore.routed`. Its claims survive a crash of the
 * process, and after a power loss the window is over.
 *
 * Deletion leaves marks, rows beside the nonces: the expiries that were deleted, in ranges of {@link RANGE_MS}. While a
 * clock that was set shows a time at which signatures with deleted nonces would be valid, claims are refused as unavailable.
 * Ranges, because a clock that is far ahead for some minutes leaves expiries of that time: after its return, claims are
 * refused only when that time comes. Nonces are deleted some time after they expire, so that the clocks of gateways may
 * differ a little.
 */
import { Array as Arr, Cause, Clock, Duration, Effect, FiberSet, Layer } from "effect"
import { Hex } from "effect/encoding"
import { type Migrator, SqlClient, type SqlError } from "effect/sql"
import { nonceDigest } from "../../domain/Secrets.ts"
import { CLOCKS_APART_MS } from "../../domain/Time.ts"
import * as Daemon from "../../services/operations/Daemon.ts"
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
/** The space of the marks; no nonce space has its name. */
const MARKS = "forgotten"
/** Length of a range of deleted expiries. */
const RANGE_MS = 600_000
/** Marks; the oldest ones beyond them become one, which refuses all times up to its end. A month of steady use has 4,320. */
const MARKS_MAX = 5_000
/** The digest of a mark: the begin of its range, so that marks are in its order. */
const beginOf = (range_ms: number): Uint8Array => {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(Math.max(0, range_ms)))
  return bytes
}
/** The mark of all times before the others. */
const OLDEST = new Uint8Array(0)

interface Claim {
  readonly space: NonceSpace
  readonly digest: Uint8Array
  readonly resume: (answer: Effect.Effect<void, NonceReused | NonceStoreUnavailable>) => void
}
const nameOf = (space: string, digest: Uint8Array): string => `${space} ${Hex.encode(digest)}`

/** Logs when the clock shows a time whose nonces are deleted, and when it has passed it. */
const clockReport = (run: (effect: Effect.Effect<void>) => unknown) => {
  let isClockBehind = false
  return (now: boolean): void => {
    if (now === isClockBehind) return
    isClockBehind = now
    run(
      now
        ? Effect.logWarning(
            "the clock was set to a time whose nonces are deleted: API keys are refused until it has passed"
          )
        : Effect.logInfo("the clock has passed the deleted nonces: API keys are accepted again")
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
        readonly is_forgotten: boolean | number
      }>`
        INSERT INTO windowed_nonces ${sql.insert(
          Arr.map(claims, ({ space, digest }) => ({ space, digest, expires_at_ms: now + retention_ms }))
        )}
        ON CONFLICT (space, digest) DO UPDATE SET expires_at_ms = excluded.expires_at_ms
        WHERE windowed_nonces.expires_at_ms < ${now}
        RETURNING space, digest, EXISTS (
          SELECT 1 FROM windowed_nonces AS mark
          WHERE mark.space = ${MARKS} AND mark.digest BETWEEN ${beginOf(now - RANGE_MS)} AND ${beginOf(now + 2 * retention_ms)}
            AND mark.expires_at_ms >= ${now}
          UNION ALL
          SELECT 1 FROM windowed_nonces AS mark
          WHERE mark.space = ${MARKS} AND mark.digest = ${OLDEST} AND mark.expires_at_ms >= ${now}
        ) AS is_forgotten`
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
        if (rows[0] !== undefined) reportClock(Boolean(rows[0].is_forgotten))
        const won = new Map(rows.map((row) => [nameOf(row.space, row.digest), Boolean(row.is_forgotten)]))
        for (const claim of claims) {
          const isForgotten = won.get(nameOf(claim.space, claim.digest))
          if (isForgotten === undefined) claim.resume(Effect.fail(new NonceReused()))
          else if (!isForgotten) claim.resume(Effect.void)
          else claim.resume(Effect.fail(new NonceStoreUnavailable({ cause: "the clock was set back" })))
        }
      }
    })
  const flush = () => {
    // in one order, so that the statements of two gateways lock rows in turn
    const claims = [...waiting].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, claim]) => claim)
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
    // a gateway whose clock is ahead must not delete the nonces of the others
    const database_ms = yield* sql.onDialectOrElse({
      pg: () =>
        Effect.map(
          sql<{ readonly now: number }>`
            SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now`,
          ([row]) => row!.now
        ),
      orElse: () => Effect.succeed(Infinity)
    })
    const now = Math.min(yield* Clock.currentTimeMillis, database_ms)
    const old = yield* sql<{ readonly range: number; readonly last: number }>`
      SELECT expires_at_ms / ${sql.literal(String(RANGE_MS))} AS range, MAX(expires_at_ms) AS last FROM windowed_nonces
      WHERE expires_at_ms < ${now - CLOCKS_APART_MS} AND space <> ${MARKS} GROUP BY 1 ORDER BY 1`
    if (old.length === 0) return
    const mark = (digest: Uint8Array, expires_at_ms: number) => sql`
      INSERT INTO windowed_nonces ${sql.insert({ space: MARKS, digest, expires_at_ms })}
      ON CONFLICT (space, digest) DO UPDATE SET expires_at_ms = excluded.expires_at_ms
      WHERE windowed_nonces.expires_at_ms < excluded.expires_at_ms`
    // marks first: a nonce is deleted only below one
    for (const { last, range } of old) yield* mark(beginOf(range * RANGE_MS), last)
    const oldest = yield* sql<{ readonly digest: Uint8Array }>`
      SELECT digest FROM windowed_nonces WHERE space = ${MARKS} AND digest > ${OLDEST}
      ORDER BY digest DESC LIMIT 1 OFFSET ${MARKS_MAX}`
    for (const { digest } of oldest) {
      const [gone] = yield* sql<{ readonly last: number }>`
        SELECT MAX(expires_at_ms) AS last FROM windowed_nonces WHERE space = ${MARKS} AND digest <= ${digest}`
      yield* mark(OLDEST, gone!.last)
      yield* sql`DELETE FROM windowed_nonces WHERE space = ${MARKS} AND digest > ${OLDEST} AND digest <= ${digest}`
    }
    const last = old.at(-1)!.last
    while (true) {
      const rows = yield* sql`
        DELETE FROM windowed_nonces WHERE (space, digest) IN (
          SELECT space, digest FROM windowed_nonces
          WHERE expires_at_ms <= ${last} AND space <> ${MARKS} LIMIT ${PRUNE_ROWS}
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
        Daemon.repeat("expired nonces")
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
