/**
 * Table of the audit trail, in SQL that SQLite and PostgreSQL share. Times are Unix ms.
 *
 * A migration that was released is never edited: a change is a new one.
 */
import { Effect } from "effect"
import { Migrator } from "effect/sql"
import { dialect } from "../Dialect.ts"

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

/** Brings the table of the audit trail up to date. */
export const migrateAudit = Migrator.make({})({
  loader: Migrator.fromRecord({ "1_audit_trail": auditTrail }),
  table: "migrations_audit"
})
