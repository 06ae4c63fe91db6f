/**
 * Tables of withdrawal addresses, in SQL that SQLite and PostgreSQL share. Times are Unix ms.
 *
 * A migration that was released is never edited: a change is a new one.
 */
import { Effect } from "effect"
import { Migrator } from "effect/sql"
import { dialect } from "../Dialect.ts"

const withdrawalAddresses = Effect.flatMap(dialect, ({ define }) =>
  define([
    `CREATE TABLE withdrawal_addresses (
      user_id TEXT NOT NULL, destination TEXT NOT NULL, label TEXT NOT NULL, created_time BIGINT NOT NULL,
      effective_time BIGINT NOT NULL, PRIMARY KEY (user_id, destination))`,
    `CREATE TABLE withdrawal_rules (
      user_id TEXT NOT NULL PRIMARY KEY, only_listed BOOLEAN NOT NULL, loosens_time BIGINT)`,
    // one row for each withdrawal that is being submitted; left behind only by a gateway that died
    `CREATE TABLE withdrawal_attempts (
      user_id TEXT NOT NULL, attempt TEXT NOT NULL, until_ms BIGINT NOT NULL, PRIMARY KEY (user_id, attempt))`
  ])
)

/** Brings the tables of withdrawal addresses up to date. */
export const migrateWithdrawalAddresses = Migrator.make({})({
  loader: Migrator.fromRecord({ "1_withdrawal_addresses": withdrawalAddresses }),
  table: "migrations_withdrawals"
})
