/** The ledger's part of the read model in memory: the clear double of the one in SQL. */
import { Effect } from "effect"
import type { AccountRow, MarketRow } from "../../domain/HourlyStats.ts"
import type { ClosedPnl } from "../../domain/ClosedPnl.ts"
import type { OpenInterestInterval } from "../../domain/Enumerations.ts"
import type { FundingPayment, FundingRate } from "../../domain/Funding.ts"
import type { AdlAlert, InsurancePool } from "../../domain/InsurancePool.ts"
import { isOpen, type Order } from "../../domain/Order.ts"
import type { OpenInterest } from "../../domain/Market.ts"
import type { Projection } from "../../domain/Projection.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { History, HoursQuery, MarketsQuery } from "../../services/History.ts"
import { among, is, list, type Row } from "./MemoryLists.ts"

type Reads = Pick<
  History["Service"],
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
  | "ledger"
>

/** A row of a market, which is nobody's. */
interface MarketRecord<A> extends Row<A> {
  readonly symbol: string
}

export const make = (orderOf: (order_id: string) => Order | undefined) => {
  const closedPnls = new Map<string, Row<ClosedPnl>>()
  const transactions: Array<Row<Transaction>> = []
  const payments: Array<Row<FundingPayment>> = []
  const rates: Array<MarketRecord<FundingRate>> = []
  const interest = new Map<string, MarketRecord<OpenInterest> & { readonly interval: OpenInterestInterval }>()
  const pools: Array<MarketRecord<InsurancePool>> = []
  const alerts: Array<MarketRecord<AdlAlert>> = []
  const marketHours = new Map<string, MarketRow>()
  const accountHours = new Map<string, AccountRow>()
  let ts_ms = 0

  const take = (projection: Projection, base: number): void => {
    const { activity } = projection
    ts_ms = projection.position.ts_ms
    for (const { user_id, seq, closed } of projection.closedPnls) {
      const key = closedPnls.get(closed.order_id)?.key ?? { time: closed.created_time, id: base + seq }
      closedPnls.set(closed.order_id, { user_id, key, value: closed })
    }
    for (const { user_id, seq, n, transaction } of projection.transactions) {
      const key = { time: transaction.timestamp, id: 2 * (base + seq) + n }
      transactions.push({ user_id, key, value: transaction })
    }
    for (const { user_id, seq, payment } of projection.fundingPayments) {
      payments.push({ user_id, key: { time: payment.funding_time_ms, id: base + seq }, value: payment })
    }
    for (const { seq, funding } of projection.fundings) {
      const key = { time: funding.funding_time_ms, id: base + seq }
      rates.push({ user_id: "", symbol: funding.symbol, key, value: funding })
    }
    for (const { interval, record } of projection.openInterest) {
      const name = `${record.symbol}|${interval}|${record.timestamp}`
      if (interest.has(name)) continue
      const key = { time: record.timestamp, id: 0 }
      interest.set(name, { user_id: "", symbol: record.symbol, interval, key, value: record })
    }
    for (const { seq, symbol, pool } of projection.pools) {
      pools.push({ user_id: "", symbol, key: { time: pool.updated_time, id: base + seq }, value: pool })
    }
    for (const { seq, alert } of projection.alerts) {
      const key = { time: alert.updated_time, id: base + seq }
      alerts.push({ user_id: "", symbol: alert.symbol, key, value: alert })
    }
    for (const row of [...activity.closedMarkets, ...activity.markets]) {
      marketHours.set(`${row.sub_account_address}|${row.symbol}|${row.hour}`, row)
    }
    for (const row of [...activity.closedAccounts, ...activity.accounts]) {
      accountHours.set(`${row.sub_account_address}|${row.hour}`, row)
    }
  }

  /** Rows of a market are nobody's. */
  const asked = <Q extends object>(query: Q) => ({ ...query, user_id: "", sub_accounts: undefined })
  const newest = <A>(rows: ReadonlyArray<MarketRecord<A>>, query: MarketsQuery) =>
    Effect.map(
      list(
        rows.filter((row) => is(query.symbol, row.symbol)),
        { ...asked(query), after: undefined },
        () => true
      ),
      (page) => page.rows
    )
  const hours = <R extends AccountRow | MarketRow>(rows: ReadonlyMap<string, R>, { user_id, start, end }: HoursQuery) =>
    Effect.sync(() =>
      [...rows.values()].filter((row) => is(user_id, row.user_id) && row.hour >= start && row.hour < end)
    )
  /** The last hour of each that the key names. */
  const lastOf = <R extends AccountRow | MarketRow>(rows: Iterable<R>, keyOf: (row: R) => string): ReadonlyArray<R> => {
    const last = new Map<string, R>()
    for (const row of rows) if ((last.get(keyOf(row))?.hour ?? -1) < row.hour) last.set(keyOf(row), row)
    return [...last.values()]
  }
  const marketOf = (row: MarketRow) => `${row.sub_account_address}|${row.symbol}`
  const accountOf = (row: AccountRow) => row.sub_account_address

  const reads: Reads = {
    closedPnls: (query) =>
      list(
        closedPnls.values(),
        query,
        (closed) =>
          among(query.sub_accounts, closed.sub_account_address) &&
          is(query.symbol, closed.symbol) &&
          is(query.order_id, closed.order_id)
      ),
    transactions: (query) =>
      list(
        transactions,
        query,
        (transaction) =>
          among(query.sub_accounts, transaction.sub_account_address) &&
          is(query.symbol, transaction.symbol) &&
          is(query.type, transaction.type)
      ),
    fundingPayments: (query) =>
      list(
        payments,
        query,
        (payment) => among(query.sub_accounts, payment.sub_account_address) && is(query.symbol, payment.symbol)
      ),
    fundingRates: (query) =>
      list(
        rates.filter((row) => row.symbol === query.symbol),
        asked(query),
        () => true
      ),
    openInterest: (query) =>
      list(
        [...interest.values()].filter((row) => row.symbol === query.symbol && row.interval === query.interval),
        asked(query),
        () => true
      ),
    pools: (query) => newest(pools, query),
    adlAlerts: (query) => newest(alerts, query),
    marketHours: (query) => hours(marketHours, query),
    accountHours: (query) => hours(accountHours, query),
    hoursBefore: ({ user_id, hour }) =>
      Effect.sync(() => {
        const earlier = (row: AccountRow | MarketRow) => row.user_id === user_id && row.hour < hour
        return {
          markets: lastOf([...marketHours.values()].filter(earlier), marketOf),
          accounts: lastOf([...accountHours.values()].filter(earlier), accountOf)
        }
      }),
    ledger: Effect.sync(() => {
      const settled = new Map(rates.map(({ value }) => [value.symbol, value.funding_time_ms]))
      return {
        closings: [...closedPnls.values()]
          .map(({ user_id, value }) => ({
            user_id,
            closed: value,
            ended: !isOpen(orderOf(value.order_id)?.order_status ?? "Filled")
          }))
          .filter(({ closed, ended }) => !ended || closed.updated_time === ts_ms),
        markets: lastOf(marketHours.values(), marketOf),
        accounts: lastOf(accountHours.values(), accountOf),
        settled: [...settled].map(([symbol, funding_time_ms]) => ({ symbol, funding_time_ms }))
      }
    })
  }
  return { take, reads }
}
