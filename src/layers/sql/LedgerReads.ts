/** The ledger's reads in SQL: balances, results and market statistics. Each read is one range of an index. */
import { Effect } from "effect"
import { type AccountRow, type HourOf, type MarketRow, parseAccount, parseMarket } from "../../domain/HourlyStats.ts"
import type { ClosedPnl } from "../../domain/ClosedPnl.ts"
import type { Closing, Execution } from "../../domain/Execution.ts"
import type { FundingPayment, FundingRate } from "../../domain/Funding.ts"
import type { AdlAlert, InsurancePool } from "../../domain/InsurancePool.ts"
import type { LedgerState } from "../../domain/Ledger.ts"
import type { OpenInterest } from "../../domain/Market.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import {
  type History,
  type HistoryUnavailable,
  type HoursQuery,
  type ListQuery,
  type MarketsQuery,
  OFFSET_MAX
} from "../../services/History.ts"
import { decode, type Ranged, type Tables, Where } from "./Tables.ts"

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
  readonly hour: number
  readonly record: string
}
const hourOf = (row: HourRow): HourOf => ({
  user_id: row.user_id,
  sub_account_address: row.sub_account_address,
  hour: row.hour
})
const marketRow = (row: HourRow): MarketRow => ({
  ...hourOf(row),
  symbol: row.symbol,
  figures: parseMarket(row.record)
})
const accountRow = (row: HourRow): AccountRow => ({ ...hourOf(row), figures: parseAccount(row.record) })

const MARKET = "user_id, sub_account_address, symbol, hour, record"
const ACCOUNT = "user_id, sub_account_address, hour, record"

/** Rows of hours per read; between two reads the event loop serves others. */
const HOURS_READ = 1_000

/** Most events of one engine step: how far a restart in the middle of a commit looks back. */
const STEP_EVENTS = 65_536

const own = ({ user_id }: Pick<ListQuery, "user_id">) => new Where().and("user_id = ?", user_id)

const inMarket = ({ sub_accounts, symbol }: Pick<ListQuery, "sub_accounts" | "symbol">) =>
  new Where().among("sub_account_address", sub_accounts).when(symbol, "symbol = ?")
/** Rows of one market, by the table's primary key. */
const ofOne = (table: string, time: string, symbol: string): Ranged => ({
  table,
  time,
  range: new Where().and("symbol = ?", symbol)
})

/** Lists of results, payments and market statistics. */
const lists = ({
  list
}: Tables): Pick<
  Reads,
  "closedPnls" | "transactions" | "fundingPayments" | "fundingRates" | "openInterest" | "pools" | "adlAlerts"
> => {
  const newest = <A>(table: string, filters: MarketsQuery) =>
    Effect.map(
      list<A>(
        filters.symbol === undefined
          ? { table, time: "time", index: `${table}_all`, range: new Where() }
          : ofOne(table, "time", filters.symbol),
        { ...filters, after: undefined }
      ),
      ({ rows }) => rows
    )

  return {
    closedPnls: (filters) => {
      const on = { table: "closed_pnls", time: "created_time" }
      return list<ClosedPnl>(
        filters.order_id === undefined
          ? { ...on, index: "closed_pnls_list", range: own(filters), filter: inMarket(filters) }
          : { ...on, range: own(filters).and("order_id = ?", filters.order_id).with(inMarket(filters)) },
        filters
      )
    },
    transactions: (filters) => {
      const on = { table: "transactions", time: "time" }
      const filter = inMarket(filters)
      return list<Transaction>(
        filters.type !== undefined && filter.isEmpty
          ? { ...on, index: "transactions_type", range: own(filters).and("type = ?", filters.type) }
          : { ...on, index: "transactions_list", range: own(filters), filter: filter.when(filters.type, "type = ?") },
        filters
      )
    },
    fundingPayments: (filters) =>
      list<FundingPayment>(
        {
          table: "funding_payments",
          time: "funding_time",
          index: "funding_payments_list",
          range: own(filters),
          filter: inMarket(filters)
        },
        filters
      ),
    fundingRates: (filters) => list<FundingRate>(ofOne("funding_rates", "funding_time", filters.symbol), filters),
    openInterest: (filters) => {
      const of = ofOne("open_interest", "time", filters.symbol)
      return list<OpenInterest>({ ...of, range: of.range.and("span = ?", filters.interval) }, filters)
    },
    pools: (filters) => newest<InsurancePool>("insurance_pools", filters),
    adlAlerts: (filters) => newest<AdlAlert>("adl_alerts", filters)
  }
}

/** Hourly statistics, and the executions that they count. */
const statistics = ({
  keyAt,
  query
}: Tables): Pick<Reads, "marketHours" | "accountHours" | "hoursBefore" | "fills" | "executionsAt"> => {
  /** Completed hours and the running ones. Completed ones are read in parts, because there may be years of them. */
  const hours = Effect.fnUntraced(function* <A>(
    table: string,
    columns: string,
    { user_id, start, end }: HoursQuery,
    rowOf: (row: HourRow) => A
  ): Effect.fn.Return<ReadonlyArray<A>, HistoryUnavailable> {
    const read = (from: string, since: number, part = "", ...values: ReadonlyArray<number>) => {
      const range = new Where().when(user_id, "user_id = ?").and("hour >= ? AND hour < ?", since, end)
      return query<HourRow>(`SELECT ${columns} FROM ${from} WHERE ${range}${part}`, [...range.values, ...values])
    }
    const keyOf = (row: HourRow) => `${row.sub_account_address}|${row.symbol}|${row.hour}`
    // the running hours first: if one ends between the reads, a later read returns it
    const running = yield* read(`last_${table}`, start)
    const found: Array<A> = []
    const seen = new Set<string>()
    let since = start
    let limit = HOURS_READ
    for (;;) {
      const rows = yield* read(table, since, " ORDER BY hour LIMIT ?", limit)
      const isLast = rows.length < limit
      // more rows of the last hour may follow: the next part begins with it
      const whole = isLast ? rows : rows.filter(({ hour }) => hour < rows.at(-1)!.hour)
      for (const row of whole) {
        seen.add(keyOf(row))
        found.push(rowOf(row))
      }
      if (isLast) break
      if (whole.length === 0) limit *= 2
      else since = rows.at(-1)!.hour
      yield* Effect.yieldNow
    }
    return [...found, ...running.filter((row) => !seen.has(keyOf(row))).map(rowOf)]
  })
  const before = (table: string, columns: string, key: string, hour: number) =>
    Effect.fnUntraced(function* (last: HourRow) {
      if (last.hour < hour) return last
      const [row] = yield* query<HourRow>(
        `SELECT ${columns} FROM ${table} WHERE ${key} AND hour < ? ORDER BY hour DESC LIMIT 1`,
        columns === MARKET ? [last.sub_account_address, last.symbol, hour] : [last.sub_account_address, hour]
      )
      return row
    })

  return {
    marketHours: (filters) => hours("market_hours", MARKET, filters, marketRow),
    accountHours: (filters) => hours("account_hours", ACCOUNT, filters, accountRow),
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
    })
  }
}

interface ClosingRow {
  readonly user_id: string
  readonly record: string
}
const closingOf = (row: ClosingRow) => ({ user_id: row.user_id, closed: decode<ClosedPnl>(row) })

/** The state with which the ledger of a projection resumes. */
const ledgerState = ({ query }: Tables): Reads["ledger"] =>
  Effect.gen(function* () {
    const open = yield* query<ClosingRow>(
      `SELECT closed_pnls.user_id AS user_id, closed_pnls.record AS record
       FROM orders JOIN closed_pnls ON closed_pnls.order_id = orders.order_id WHERE orders.is_open = 1`
    )
    const [last] = yield* query<{ readonly ts_ms: number }>("SELECT ts_ms FROM history_position WHERE one = 1")
    const ts_ms = last?.ts_ms ?? 0
    const ended = yield* query<ClosingRow>(
      `SELECT closed_pnls.user_id AS user_id, closed_pnls.record AS record
       FROM orders JOIN closed_pnls ON closed_pnls.order_id = orders.order_id
       WHERE orders.is_open = 0 AND orders.order_id IN (
         SELECT order_id FROM executions
         WHERE id > (SELECT MAX(id) FROM executions) - ? AND exec_time = ? AND closing IS NOT NULL)`,
      [STEP_EVENTS, ts_ms]
    )
    const markets = yield* query<HourRow>(`SELECT ${MARKET} FROM last_market_hours`)
    const accounts = yield* query<HourRow>(`SELECT ${ACCOUNT} FROM last_account_hours`)
    const settled = yield* query<LedgerState["settled"][number]>(
      "SELECT symbol, MAX(funding_time) AS funding_time_ms FROM funding_rates GROUP BY symbol"
    )
    return {
      closings: [...open.map(closingOf), ...ended.map((row) => ({ ...closingOf(row), ended: true }))],
      markets: markets.map(marketRow),
      accounts: accounts.map(accountRow),
      settled
    } satisfies LedgerState
  })

export const make = (tables: Tables): Reads => ({
  ...lists(tables),
  ...statistics(tables),
  ledger: ledgerState(tables)
})
