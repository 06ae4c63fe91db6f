/**
 * Access codes in SQLite or PostgreSQL. Provide the database client that {@link Accounts} uses: one transaction then covers
 * the code and the wallet.
 */
import { Array as Arr, Effect, Layer, Schema } from "effect"
import { type Migrator, SqlClient, type SqlError } from "effect/sql"
import type { AccessCode } from "../../domain/AccessCode.ts"
import { AccessCodes, CodeExists, CodeUnusable, faultOf, WalletActivated } from "../../services/identity/AccessCodes.ts"
import { Accounts } from "../../services/identity/Accounts.ts"
import { SqlBoolean } from "./Dialect.ts"
import { orUnavailable, unavailable } from "./Unavailable.ts"
import { migrateAccessCodes } from "./migrations/access.ts"

const CodeRow = Schema.Struct({
  code_id: Schema.String,
  code_hash: Schema.String,
  label: Schema.String,
  max_uses: Schema.Number,
  uses: Schema.Number,
  badge: SqlBoolean,
  multiplier_bps: Schema.Number,
  expires_time: Schema.NullOr(Schema.Number),
  revoked: SqlBoolean,
  created_time: Schema.Number
})
const readCodes = Schema.decodeUnknownEffect(Schema.Array(CodeRow))
const codeOf = ({ expires_time, ...row }: typeof CodeRow.Type): AccessCode => ({
  ...row,
  ...(expires_time === null ? {} : { expires_time }),
  badge: Boolean(row.badge),
  revoked: Boolean(row.revoked)
})

export const layer: Layer.Layer<
  AccessCodes,
  Migrator.MigrationError | SqlError.SqlError,
  Accounts | SqlClient.SqlClient
> = Layer.effect(
  AccessCodes,
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const sql = yield* SqlClient.SqlClient
    yield* migrateAccessCodes

    const codeWith = (column: "code_hash" | "code_id", value: string) =>
      sql`SELECT * FROM access_codes WHERE ${sql(column)} = ${value}`.pipe(
        Effect.flatMap(readCodes),
        Effect.map(([row]) => (row === undefined ? undefined : codeOf(row)))
      )

    return AccessCodes.of({
      create: (codes) =>
        Effect.gen(function* () {
          if (!Arr.isReadonlyArrayNonEmpty(codes)) return
          const added = yield* sql<{ readonly code_hash: string }>`
            INSERT INTO access_codes ${sql.insert(
              Arr.map(codes, (code) => ({ ...code, expires_time: code.expires_time ?? null }))
            )} ON CONFLICT DO NOTHING RETURNING code_hash`
          if (added.length === codes.length) return
          // of two equal codes in the batch the error names the later one
          const fresh = new Set(added.map(({ code_hash }) => code_hash))
          return yield* new CodeExists({ index: codes.findIndex(({ code_hash }) => !fresh.delete(code_hash)) })
        }).pipe(
          sql.withTransaction,
          Effect.catchTag("SqlError", (cause) => Effect.fail(unavailable(cause)))
        ),

      list: ({ after, label, limit }) => {
        const conditions = [
          ...(label === undefined ? [] : [sql`label = ${label}`]),
          ...(after === undefined ? [] : [sql`(created_time, code_id) < (${after.created_time}, ${after.code_id})`])
        ]
        return sql`
          SELECT * FROM access_codes WHERE ${conditions.length === 0 ? sql`1 = 1` : sql.and(conditions)}
          ORDER BY created_time DESC, code_id DESC LIMIT ${limit}`.pipe(
          Effect.flatMap(readCodes),
          Effect.map((rows) => rows.map(codeOf)),
          orUnavailable
        )
      },

      get: (code_id) => orUnavailable(codeWith("code_id", code_id)),

      revoke: (code_id) =>
        sql`UPDATE access_codes SET revoked = ${true} WHERE code_id = ${code_id} RETURNING code_id`.pipe(
          Effect.map((rows) => rows.length > 0),
          orUnavailable
        ),

      redeem: (code_hash, root_address, now_ms) =>
        Effect.gen(function* () {
          const code = yield* codeWith("code_hash", code_hash)
          const { badge, multiplier_bps } = code ?? { badge: false, multiplier_bps: 0 }
          // a failure below rolls this back
          if (!(yield* accounts.activate(root_address, { badge, multiplier_bps }))) return yield* new WalletActivated()
          const used = yield* sql`
            UPDATE access_codes SET uses = uses + 1
            WHERE code_hash = ${code_hash} AND uses < max_uses AND revoked = ${false}
              AND (expires_time IS NULL OR expires_time > ${now_ms})
            RETURNING code_id`
          // detects a use or a revocation by another gateway since the code was read
          if (used.length === 0)
            return yield* new CodeUnusable({ why: faultOf(yield* codeWith("code_hash", code_hash), now_ms) })
          return { badge, multiplier_bps }
        }).pipe(
          sql.withTransaction,
          Effect.catchTag(["SqlError", "SchemaError"], (cause) => Effect.fail(unavailable(cause)))
        )
    })
  })
)
