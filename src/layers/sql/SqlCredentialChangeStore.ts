/** Changes of credentials in SQLite or PostgreSQL, of every kind in one statement: one round trip renews a lease. */
import { Clock, Effect, Layer, Schema } from "effect"
import { type Migrator, SqlClient, type SqlError } from "effect/sql"
import { type ChangedCredentials, CredentialChangeStore } from "../../services/identity/CredentialChangeStore.ts"
import { SqlBoolean } from "./Dialect.ts"
import * as Promotions from "./Promotions.ts"
import { unavailable } from "./Unavailable.ts"
import { migrateAccounts } from "./migrations/accounts.ts"
import { migrateBans } from "./migrations/users.ts"
import { ApiKeyRow, apiKeyOf } from "./SqlAccounts.ts"

const ChangeRow = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("key"), changed_time: Schema.Number, ...ApiKeyRow.fields }),
  Schema.Struct({ kind: Schema.Literal("token"), api_key_id: Schema.String, expires_time: Schema.Number }),
  Schema.Struct({
    kind: Schema.Literal("ban"),
    changed_time: Schema.Number,
    api_key_id: Schema.String,
    user_id: Schema.String,
    label: Schema.String,
    revoked: SqlBoolean
  }),
  Schema.Struct({
    kind: Schema.Literals(["server", "timeline"]),
    api_key_id: Schema.NullOr(Schema.String),
    changed_time: Schema.Number,
    expires_time: Schema.Number,
    revoked: SqlBoolean
  })
])
const readRows = Schema.decodeUnknownEffect(Schema.Array(ChangeRow))

/** The server, and the newest of its timelines that has a row. */
const serverOf = (rows: ReadonlyArray<typeof ChangeRow.Type>): Promotions.ServerState => {
  const server = rows.find(({ kind }) => kind === "server")
  const timelines = rows.flatMap((row) => (row.kind === "timeline" ? [row] : []))
  const newest = timelines.toSorted((a, b) => a.changed_time - b.changed_time).at(-1)
  return {
    timeline: server?.kind === "server" ? server.api_key_id : null,
    isSynchronous: server?.kind === "server" && Boolean(server.revoked),
    known: newest && {
      timeline: newest.api_key_id!,
      isSynchronous: Boolean(newest.revoked),
      seen_ms: newest.changed_time
    },
    untrusted_until_ms: Math.max(0, ...timelines.map(({ expires_time }) => expires_time))
  }
}

/** The clock of a server that gateways share. */
const clockOf = (rows: ReadonlyArray<typeof ChangeRow.Type>): number => {
  const server = rows.find(({ kind }) => kind === "server")
  return server?.kind === "server" ? server.changed_time : Infinity
}

const changedOf = (
  rows: ReadonlyArray<typeof ChangeRow.Type>
): Pick<ChangedCredentials, "keys" | "tokens" | "bans"> => ({
  keys: rows.flatMap((row) => {
    if (row.kind !== "key") return []
    const { changed_time, kind: _, ...key } = row
    return [{ key: apiKeyOf(key), changed_time }]
  }),
  tokens: rows.flatMap((row) =>
    row.kind === "token" ? [{ jti: row.api_key_id, expires_at_ms: row.expires_time }] : []
  ),
  bans: rows.flatMap((row) =>
    row.kind === "ban"
      ? [
          {
            root_address: row.api_key_id,
            user_id: row.user_id,
            banned: Boolean(row.revoked),
            reason: row.label,
            changed_time: row.changed_time
          }
        ]
      : []
  )
})

export const layer: Layer.Layer<
  CredentialChangeStore,
  Migrator.MigrationError | SqlError.SqlError,
  SqlClient.SqlClient
> = Layer.effect(
  CredentialChangeStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* migrateAccounts
    yield* migrateBans
    /** A server in recovery has no timeline of its own. */
    const server = sql.onDialectOrElse({
      pg: () => sql`
        UNION ALL
        SELECT 'server', CASE WHEN pg_is_in_recovery() THEN NULL
            ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END,
          NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL,
          current_setting('synchronous_standby_names') <> ''
            AND current_setting('synchronous_commit') NOT IN ('off', 'local'),
          floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint
        UNION ALL
        SELECT 'timeline', timeline, NULL, NULL, NULL, NULL, NULL, NULL, untrusted_until_ms, NULL, NULL, NULL,
          is_synchronous, seen_ms
        FROM server_timelines`,
      orElse: () => sql``
    })
    /** Tokens and bans have the columns of keys: a token its id and expiry, a ban its wallet, reason and state. */
    const rowsSince = (since: number, keysSince: number) => sql`
      SELECT 'key' AS kind, api_key_id, user_id, public_key, label, scopes, sub_account_addresses, ip_allowlist,
        expires_time, require_body_hash, created_time, last_used_time, revoked, changed_time
      FROM api_keys WHERE changed_time >= ${keysSince}
      UNION ALL
      SELECT 'token', jti, NULL, NULL, NULL, NULL, NULL, NULL, expires_at_ms, NULL, NULL, NULL, NULL, revoked_time
      FROM revoked_tokens WHERE revoked_time >= ${since}
      UNION ALL
      SELECT 'ban', root_address, user_id, NULL, reason, NULL, NULL, NULL, NULL, NULL, NULL, NULL, banned, changed_time
      FROM bans WHERE changed_time >= ${since}${server}`
    const state = Promotions.make(sql)
    return CredentialChangeStore.of({
      changes: (since) =>
        Clock.currentTimeMillis.pipe(
          Effect.flatMap((began_ms) =>
            rowsSince(since ?? 0, since ?? Number.MAX_SAFE_INTEGER).pipe(
              Effect.flatMap(readRows),
              Effect.flatMap((rows) =>
                Effect.flatMap(Clock.currentTimeMillis, (now) => state(serverOf(rows), now)).pipe(
                  Effect.map((untrusted_until_ms) => ({
                    ...changedOf(rows),
                    untrusted_until_ms,
                    read_ms: Math.min(began_ms, clockOf(rows))
                  }))
                )
              )
            )
          ),
          Effect.mapError(unavailable)
        )
    })
  })
)
