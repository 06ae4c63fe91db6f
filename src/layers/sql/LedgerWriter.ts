/** Statements for the ledger's rows of projections: balances, results and market statistics. */
import { type AccountRow, type MarketRow, print } from "../../domain/HourlyStats.ts"
import type { Projection } from "../../domain/Projection.ts"
import type { Statement, Tables } from "./Tables.ts"

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

export const make = ({ replace, writer }: Tables) => {
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
    // a new epoch may repeat an interval
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

  /** Statements for the ledger's rows of a projection. */
  return (projection: Projection, base: number): ReadonlyArray<Statement> => {
    const { activity, alerts, closedPnls, fundingPayments, fundings, openInterest, pools, transactions } = projection
    return [
      ...writeClosedPnls(
        closedPnls.map(({ user_id, seq, closed }) => [
          closed.order_id,
          base + seq,
          user_id,
          closed.sub_account_address,
          closed.symbol,
          closed.created_time,
          JSON.stringify(closed)
        ])
      ),
      ...writeTransactions(
        transactions.map(({ user_id, seq, n, transaction }) => [
          2 * (base + seq) + n,
          user_id,
          transaction.sub_account_address,
          transaction.type,
          transaction.timestamp,
          JSON.stringify(transaction),
          transaction.symbol ?? null
        ])
      ),
      ...writeFundingPayments(
        fundingPayments.map(({ user_id, seq, payment }) => [
          base + seq,
          user_id,
          payment.sub_account_address,
          payment.symbol,
          payment.funding_time_ms,
          JSON.stringify(payment)
        ])
      ),
      ...writeFundingRates(
        fundings.map(({ seq, funding }) => [
          funding.symbol,
          funding.funding_time_ms,
          base + seq,
          JSON.stringify(funding)
        ])
      ),
      ...writeOpenInterest(
        openInterest.map(({ interval, record }) => [
          record.symbol,
          interval,
          record.timestamp,
          0,
          JSON.stringify(record)
        ])
      ),
      ...writePools(
        pools.map(({ seq, symbol, pool }) => [symbol, pool.updated_time, base + seq, JSON.stringify(pool)])
      ),
      ...writeAlerts(
        alerts.map(({ seq, alert }) => [alert.symbol, alert.updated_time, base + seq, JSON.stringify(alert)])
      ),
      ...writeMarketHours(activity.closedMarkets.map(ofMarket)),
      ...writeLastMarketHours(activity.markets.map(ofMarket)),
      ...writeAccountHours(activity.closedAccounts.map(ofAccount)),
      ...writeLastAccountHours(activity.accounts.map(ofAccount))
    ]
  }
}
