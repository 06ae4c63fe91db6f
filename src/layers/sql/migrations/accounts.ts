/**
 * Tables of accounts and nonces, in SQL for SQLite and PostgreSQL. Times are Unix ms.
 *
 * A released migration is never edited: a change is a new migration.
 */
import { Effect } from "effect"
import { type Dialect, dialect } from "../Dialect.ts"
import { migrations } from "../Migrations.ts"

const each = (statements: (words: Dialect) => ReadonlyArray<string>) =>
  Effect.flatMap(dialect, (words) => words.define(statements(words)))

const accounts = each(() => [
  `CREATE TABLE users (
    user_id TEXT NOT NULL PRIMARY KEY,
    root_address TEXT NOT NULL UNIQUE,
    rail TEXT NOT NULL,
    party_id TEXT,
    referral_code TEXT NOT NULL UNIQUE,
    activated BOOLEAN NOT NULL,
    badge BOOLEAN NOT NULL,
    multiplier_bps INTEGER NOT NULL,
    ready BOOLEAN NOT NULL,
    created_time BIGINT NOT NULL
  )`,
  `CREATE TABLE party_keys (party_id TEXT NOT NULL PRIMARY KEY, public_key TEXT NOT NULL)`,
  `CREATE TABLE whitelist (root_address TEXT NOT NULL PRIMARY KEY, whitelisted BOOLEAN NOT NULL)`,
  // rows of revoked keys stay: a public key can be registered only once
  `CREATE TABLE api_keys (
    api_key_id TEXT NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL,
    public_key TEXT NOT NULL UNIQUE,
    label TEXT NOT NULL,
    scopes TEXT NOT NULL,
    sub_account_addresses TEXT,
    ip_allowlist TEXT NOT NULL,
    expires_time BIGINT,
    require_body_hash BOOLEAN NOT NULL,
    created_time BIGINT NOT NULL,
    last_used_time BIGINT,
    revoked BOOLEAN NOT NULL
  )`,
  `CREATE INDEX api_keys_of_user ON api_keys (user_id)`,
  `CREATE TABLE labels (
    user_id TEXT NOT NULL,
    sub_account_address TEXT NOT NULL,
    label TEXT NOT NULL,
    PRIMARY KEY (user_id, sub_account_address)
  )`,
  `CREATE TABLE revoked_tokens (jti TEXT NOT NULL PRIMARY KEY, expires_at_ms BIGINT NOT NULL)`,
  `CREATE INDEX revoked_tokens_by_expiry ON revoked_tokens (expires_at_ms)`
])

// for other gateways, which read recent revocations
const revocations = each(() => [
  `ALTER TABLE revoked_tokens ADD COLUMN revoked_time BIGINT NOT NULL DEFAULT 0`,
  `CREATE INDEX revoked_tokens_by_time ON revoked_tokens (revoked_time)`
])

// for other gateways, which read recent changes of keys
const keyChanges = each(() => [
  `ALTER TABLE api_keys ADD COLUMN changed_time BIGINT NOT NULL DEFAULT 0`,
  `CREATE INDEX api_keys_by_change ON api_keys (changed_time)`
])

// of PostgreSQL: ../Promotions.ts
const timelines = each(() => [
  `CREATE TABLE server_timelines (
    timeline TEXT NOT NULL PRIMARY KEY,
    seen_ms BIGINT NOT NULL,
    is_synchronous BOOLEAN NOT NULL,
    untrusted_until_ms BIGINT NOT NULL
  )`
])

const nonces = each(({ bytes, clustered }) => [
  // 32 bytes per row, permanent: docs/contract/authentication.md#login
  `CREATE TABLE login_nonces (digest ${bytes} NOT NULL PRIMARY KEY) ${clustered}`,
  `CREATE TABLE activation_nonces (digest ${bytes} NOT NULL PRIMARY KEY) ${clustered}`,
  `CREATE TABLE windowed_nonces (
    space TEXT NOT NULL,
    digest ${bytes} NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    PRIMARY KEY (space, digest)
  ) ${clustered}`,
  `CREATE INDEX windowed_nonces_by_expiry ON windowed_nonces (expires_at_ms)`
])

const switches = each(() => [
  `CREATE TABLE switches (
    user_id TEXT NOT NULL,
    sub_account_address TEXT NOT NULL,
    enabled BOOLEAN NOT NULL,
    time_window INTEGER NOT NULL,
    PRIMARY KEY (user_id, sub_account_address)
  )`
])

// the row of an absence has an empty address; the others are windows of sub-accounts in it
const absences = each(() => [
  `CREATE TABLE absences (
    user_id TEXT NOT NULL,
    sub_account_address TEXT NOT NULL,
    began_ms BIGINT NOT NULL,
    canceled BOOLEAN NOT NULL,
    PRIMARY KEY (user_id, sub_account_address)
  )`
])

/** Migrates the tables of accounts. */
export const migrateAccounts = migrations("migrations_accounts", {
  "1_accounts": accounts,
  "2_revocations": revocations,
  "3_key_changes": keyChanges,
  "4_timelines": timelines
})

/** Migrates the tables of nonces. */
export const migrateNonces = migrations("migrations_nonces", { "1_nonces": nonces })

/** Migrates the tables of the dead-man's switch. */
export const migrateSwitches = migrations("migrations_switches", { "1_switches": switches, "2_absences": absences })
