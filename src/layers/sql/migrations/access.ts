/**
 * Tables of access codes and activations, in SQL for SQLite and PostgreSQL. Times are Unix ms.
 *
 * A released migration is never edited: a change is a new migration.
 */
import { Effect } from "effect"
import { dialect } from "../Dialect.ts"
import { migrations } from "../Migrations.ts"

const each = (statements: ReadonlyArray<string>) => Effect.flatMap(dialect, ({ define }) => define(statements))

// a wallet can activate before its first login, so the benefits of a code belong to the wallet, not the user
const activations = each([
  `CREATE TABLE activations (
    root_address TEXT NOT NULL PRIMARY KEY,
    badge BOOLEAN NOT NULL,
    multiplier_bps INTEGER NOT NULL
  )`,
  `ALTER TABLE users DROP COLUMN activated`,
  `ALTER TABLE users DROP COLUMN badge`,
  `ALTER TABLE users DROP COLUMN multiplier_bps`
])

const accessCodes = each([
  `CREATE TABLE access_codes (
    code_id TEXT NOT NULL PRIMARY KEY,
    code_hash TEXT NOT NULL UNIQUE,
    label TEXT NOT NULL,
    max_uses BIGINT NOT NULL,
    uses BIGINT NOT NULL,
    badge BOOLEAN NOT NULL,
    multiplier_bps INTEGER NOT NULL,
    expires_time BIGINT,
    revoked BOOLEAN NOT NULL,
    created_time BIGINT NOT NULL
  )`,
  `CREATE INDEX access_codes_by_time ON access_codes (created_time, code_id)`,
  `CREATE INDEX access_codes_by_label ON access_codes (label, created_time, code_id)`
])

/** Migrates the benefits of activated wallets; needs the tables of accounts. */
export const migrateActivations = migrations("migrations_activations", { "1_activations": activations })

/** Migrates the table of access codes. */
export const migrateAccessCodes = migrations("migrations_access_codes", { "1_access_codes": accessCodes })
