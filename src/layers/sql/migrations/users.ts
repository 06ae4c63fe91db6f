/**
 * Tables of referrals, rewards, competitions and bans, in SQL for SQLite and PostgreSQL. Times are Unix ms.
 *
 * A released migration is never edited: a change is a new migration.
 */
import { Effect } from "effect"
import { dialect } from "../Dialect.ts"
import { migrations } from "../Migrations.ts"

const each = (...statements: ReadonlyArray<string>) => Effect.flatMap(dialect, ({ define }) => define(statements))

export const migrateReferrals = migrations("migrations_referrals", {
  "1_referrals": each(
    `CREATE TABLE referrals (
      user_id TEXT NOT NULL PRIMARY KEY, referrer_id TEXT NOT NULL, since BIGINT NOT NULL)`,
    `CREATE INDEX referrals_of ON referrals (referrer_id)`
  )
})

export const migrateBans = migrations("migrations_bans", {
  "1_bans": each(
    `CREATE TABLE bans (
      root_address TEXT NOT NULL PRIMARY KEY, user_id TEXT NOT NULL, banned BOOLEAN NOT NULL, reason TEXT NOT NULL,
      changed_time BIGINT NOT NULL)`,
    `CREATE INDEX bans_changed ON bans (changed_time)`
  )
})

export const migrateRewards = migrations("migrations_rewards", {
  "1_rewards": each(
    `CREATE TABLE rewards (
      reward_id TEXT NOT NULL PRIMARY KEY, user_id TEXT NOT NULL, kind TEXT NOT NULL, asset TEXT NOT NULL,
      amount TEXT NOT NULL, status TEXT NOT NULL, source_id TEXT NOT NULL, created_time BIGINT NOT NULL,
      due_time BIGINT NOT NULL, claimed_time BIGINT, paid_to TEXT)`,
    `CREATE INDEX rewards_list ON rewards (user_id, created_time, reward_id)`,
    `CREATE INDEX rewards_due ON rewards (due_time) WHERE status = 'pending'`,
    // how far the history is counted for rewards that accrue
    `CREATE TABLE reward_sources (source TEXT NOT NULL PRIMARY KEY, counted_to BIGINT NOT NULL, through BIGINT NOT NULL)`
  ),
  "2_status": each(`CREATE INDEX rewards_status ON rewards (user_id, status, created_time, reward_id)`),
  // the stream whose rows counted_to numbers
  "3_stream": each("ALTER TABLE reward_sources ADD COLUMN stream TEXT")
})

export const migrateCompetitions = migrations("migrations_competitions", {
  "1_competitions": each(
    `CREATE TABLE competitions (
      id TEXT NOT NULL PRIMARY KEY, slug TEXT NOT NULL UNIQUE, title TEXT NOT NULL, description_md TEXT NOT NULL,
      start_time_ms BIGINT NOT NULL, end_time_ms BIGINT NOT NULL, prize_usdc BIGINT NOT NULL, symbol TEXT,
      scoring TEXT NOT NULL, state TEXT NOT NULL, created_time BIGINT NOT NULL, finalized_time BIGINT,
      revision BIGINT NOT NULL, counted_to BIGINT NOT NULL, eligible_total TEXT NOT NULL)`,
    `CREATE INDEX competitions_list ON competitions (start_time_ms, id)`,
    // orders eligible entries by rank: it begins with the difference to the greatest score
    `CREATE TABLE competition_entries (
      competition_id TEXT NOT NULL, sub_account_address TEXT NOT NULL, user_id TEXT NOT NULL, days TEXT NOT NULL,
      last_time BIGINT NOT NULL, active_days INTEGER NOT NULL, metric_value TEXT NOT NULL, score TEXT NOT NULL,
      ineligible_reason TEXT, multiplier_bps INTEGER, place TEXT,
      PRIMARY KEY (competition_id, sub_account_address))`,
    `CREATE INDEX competition_entries_of ON competition_entries (competition_id, user_id)`,
    `CREATE INDEX competition_places ON competition_entries (competition_id, place) WHERE place IS NOT NULL`
  ),
  // set when the prize is about to be granted; the competition can no longer be cancelled
  "2_settling": each("ALTER TABLE competitions ADD COLUMN settling BOOLEAN NOT NULL DEFAULT FALSE"),
  // the stream whose rows counted_to numbers
  "3_stream": each("ALTER TABLE competitions ADD COLUMN stream TEXT")
})
