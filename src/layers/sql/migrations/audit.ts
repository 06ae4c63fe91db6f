/**
 * Table of the audit trail, in SQL for SQLite and PostgreSQL. Times are Unix ms.
 *
 * A released migration is never edited: a change is a new migration.
 */
import { Effect } from "effect"
import { dialect } from "../Dialect.ts"
import { migrations } from "../Migrations.ts"

const auditTrail = Effect.flatMap(dialect, ({ define }) =>
  define([
    `CREATE TABLE audit_trail (
      time BIGINT NOT NULL, audit_id TEXT NOT NULL, part INTEGER NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL,
      record TEXT NOT NULL, PRIMARY KEY (audit_id, part))`,
    `CREATE INDEX audit_trail_list ON audit_trail (time, audit_id, part)`,
    `CREATE INDEX audit_trail_actor ON audit_trail (actor, time, audit_id, part)`,
    `CREATE INDEX audit_trail_action ON audit_trail (action, time, audit_id, part)`
  ])
)

/** Migrates the table of the audit trail. */
export const migrateAudit = migrations("migrations_audit", { "1_audit_trail": auditTrail })
