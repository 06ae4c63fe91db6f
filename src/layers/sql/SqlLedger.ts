/**
 * The ledger's part of the read model in SQL: money, results, and what markets tell now and then.
 *
 * Rows are written in the transaction of {@link SqlHistory}'s commit; all that is asked of them is one range of an index.
 */
import { Effect } from "effect"
import type { SqlConnection, SqlError } from "effect/sql"
import {
  type AccountRow,
  type HourOf,
  type MarketRow,
  parseAccount,
  parseMarket,
  print
} from "../../domain/HourlyStats.ts"
import type { ClosedPnl } from "../../domain/ClosedPnl.ts"
import type { Closing, Execution } from "../../domain/Execution.ts"
import type { FundingPayment, FundingRate } from "../../domain/Funding.ts"
import type { AdlAlert, InsurancePool } from "../../domain/InsurancePool.ts"
import type { LedgerState } from "../../domain/Ledger.ts"
import type { OpenInterest } from "../../domain/Market.ts"
import type { Projection } from "../../domain/Projection.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import { type History, type HoursQuery, type ListQuery, type MarketsQuery, OFFSET_MAX } from "../../services/History.ts"
import { type Ranged, type Tables, Where } from "./Tables.ts"

type Reads = Pick<
  History["Service"],
  | "executionsAt"
  | "closedPnls"
  | "transactions"
  | "fundingPayments"
  | "fundingRates"
  | "openInterest"
  | "pools"
  | "adlAlerts"
  | "marketHours"
  | "accountHours"
  | "hoursBefore"
  | "fills"
  | "ledger"
>

interface HourRow {
  readonly user_id: string
  readonly sub_account_address: string
  readonly symbol: string
  readonly hour: number | string
  readonly record: string
}
const hourOf = (row: HourRow): HourOf => ({
  user_id: row.user_id,
  sub_account_address: row.sub_account_address,
  hour: Number(row.hour)
})
const marketRow = (row: HourRow): MarketRow => ({
  ...hourOf(row),
  symbol: row.symbol,
  figures: parseMarket(row.record)
})
const accountRow = (row: HourRow): AccountRow => ({ ...hourOf(row), figures: parseAccount(row.record) })

const MARKET = "user_id, sub_account_address, symbol, hour, record"
const ACCOUNT = "user_id, sub_account_address, hour, record"

/** Events that one step of the engine makes at most, as far as a restart in the middle of its commit looks back. */
const STEP_EVENTS = 65_536

const decode = <A>(row: { readonly record: string }): A => JSON.parse(row.record) as A

export const make = ({ keyAt, list, query, replace, writer }: Tables) => {
  const writeClosedPnls = writer(
    "closed_pnls",
    ["order_id", "id", "user_id", "sub_account_address", "symbol", "created_time", "record"],
    replace("order_id", ["record"])
  )
  const writeTransactions = writer(
    "transactions",
    ["id", "user_id", "sub_account_address", "type", "time", "record", "symbol"],
    ""
  )
  const writeFundingPayments = writer(
    "funding_payments",
    ["id", "user_id", "sub_account_address", "symbol", "funding_time", "record"],
    ""
  )
  const writeFundingRates = writer("funding_rates", ["symbol", "funding_time", "id", "record"], "")
  const writeOpenInterest = writer(
    "open_interest",
    ["symbol", "span", "time", "id", "record"],
    // another numbering may tell an interval anew
    "ON CONFLICT (symbol, span, time) DO NOTHING"
  )
  const writePools = writer("insurance_pools", ["symbol", "time", "id", "record"], "")
  const writeAlerts = writer("adl_alerts", ["symbol", "time", "id", "record"], "")
  const marketColumns = ["user_id", "sub_account_address", "symbol", "hour", "record"]
  const accountColumns = ["user_id", "sub_account_address", "hour", "record"]
  const writeMarketHours = writer(
    "market_hours",
    marketColumns,
    replace("sub_account_address, symbol, hour", ["record"])
  )
  const writeLastMarketHours = writer(
    "last_market_hours",
    marketColumns,
    replace("sub_account_address, symbol", ["hour", "record"])
  )
  const writeAccountHours = writer("account_hours", accountColumns, replace("sub_account_address, hour", ["record"]))
  const writeLastAccountHours = writer(
    "last_account_hours",
    accountColumns,
    replace("sub_account_address", ["hour", "record"])
  )

  const ofMarket = ({ user_id, sub_account_address, symbol, hour, figures }: MarketRow) => [
    user_id,
    sub_account_address,
    symbol,
    hour,
    print(figures)
  ]
  const ofAccount = ({ user_id, sub_account_address, hour, figures }: AccountRow) => [
    user_id,
    sub_account_address,
    hour,
    print(figures)
  ]

  /** Writes the ledger's rows of a projection. */
  const write = Effect.fnUntraced(function* (
    connection: SqlConnection.Connection,
    projection: Projection,
    base: number
  ): Effect.fn.Return<void, SqlError.SqlError> {
    const { activity, alerts, closedPnls, fundingPayments, fundings, openInterest, pools, transactions } = projection
    yield* writeClosedPnls(
      connection,
      closedPnls.map(({ user_id, seq, closed }) => [
        closed.order_id,
        base + seq,
        user_id,
        closed.sub_account_address,
        closed.symbol,
        closed.created_time,
        JSON.stringify(closed)
      ])
    )
    yield* writeTransactions(
      connection,
      transactions.map(({ user_id, seq, n, transaction }) => [
        2 * (base + seq) + n,
        user_id,
        transaction.sub_account_address,
        transaction.type,
        transaction.timestamp,
        JSON.stringify(transaction),
        transaction.symbol ?? null
      ])
    )
    yield* writeFundingPayments(
      connection,
      fundingPayments.map(({ user_id, seq, payment }) => [
        base + seq,
        user_id,
        payment.sub_account_address,
        payment.symbol,
        payment.funding_time_ms,
        JSON.stringify(payment)
      ])
    )
    yield* writeFundingRates(
      connection,
      fundings.map(({ seq, funding }) => [funding.symbol, funding.funding_time_ms, base + seq, JSON.stringify(funding)])
    )
    yield* writeOpenInterest(
      connection,
      openInterest.map(({ interval, record }) => [record.symbol, interval, record.timestamp, 0, JSON.stringify(record)])
    )
    yield* writePools(
      connection,
      pools.map(({ seq, symbol, pool }) => [symbol, pool.updated_time, base + seq, JSON.stringify(pool)])
    )
    yield* writeAlerts(
      connection,
      alerts.map(({ seq, alert }) => [alert.symbol, alert.updated_time, base + seq, JSON.stringify(alert)])
    )
    yield* writeMarketHours(connection, activity.closedMarkets.map(ofMarket))
    yield* writeLastMarketHours(connection, activity.markets.map(ofMarket))
    yield* writeAccountHours(connection, activity.closedAccounts.map(ofAccount))
    yield* writeLastAccountHours(connection, activity.accounts.map(ofAccount))
  })

  const own = ({ user_id }: Pick<ListQuery, "user_id">) => new Where().and("user_id = ?", user_id)
  const inMarket = ({ sub_accounts, symbol }: Pick<ListQuery, "sub_accounts" | "symbol">) =>
    new Where().among("sub_account_address", sub_accounts).when(symbol, "symbol = ?")
  /** Rows of a market, in the table's primary key. */
  const ofOne = (table: string, time: string, symbol: string): Ranged => ({
    table,
    time,
    range: new Where().and("symbol = ?", symbol)
  })
  const newest = <A>(table: string, asked: MarketsQuery) =>
    Effect.map(
      list<A>(
        asked.symbol === undefined
          ? { table, time: "time", index: `${table}_all`, range: new Where() }
          : ofOne(table, "time", asked.symbol),
        { ...asked, after: undefined }
      ),
      ({ rows }) => rows
    )
  /** Hours that are over and the running ones. */
  const hours = (table: string, columns: string, { user_id, start, end }: HoursQuery) => {
    const range = new Where().when(user_id, "user_id = ?").and("hour >= ? AND hour < ?", start, end)
    const read = (from: string) => query<HourRow>(`SELECT ${columns} FROM ${from} WHERE ${range}`, range.values)
    // the running ones first: should one end in between, it is among the others
    return Effect.map(Effect.all([read(`last_${table}`), read(table)]), ([last, over]) => {
      const seen = new Set(over.map((row) => `${row.sub_account_address}|${row.symbol}|${row.hour}`))
      return [...over, ...last.filter((row) => !seen.has(`${row.sub_account_address}|${row.symbol}|${row.hour}`))]
    })
  }
  const before = (table: string, columns: string, key: string, hour: number) =>
    Effect.fnUntraced(function* (last: HourRow) {
      if (Number(last.hour) < hour) return last
      const [row] = yield* query<HourRow>(
        `SELECT ${columns} FROM ${table} WHERE ${key} AND hour < ? ORDER BY hour DESC LIMIT 1`,
        columns === MARKET ? [last.sub_account_address, last.symbol, hour] : [last.sub_account_address, hour]
      )
      return row
    })

  const reads: Reads = {
    executionsAt: Effect.fnUntraced(function* ({ user_id, sub_accounts, symbol, limit, offset }) {
      const filter = inMarket({ sub_accounts, symbol })
      const range = own({ user_id })
      const total = range.with(filter)
      const counted = yield* query<HourRow>(`SELECT ${MARKET} FROM last_market_hours WHERE ${total}`, total.values)
      const end = yield* keyAt({ table: "executions", time: "exec_time", index: "executions_list", range }, OFFSET_MAX)
      const where = range.with(filter)
      if (end !== undefined) where.and("(exec_time, id) >= (?, ?)", end.time, end.id)
      const rows = yield* query<{ readonly record: string }>(
        `SELECT record FROM executions WHERE ${where} ORDER BY exec_time DESC, id DESC LIMIT ? OFFSET ?`,
        [...where.values, limit, offset]
      )
      return {
        rows: rows.map(decode<Execution>),
        total: counted.reduce((sum, row) => sum + marketRow(row).figures.executions, 0)
      }
    }),
    closedPnls: (asked) => {
      const on = { table: "closed_pnls", time: "created_time" }
      return list<ClosedPnl>(
        asked.order_id === undefined
          ? { ...on, index: "closed_pnls_list", range: own(asked), filter: inMarket(asked) }
          : { ...on, range: own(asked).and("order_id = ?", asked.order_id).with(inMarket(asked)) },
        asked
      )
    },
    transactions: (asked) => {
      const on = { table: "transactions", time: "time" }
      const filter = inMarket(asked)
      return list<Transaction>(
        asked.type !== undefined && filter.isEmpty
          ? { ...on, index: "transactions_type", range: own(asked).and("type = ?", asked.type) }
          : { ...on, index: "transactions_list", range: own(asked), filter: filter.when(asked.type, "type = ?") },
        asked
      )
    },
    fundingPayments: (asked) =>
      list<FundingPayment>(
        {
          table: "funding_payments",
          time: "funding_time",
          index: "funding_payments_list",
          range: own(asked),
          filter: inMarket(asked)
        },
        asked
      ),
    fundingRates: (asked) => list<FundingRate>(ofOne("funding_rates", "funding_time", asked.symbol), asked),
    openInterest: (asked) => {
      const of = ofOne("open_interest", "time", asked.symbol)
      return list<OpenInterest>({ ...of, range: of.range.and("span = ?", asked.interval) }, asked)
    },
    pools: (asked) => newest<InsurancePool>("insurance_pools", asked),
    adlAlerts: (asked) => newest<AdlAlert>("adl_alerts", asked),
    marketHours: (asked) => Effect.map(hours("market_hours", MARKET, asked), (rows) => rows.map(marketRow)),
    accountHours: (asked) => Effect.map(hours("account_hours", ACCOUNT, asked), (rows) => rows.map(accountRow)),
    hoursBefore: Effect.fnUntraced(function* ({ user_id, hour }) {
      const last = (table: string, columns: string) =>
        query<HourRow>(`SELECT ${columns} FROM ${table} WHERE user_id = ?`, [user_id])
      const markets = yield* Effect.forEach(
        yield* last("last_market_hours", MARKET),
        before("market_hours", MARKET, "sub_account_address = ? AND symbol = ?", hour)
      )
      const accounts = yield* Effect.forEach(
        yield* last("last_account_hours", ACCOUNT),
        before("account_hours", ACCOUNT, "sub_account_address = ?", hour)
      )
      return {
        markets: markets.filter((row) => row !== undefined).map(marketRow),
        accounts: accounts.filter((row) => row !== undefined).map(accountRow)
      }
    }),
    fills: ({ user_id, start, end }) =>
      Effect.map(
        query<{ readonly record: string; readonly closing: string | null }>(
          `SELECT record, closing FROM executions WHERE user_id = ? AND exec_time >= ? AND exec_time < ?
           ORDER BY exec_time, id`,
          [user_id, start, end]
        ),
        (rows) =>
          rows.map((row) => ({
            execution: decode<Execution>(row),
            closing: row.closing === null ? undefined : (JSON.parse(row.closing) as Closing)
          }))
      ),
    ledger: Effect.gen(function* () {
      interface ClosingRow {
        readonly user_id: string
        readonly record: string
      }
      const open = yield* query<ClosingRow>(
        `SELECT closed_pnls.user_id AS user_id, closed_pnls.record AS record
         FROM orders JOIN closed_pnls ON closed_pnls.order_id = orders.order_id WHERE orders.is_open = 1`
      )
      const [last] = yield* query<{ readonly ts_ms: number | string }>(
        "SELECT ts_ms FROM history_position WHERE one = 1"
      )
      const ts_ms = Number(last?.ts_ms ?? 0)
      const ended = yield* query<ClosingRow>(
        `SELECT closed_pnls.user_id AS user_id, closed_pnls.record AS record
         FROM orders JOIN closed_pnls ON closed_pnls.order_id = orders.order_id
         WHERE orders.is_open = 0 AND orders.order_id IN (
           SELECT order_id FROM executions
           WHERE id > (SELECT MAX(id) FROM executions) - ? AND exec_time = ? AND closing IS NOT NULL)`,
        [STEP_EVENTS, ts_ms]
      )
      const closingOf = (row: ClosingRow) => ({ user_id: row.user_id, closed: decode<ClosedPnl>(row) })
      const markets = yield* query<HourRow>(`SELECT ${MARKET} FROM last_market_hours`)
      const accounts = yield* query<HourRow>(`SELECT ${ACCOUNT} FROM last_account_hours`)
      const settled = yield* query<{ readonly symbol: string; readonly funding_time_ms: number | string }>(
        "SELECT symbol, MAX(funding_time) AS funding_time_ms FROM funding_rates GROUP BY symbol"
      )
      return {
        closings: [...open.map(closingOf), ...ended.map((row) => ({ ...closingOf(row), ended: true }))],
        markets: markets.map(marketRow),
        accounts: accounts.map(accountRow),
        settled: settled.map((row) => ({ symbol: row.symbol, funding_time_ms: Number(row.funding_time_ms) }))
      } satisfies LedgerState
    })
  }
  return { write, reads }
}
