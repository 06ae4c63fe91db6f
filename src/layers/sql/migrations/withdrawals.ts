/**
 * Tables of withdrawal addresses, in SQL for SQLite and PostgreSQL. Times are Unix ms.
 *
 * A released migration is never edited: a change is a new migration.
 */
import { Effect } from "effect"
import { dialect } from "../Dialect.ts"
import { migrations } from "../Migrations.ts"

const withdrawalAddresses = Effect.flatMap(dialect, ({ define }) =>
  define([
    `CREATE TABLE withdrawal_addresses (
      user_id TEXT NOT NULL, destination TEXT NOT NULL, label TEXT NOT NULL, created_time BIGINT NOT NULL,
      effective_time BIGINT NOT NULL, PRIMARY KEY (user_id, destination))`,
    `CREATE TABLE withdrawal_rules (
      user_id TEXT NOT NULL PRIMARY KEY, only_listed BOOLEAN NOT NULL, loosens_time BIGINT)`,
    // one row for each withdrawal that is being submitted; only a gateway that died leaves one behind
    `CREATE TABLE withdrawal_attempts (
      user_id TEXT NOT NULL, attempt TEXT NOT NULL, until_ms BIGINT NOT NULL, PRIMARY KEY (user_id, attempt))`
  ])
)

/** Migrates the tables of withdrawal addresses. */
export const migrateWithdrawalAddresses = migrations("migrations_withdrawals", {
  "1_withdrawal_addresses": withdrawalAddresses
})
