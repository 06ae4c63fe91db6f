/**
 * Tables of the read model, in SQL for SQLite and PostgreSQL.
 *
 * A row keeps the JSON text of its record; the other columns are what lists filter and order by. The id of a row grows with
 * the stream; the row's time and id together are its place in a list.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { dialect } from "../Dialect.ts"
import { backfill, liquidationFees } from "../Backfill.ts"
import { migrations } from "../Migrations.ts"

/** Every table with rows of the read model; {@link migrateHistory} makes the position beside them. */
export const modelTables: ReadonlyArray<string> = [
  "orders",
  "executions",
  "trades",
  "candles",
  "last_candles",
  "movements",
  "known_sub_accounts",
  "instruments",
  "user_events",
  "stream_heads",
  "last_seqs",
  "closed_pnls",
  "transactions",
  "funding_payments",
  "funding_rates",
  "open_interest",
  "insurance_pools",
  "adl_alerts",
  "market_hours",
  "last_market_hours",
  "account_hours",
  "last_account_hours"
]

const tables = [
  `CREATE TABLE history_position (
    one INTEGER PRIMARY KEY, epoch TEXT NOT NULL, seq BIGINT NOT NULL, began BIGINT NOT NULL, ts_ms BIGINT NOT NULL,
    base BIGINT NOT NULL)`,

  `CREATE TABLE orders (
    order_id TEXT PRIMARY KEY, id BIGINT NOT NULL, user_id TEXT NOT NULL, sub_account_address TEXT NOT NULL,
    symbol TEXT NOT NULL, order_link_id TEXT, status TEXT NOT NULL, is_open INTEGER NOT NULL,
    created_time BIGINT NOT NULL, record TEXT NOT NULL)`,
  `CREATE INDEX orders_list ON orders (user_id, created_time, id)`,
  `CREATE INDEX orders_open ON orders (user_id, created_time, id) WHERE is_open = 1`,
  `CREATE INDEX orders_link ON orders (order_link_id, sub_account_address) WHERE order_link_id IS NOT NULL`,
  `CREATE INDEX orders_status ON orders (user_id, status, created_time, id)`,

  `CREATE TABLE executions (
    id BIGINT PRIMARY KEY, user_id TEXT NOT NULL, sub_account_address TEXT NOT NULL, symbol TEXT NOT NULL,
    order_id TEXT NOT NULL, exec_type TEXT NOT NULL, exec_time BIGINT NOT NULL, record TEXT NOT NULL, closing TEXT)`,
  `CREATE INDEX executions_list ON executions (user_id, exec_time, id)`,
  `CREATE INDEX executions_order ON executions (order_id)`,

  `CREATE TABLE trades (
    symbol TEXT NOT NULL, id BIGINT NOT NULL, n INTEGER NOT NULL, record TEXT NOT NULL, PRIMARY KEY (symbol, id, n))`,

  `CREATE TABLE candles (
    kind TEXT NOT NULL, symbol TEXT NOT NULL, span TEXT NOT NULL, start_time BIGINT NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (kind, symbol, span, start_time))`,
  // the last candle of every interval in one row: each trade changes them all
  `CREATE TABLE last_candles (kind TEXT NOT NULL, symbol TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (kind, symbol))`,

  `CREATE TABLE movements (
    user_id TEXT NOT NULL, kind TEXT NOT NULL, transfer_id TEXT NOT NULL, id BIGINT NOT NULL, from_address TEXT,
    to_address TEXT, created_time BIGINT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (user_id, kind, transfer_id))`,
  `CREATE INDEX movements_list ON movements (user_id, created_time, id)`,

  `CREATE TABLE known_sub_accounts (
    sub_account_address TEXT PRIMARY KEY, user_id TEXT NOT NULL, place INTEGER NOT NULL, record TEXT NOT NULL)`,
  `CREATE INDEX known_sub_accounts_user ON known_sub_accounts (user_id)`,
  `CREATE TABLE instruments (symbol TEXT PRIMARY KEY, place INTEGER NOT NULL, record TEXT NOT NULL)`,

  // the events of one user in a batch, one per line; seq and mts are those of the last event
  `CREATE TABLE user_events (
    user_id TEXT NOT NULL, seq BIGINT NOT NULL, mts BIGINT NOT NULL, events TEXT NOT NULL, PRIMARY KEY (user_id, seq))`,
  `CREATE TABLE stream_heads (
    user_id TEXT PRIMARY KEY, seq BIGINT NOT NULL, order_seq BIGINT NOT NULL, execution_seq BIGINT NOT NULL,
    position_seq BIGINT NOT NULL, balance_seq BIGINT NOT NULL)`,
  // the seq of the last event of each position and balance
  `CREATE TABLE last_seqs (
    user_id TEXT NOT NULL, topic TEXT NOT NULL, sub_account_address TEXT NOT NULL, subject TEXT NOT NULL,
    seq BIGINT NOT NULL, PRIMARY KEY (user_id, topic, sub_account_address, subject))`
]

/** Balances and results, and market statistics. */
const ledger = [
  `CREATE TABLE closed_pnls (
    order_id TEXT PRIMARY KEY, id BIGINT NOT NULL, user_id TEXT NOT NULL, sub_account_address TEXT NOT NULL,
    symbol TEXT NOT NULL, created_time BIGINT NOT NULL, record TEXT NOT NULL)`,
  `CREATE INDEX closed_pnls_list ON closed_pnls (user_id, created_time, id)`,
  // two transactions of one event have neighbouring ids
  `CREATE TABLE transactions (
    id BIGINT PRIMARY KEY, user_id TEXT NOT NULL, sub_account_address TEXT NOT NULL, type TEXT NOT NULL,
    time BIGINT NOT NULL, record TEXT NOT NULL)`,
  `CREATE INDEX transactions_list ON transactions (user_id, time, id)`,
  `CREATE INDEX transactions_type ON transactions (user_id, type, time, id)`,
  `CREATE TABLE funding_payments (
    id BIGINT PRIMARY KEY, user_id TEXT NOT NULL, sub_account_address TEXT NOT NULL, symbol TEXT NOT NULL,
    funding_time BIGINT NOT NULL, record TEXT NOT NULL)`,
  `CREATE INDEX movements_kind ON movements (user_id, kind, created_time, id)`,
  `CREATE INDEX funding_payments_list ON funding_payments (user_id, funding_time, id)`,

  `CREATE TABLE funding_rates (
    symbol TEXT NOT NULL, funding_time BIGINT NOT NULL, id BIGINT NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (symbol, funding_time, id))`,
  `CREATE TABLE open_interest (
    symbol TEXT NOT NULL, span TEXT NOT NULL, time BIGINT NOT NULL, id BIGINT NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (symbol, span, time))`,
  `CREATE TABLE insurance_pools (
    symbol TEXT NOT NULL, time BIGINT NOT NULL, id BIGINT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (symbol, time, id))`,
  `CREATE INDEX insurance_pools_all ON insurance_pools (time, id)`,
  `CREATE TABLE adl_alerts (
    symbol TEXT NOT NULL, time BIGINT NOT NULL, id BIGINT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (symbol, time, id))`,
  `CREATE INDEX adl_alerts_all ON adl_alerts (time, id)`,

  // completed hours; the running hour is in the last_ table, which keeps one row per account or market that ever traded
  `CREATE TABLE market_hours (
    user_id TEXT NOT NULL, sub_account_address TEXT NOT NULL, symbol TEXT NOT NULL, hour BIGINT NOT NULL,
    record TEXT NOT NULL, PRIMARY KEY (sub_account_address, symbol, hour))`,
  `CREATE INDEX market_hours_user ON market_hours (user_id, hour)`,
  `CREATE INDEX market_hours_all ON market_hours (hour)`,
  `CREATE TABLE last_market_hours (
    user_id TEXT NOT NULL, sub_account_address TEXT NOT NULL, symbol TEXT NOT NULL, hour BIGINT NOT NULL,
    record TEXT NOT NULL, PRIMARY KEY (sub_account_address, symbol))`,
  `CREATE INDEX last_market_hours_user ON last_market_hours (user_id)`,
  `CREATE INDEX last_market_hours_all ON last_market_hours (hour)`,
  `CREATE TABLE account_hours (
    user_id TEXT NOT NULL, sub_account_address TEXT NOT NULL, hour BIGINT NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (sub_account_address, hour))`,
  `CREATE INDEX account_hours_user ON account_hours (user_id, hour)`,
  `CREATE INDEX account_hours_all ON account_hours (hour)`,
  `CREATE TABLE last_account_hours (
    user_id TEXT NOT NULL, sub_account_address TEXT PRIMARY KEY, hour BIGINT NOT NULL, record TEXT NOT NULL)`,
  `CREATE INDEX last_account_hours_user ON last_account_hours (user_id)`,
  `CREATE INDEX last_account_hours_all ON last_account_hours (hour)`
]

/** The record of the event beside its seq: REST lists it, equal to what the sockets sent. */
const lastRecords = [`ALTER TABLE last_seqs ADD COLUMN record TEXT`]

/**
 * Filters of lists. Each list is one index in its order, and the columns after the order serve the filters: a filter then
 * needs no index of its own, which every insert would have to maintain. An order enters `orders_final` once.
 */
const lists = [
  `DROP INDEX orders_list`,
  `DROP INDEX orders_open`,
  `DROP INDEX orders_status`,
  `DROP INDEX orders_link`,
  `CREATE INDEX orders_list ON orders (user_id, created_time, id, sub_account_address, symbol, side, status)`,
  `CREATE INDEX orders_open ON orders (user_id, created_time, id, sub_account_address, symbol, side, status) WHERE is_open = 1`,
  `CREATE INDEX orders_final ON orders (user_id, status, created_time, id) WHERE is_open = 0`,
  `CREATE INDEX orders_link ON orders (user_id, order_link_id, created_time, id) WHERE order_link_id IS NOT NULL`,
  `DROP INDEX executions_list`,
  `DROP INDEX executions_order`,
  `CREATE INDEX executions_list ON executions (user_id, exec_time, id, sub_account_address, symbol, exec_type, side)`,
  `CREATE INDEX executions_order ON executions (user_id, order_id, exec_time, id)`,
  `DROP INDEX closed_pnls_list`,
  `CREATE INDEX closed_pnls_list ON closed_pnls (user_id, created_time, id, sub_account_address, symbol)`,
  `DROP INDEX transactions_list`,
  `CREATE INDEX transactions_list ON transactions (user_id, time, id, sub_account_address, symbol, type)`,
  `DROP INDEX funding_payments_list`,
  `CREATE INDEX funding_payments_list ON funding_payments (user_id, funding_time, id, sub_account_address, symbol)`,
  `DROP INDEX movements_kind`,
  `CREATE INDEX movements_kind ON movements (user_id, kind, created_time, id, from_address, to_address)`
]
/** Columns that filters read, filled from the records of existing rows. */
const filtered = [
  ["orders", "side"],
  ["executions", "side"],
  ["transactions", "symbol"]
] as const

const addLists = Effect.flatMap(dialect, ({ define, member, unlimited }) =>
  unlimited(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      for (const [table, column] of filtered) {
        yield* define([`ALTER TABLE ${table} ADD COLUMN ${column} TEXT`])
        yield* sql.unsafe(`UPDATE ${table} SET ${column} = ${member("record", column)}`)
      }
      yield* define(lists)
    })
  )
)

/** Migrates the tables of the read model. */
export const migrateHistory = migrations("history_migrations", {
  "0001_read_model": Effect.flatMap(dialect, ({ define }) => define(tables)),
  "0002_ledger": Effect.andThen(
    Effect.flatMap(dialect, ({ define }) => define(ledger)),
    backfill
  ),
  "0003_lists": addLists,
  "0004_last_records": Effect.flatMap(dialect, ({ define }) => define(lastRecords)),
  "0005_liquidation_fees": liquidationFees,
  "0006_forks": Effect.flatMap(dialect, ({ define }) =>
    define(
      ["fork TEXT", "checksum BIGINT", "stream TEXT"].map(
        (column) => `ALTER TABLE history_position ADD COLUMN ${column}`
      )
    )
  ),
  "0007_version": Effect.flatMap(dialect, ({ define }) =>
    define([`ALTER TABLE history_position ADD COLUMN version BIGINT NOT NULL DEFAULT 1`])
  ),
  // gateways from before forks advance the position alone, and leave the checksum of an earlier event
  "0008_checksum_seq": Effect.flatMap(dialect, ({ define }) =>
    define([
      `ALTER TABLE history_position ADD COLUMN checksum_seq BIGINT`,
      `UPDATE history_position SET checksum_seq = seq`
    ])
  )
})
