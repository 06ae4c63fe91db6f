/**
 * Promotions of a PostgreSQL standby, which may lack what the lost primary had confirmed.
 *
 * A promotion begins a timeline of the server's log. Each timeline that a gateway sees has a row, and with it the time up to
 * which nothing is trusted: none if the former timeline had synchronous standbys, because then nothing confirmed is lost.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

/** Every gateway of a fleet sees a promotion within this time, in ms. Source: docs/contract/authentication.md#fresh-gateways. */
export const SEEN_WITHIN_MS = 1_000

/** What the server says of itself in the read of changes. */
export interface ServerState {
  /** Hex digits; null where the server does not tell. */
  readonly timeline: string | null
  /** Whether commits wait for a standby. */
  readonly isSynchronous: boolean
  /** The newest timeline with a row, if there is one, and whether its commits waited for a standby. */
  readonly known: { readonly timeline: string; readonly isSynchronous: boolean; readonly seen_ms: number } | undefined
  /** Unix ms; 0: everything is trusted. */
  readonly untrusted_until_ms: number
}

/** Stores what a read found of the server, and returns the time up to which nothing is trusted. One read at a time. */
export const make = (sql: SqlClient.SqlClient) => {
  /** The last state that this process has seen: newer than what a promoted server may have. */
  let seen: { readonly timeline: string; readonly isSynchronous: boolean } | undefined
  return Effect.fnUntraced(function* (
    { isSynchronous, known, timeline, untrusted_until_ms }: ServerState,
    now_ms: number
  ): Effect.fn.Return<number, SqlError.SqlError> {
    if (timeline === null) return untrusted_until_ms
    const before = seen ?? known
    if (known?.timeline === timeline) {
      if (known.isSynchronous !== isSynchronous)
        yield* sql`UPDATE server_timelines SET is_synchronous = ${isSynchronous} WHERE timeline = ${timeline}`
      seen = { timeline, isSynchronous }
      return untrusted_until_ms
    }
    // a dump that was restored has the timelines of another server, perhaps this one among them
    const seen_ms = known?.seen_ms ?? 0
    const isLossless = before === undefined || before.isSynchronous
    const until_ms = isLossless ? 0 : now_ms + SEEN_WITHIN_MS
    yield* sql`
      INSERT INTO server_timelines (timeline, seen_ms, is_synchronous, untrusted_until_ms)
      VALUES (${timeline}, ${Math.max(now_ms, seen_ms + 1)}, ${isSynchronous}, ${until_ms})
      ON CONFLICT (timeline) DO UPDATE SET
        seen_ms = excluded.seen_ms,
        is_synchronous = excluded.is_synchronous,
        untrusted_until_ms = GREATEST(server_timelines.untrusted_until_ms, excluded.untrusted_until_ms)`
    // only now: the next read judges a timeline without a row again, by the same former one
    seen = { timeline, isSynchronous }
    if (before !== undefined)
      yield* isLossless
        ? Effect.logInfo("a synchronous standby of PostgreSQL was promoted: nothing confirmed is lost").pipe(
            Effect.annotateLogs({ timeline })
          )
        : Effect.logWarning(
            "a standby of PostgreSQL was promoted that may lack confirmed changes: tokens issued until now are revoked. " +
              "Check recent bans and changes of API keys, and set synchronous_standby_names"
          ).pipe(Effect.annotateLogs({ timeline, untrusted_until_ms: until_ms }))
    return Math.max(untrusted_until_ms, until_ms)
  })
}
