/** Users, keys and revocations in SQLite or PostgreSQL. */
import { Clock, Effect, Layer, Schema } from "effect"
import { type Migrator, SqlClient, SqlError } from "effect/sql"
import { MULTIPLIER_BPS_DEFAULT } from "../../domain/AccessCode.ts"
import { Scope } from "../../domain/Enumerations.ts"
import { Rail } from "../../domain/Identity.ts"
import { referralCodeOf } from "../../domain/Referral.ts"
import { TOKEN_VALIDITY_MS } from "../../domain/Time.ts"
import {
  Accounts,
  type ApiKeyPatch,
  type ApiKeyRecord,
  KeyRegistered,
  TooManyKeys,
  type User
} from "../../services/identity/Accounts.ts"
import { type Dialect, dialect, SqlBoolean } from "./Dialect.ts"
import { orUnavailable, unavailable } from "./Unavailable.ts"
import { migrateActivations } from "./migrations/access.ts"
import { migrateAccounts } from "./migrations/accounts.ts"

/** Referral codes to try before the creation of a user fails: among a million users about one meets a taken code. */
const CODE_ATTEMPTS = 8

const Texts = Schema.fromJsonString(Schema.Array(Schema.String))

const UserRow = Schema.Struct({
  user_id: Schema.String,
  root_address: Schema.String,
  rail: Rail,
  party_id: Schema.NullOr(Schema.String),
  referral_code: Schema.String,
  badge: Schema.NullOr(SqlBoolean),
  multiplier_bps: Schema.NullOr(Schema.Number),
  created_time: Schema.Number
})
export const ApiKeyRow = Schema.Struct({
  api_key_id: Schema.String,
  user_id: Schema.String,
  public_key: Schema.String,
  label: Schema.String,
  scopes: Schema.fromJsonString(Schema.Array(Scope)),
  sub_account_addresses: Schema.NullOr(Texts),
  ip_allowlist: Texts,
  expires_time: Schema.NullOr(Schema.Number),
  require_body_hash: SqlBoolean,
  created_time: Schema.Number,
  last_used_time: Schema.NullOr(Schema.Number),
  revoked: SqlBoolean
})
const readUser = Schema.decodeUnknownEffect(UserRow)
const readActivation = Schema.decodeUnknownEffect(Schema.Struct({ badge: SqlBoolean, multiplier_bps: Schema.Number }))
const readApiKeys = Schema.decodeUnknownEffect(Schema.Array(ApiKeyRow))

const userOf = (row: typeof UserRow.Type): User => ({
  ...row,
  party_id: row.party_id ?? undefined,
  activated: row.badge !== null,
  badge: Boolean(row.badge),
  multiplier_bps: row.multiplier_bps ?? MULTIPLIER_BPS_DEFAULT
})
const activationOf = ({
  badge,
  multiplier_bps
}: {
  readonly badge: boolean | 0 | 1
  readonly multiplier_bps: number
}) => ({
  badge: Boolean(badge),
  multiplier_bps
})
export const apiKeyOf = (row: typeof ApiKeyRow.Type): ApiKeyRecord => ({
  ...row,
  sub_account_addresses: row.sub_account_addresses ?? undefined,
  expires_time: row.expires_time ?? undefined,
  last_used_time: row.last_used_time ?? undefined,
  require_body_hash: Boolean(row.require_body_hash),
  revoked: Boolean(row.revoked)
})
const listOf = (some: ReadonlyArray<string> | undefined) => (some === undefined ? null : JSON.stringify(some))

/** The columns that a patch sets. */
const columnsOf = ({ ip_allowlist, scopes, sub_account_addresses, ...plain }: ApiKeyPatch) => ({
  ...plain,
  ...(scopes === undefined ? {} : { scopes: listOf(scopes) }),
  ...(sub_account_addresses === undefined ? {} : { sub_account_addresses: listOf(sub_account_addresses) }),
  ...(ip_allowlist === undefined ? {} : { ip_allowlist: listOf(ip_allowlist) })
})

const isUnique = (error: SqlError.SqlError) => error.reason._tag === "UniqueViolation"

type Part<K extends keyof Accounts["Service"]> = Pick<Accounts["Service"], K>

const exists = (rows: ReadonlyArray<unknown>) => rows.length > 0

/** Users, by id and by referral code. */
const users = (sql: SqlClient.SqlClient): Part<"ensureUser" | "user" | "userOfCode" | "markReady" | "isReady"> => {
  const userWhere = (column: "user_id" | "referral_code", value: string) =>
    Effect.flatMap(
      sql`SELECT user_id, users.root_address, rail, party_id, referral_code, created_time, badge, multiplier_bps
          FROM users LEFT JOIN activations ON activations.root_address = users.root_address
          WHERE ${sql(column)} = ${value}`,
      ([row]) => (row === undefined ? Effect.undefined : Effect.map(readUser(row), userOf))
    )
  const user = (user_id: string) => userWhere("user_id", user_id)

  return {
    ensureUser: ({ user_id, root_address, rail, party_id }) =>
      orUnavailable(
        Effect.gen(function* () {
          const known = yield* user(user_id)
          if (known !== undefined) return { user: known, created: false }
          const created_time = yield* Clock.currentTimeMillis
          for (let attempt = 0; attempt < CODE_ATTEMPTS; attempt++) {
            const inserted = yield* sql`
              INSERT INTO users ${sql.insert({
                user_id,
                root_address,
                rail,
                party_id: party_id ?? null,
                referral_code: referralCodeOf(user_id, attempt),
                ready: false,
                created_time
              })} ON CONFLICT DO NOTHING RETURNING user_id`
            const stored = yield* user(user_id)
            // undefined: another user has the code
            if (stored !== undefined) return { user: stored, created: exists(inserted) }
          }
          return yield* Effect.die(new Error("no unused referral code found"))
        })
      ),
    user: (user_id) => orUnavailable(user(user_id)),
    userOfCode: (referral_code) => orUnavailable(userWhere("referral_code", referral_code)),
    markReady: (user_id) =>
      orUnavailable(Effect.asVoid(sql`UPDATE users SET ready = ${true} WHERE user_id = ${user_id}`)),
    isReady: (user_id) =>
      orUnavailable(Effect.map(sql`SELECT 1 FROM users WHERE user_id = ${user_id} AND ready = ${true}`, exists))
  }
}

/** Keys of parties, the whitelist, and activations. */
const admission = (
  sql: SqlClient.SqlClient
): Part<"partyKey" | "bindPartyKey" | "isWhitelisted" | "setWhitelisted" | "activate" | "activation"> => ({
  partyKey: (party_id) =>
    orUnavailable(
      Effect.map(
        sql<{ readonly public_key: string }>`SELECT public_key FROM party_keys WHERE party_id = ${party_id}`,
        ([row]) => row?.public_key
      )
    ),
  bindPartyKey: (party_id, public_key) =>
    orUnavailable(
      Effect.asVoid(sql`INSERT INTO party_keys ${sql.insert({ party_id, public_key })} ON CONFLICT DO NOTHING`)
    ),
  isWhitelisted: (root_address) =>
    orUnavailable(
      Effect.map(sql`SELECT 1 FROM whitelist WHERE root_address = ${root_address} AND whitelisted = ${true}`, exists)
    ),
  setWhitelisted: (root_address, whitelisted) =>
    orUnavailable(
      Effect.asVoid(sql`
          INSERT INTO whitelist ${sql.insert({ root_address, whitelisted })}
          ON CONFLICT (root_address) DO UPDATE SET whitelisted = excluded.whitelisted`)
    ),
  activate: (root_address, { badge, multiplier_bps }) =>
    Effect.gen(function* () {
      // each statement waits for concurrent writers of this wallet and then sees their rows
      const admitted = yield* sql`
          INSERT INTO whitelist ${sql.insert({ root_address, whitelisted: true })}
          ON CONFLICT (root_address) DO UPDATE SET whitelisted = excluded.whitelisted
          WHERE whitelist.whitelisted = ${false} RETURNING root_address`
      if (!exists(admitted)) return false
      const activated = yield* sql`
          INSERT INTO activations ${sql.insert({ root_address, badge, multiplier_bps })}
          ON CONFLICT DO NOTHING RETURNING root_address`
      // activated earlier and since removed from the whitelist: unchanged
      if (!exists(activated)) return yield* Effect.fail("activated" as const)
      return true
    }).pipe(
      sql.withTransaction,
      Effect.catch((error) => (error === "activated" ? Effect.succeed(false) : Effect.fail(unavailable(error))))
    ),
  activation: (root_address) =>
    orUnavailable(
      Effect.flatMap(
        sql`SELECT badge, multiplier_bps FROM activations WHERE root_address = ${root_address}`,
        ([row]) => (row === undefined ? Effect.undefined : Effect.map(readActivation(row), activationOf))
      )
    )
})

/** API keys. */
const apiKeys = (
  sql: SqlClient.SqlClient,
  { alone, changeTime }: Dialect
): Part<"apiKeys" | "apiKeyOf" | "createApiKey" | "changeApiKey" | "touchApiKey"> => ({
  apiKeys: (user_id) =>
    orUnavailable(
      sql`SELECT * FROM api_keys WHERE user_id = ${user_id} AND revoked = ${false}`.pipe(
        Effect.flatMap(readApiKeys),
        Effect.map((rows) => rows.map(apiKeyOf))
      )
    ),
  apiKeyOf: (public_key) =>
    orUnavailable(
      sql`SELECT * FROM api_keys WHERE public_key = ${public_key}`.pipe(
        Effect.flatMap(readApiKeys),
        Effect.map(([row]) => (row === undefined ? undefined : apiKeyOf(row)))
      )
    ),
  createApiKey: (key, max) =>
    Effect.gen(function* () {
      // serializes gateways that add the last allowed key at the same time
      yield* alone(`api_keys of ${key.user_id}`)
      if (exists(yield* sql`SELECT 1 FROM api_keys WHERE public_key = ${key.public_key}`)) {
        return yield* new KeyRegistered()
      }
      const held = yield* sql`
          SELECT 1 FROM api_keys WHERE user_id = ${key.user_id} AND revoked = ${false} LIMIT ${max}`
      if (held.length >= max) return yield* new TooManyKeys({ max })
      yield* sql`INSERT INTO api_keys ${sql.insert({
        ...key,
        scopes: listOf(key.scopes),
        sub_account_addresses: listOf(key.sub_account_addresses),
        ip_allowlist: listOf(key.ip_allowlist),
        expires_time: key.expires_time ?? null,
        last_used_time: key.last_used_time ?? null
      })}`
    }).pipe(
      sql.withTransaction,
      Effect.catchTag("SqlError", (cause) => Effect.fail(isUnique(cause) ? new KeyRegistered() : unavailable(cause)))
    ),
  changeApiKey: (api_key_id, patch) =>
    orUnavailable(
      Clock.currentTimeMillis.pipe(
        Effect.flatMap(
          // a later change has a later time, whichever gateway makes it
          (now) => sql`
              UPDATE api_keys SET ${sql.update({ revoked: false, ...columnsOf(patch) })},
                changed_time = CASE WHEN changed_time >= ${changeTime(now)} THEN changed_time + 1 ELSE ${changeTime(now)} END
              WHERE api_key_id = ${api_key_id} AND revoked = ${false} RETURNING *`
        ),
        Effect.flatMap(readApiKeys),
        Effect.map(([row]) => (row === undefined ? undefined : apiKeyOf(row)))
      )
    ),
  touchApiKey: (api_key_id, at_ms) =>
    orUnavailable(
      Effect.asVoid(sql`
          UPDATE api_keys SET last_used_time = ${at_ms}
          WHERE api_key_id = ${api_key_id} AND COALESCE(last_used_time, 0) < ${at_ms}`)
    )
})

/** Labels of sub-accounts, and revoked tokens. */
const labelsAndTokens = (
  sql: SqlClient.SqlClient,
  { changeTime }: Dialect
): Part<"labels" | "setLabel" | "revokeToken"> => ({
  labels: (user_id) =>
    orUnavailable(
      Effect.map(
        sql<{ readonly sub_account_address: string; readonly label: string }>`
            SELECT sub_account_address, label FROM labels WHERE user_id = ${user_id}`,
        (rows) => new Map(rows.map((row) => [row.sub_account_address, row.label]))
      )
    ),
  setLabel: (user_id, sub_account_address, label) =>
    orUnavailable(
      Effect.asVoid(sql`
          INSERT INTO labels ${sql.insert({ user_id, sub_account_address, label })}
          ON CONFLICT (user_id, sub_account_address) DO UPDATE SET label = excluded.label`)
    ),
  revokeToken: (jti, expires_at_ms) =>
    orUnavailable(
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        yield* sql`
          INSERT INTO revoked_tokens (jti, expires_at_ms, revoked_time)
          VALUES (${jti}, ${expires_at_ms}, ${changeTime(now)}) ON CONFLICT DO NOTHING`
        yield* sql`DELETE FROM revoked_tokens WHERE expires_at_ms <= ${now - TOKEN_VALIDITY_MS}`
      })
    )
})

export const layer: Layer.Layer<Accounts, Migrator.MigrationError | SqlError.SqlError, SqlClient.SqlClient> =
  Layer.effect(
    Accounts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const sqlDialect = yield* dialect
      yield* migrateAccounts
      yield* migrateActivations
      return Accounts.of({
        ...users(sql),
        ...admission(sql),
        ...apiKeys(sql, sqlDialect),
        ...labelsAndTokens(sql, sqlDialect)
      })
    })
  )
