/** The audit trail in SQLite or PostgreSQL. Rows are only added. */
import { Effect, Layer, Schema } from "effect"
import { type Migrator, SqlClient, type SqlError } from "effect/sql"
import { AuditEntry, partOf } from "../../domain/Audit.ts"
import { AuditStore } from "../../services/identity/AuditStore.ts"
import { orUnavailable } from "./Unavailable.ts"
import { migrateAudit } from "./migrations/audit.ts"

const Records = Schema.Array(Schema.Struct({ record: Schema.fromJsonString(AuditEntry) }))
const readRecords = Schema.decodeUnknownEffect(Records)

export const layer: Layer.Layer<AuditStore, Migrator.MigrationError | SqlError.SqlError, SqlClient.SqlClient> =
  Layer.effect(
    AuditStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* migrateAudit
      return AuditStore.of({
        append: (entry) =>
          orUnavailable(
            Effect.asVoid(
              sql`INSERT INTO audit_trail ${sql.insert({
                time: entry.time,
                audit_id: entry.audit_id,
                part: partOf(entry),
                actor: entry.actor,
                action: entry.action,
                record: JSON.stringify(entry)
              })}`
            )
          ),
        list: ({ action, actor, after, end_time, limit, start_time }) => {
          const conditions = [
            sql`1 = 1`,
            ...(actor === undefined ? [] : [sql`actor = ${actor}`]),
            ...(action === undefined ? [] : [sql`action = ${action}`]),
            ...(start_time === undefined ? [] : [sql`time >= ${start_time}`]),
            ...(end_time === undefined ? [] : [sql`time < ${end_time}`]),
            ...(after === undefined
              ? []
              : [sql`(time, audit_id, part) < (${after.time}, ${after.audit_id}, ${after.part})`])
          ]
          return orUnavailable(
            sql`SELECT record FROM audit_trail WHERE ${sql.and(conditions)}
                ORDER BY time DESC, audit_id DESC, part DESC LIMIT ${limit}`.pipe(
              Effect.flatMap(readRecords),
              Effect.map((rows) => rows.map(({ record }) => record))
            )
          )
        }
      })
    })
  )
