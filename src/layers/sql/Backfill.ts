/**
 * Derives data that an older read model did not write: closed PnL, funding payments and statistics follow from its
 * executions. Transactions cannot be derived; they begin with the upgrade.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { hourOf, type MarketRow, noFlows, parseMarket, plus, print } from "../../domain/HourlyStats.ts"
import type { ClosedPnl } from "../../domain/ClosedPnl.ts"
import * as Decimal from "../../domain/Decimal.ts"
import type { Closing, Execution } from "../../domain/Execution.ts"
import { Ledger } from "../../domain/Ledger.ts"
import type { Transaction } from "../../domain/Transaction.ts"

/** Executions per read. */
export const BACKFILL_PAGE = 10_000
/** Orders per statement. */
const NAMES = 500

interface Row {
  readonly id: number
  readonly user_id: string
  readonly order_id: string
  readonly record: string
  readonly closing: string | null
}

/** Fills `liquidation_fee` in closed PnL and statistics of older versions, from the transactions. */
export const liquidationFees = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // rows that `backfill` has written contain the field already
  yield* sql`UPDATE closed_pnls SET record = REPLACE(record, ${'"fill_count":'}, ${'"liquidation_fee":"0","fill_count":'})
    WHERE record NOT LIKE ${'%"liquidation_fee"%'}`
  const rows = yield* sql<{ readonly record: string }>`
    SELECT record FROM transactions WHERE type = ${"liquidation_fee"} ORDER BY id`
  for (const { record } of rows) {
    const { amount, sub_account_address, symbol, timestamp } = JSON.parse(record) as Transaction
    if (symbol === undefined) continue
    const paid = -Decimal.parse(amount)
    // the fee belongs to the last order that closed a position there at that time
    const closed = yield* sql<{ readonly order_id: string; readonly record: string }>`
      SELECT order_id, record FROM closed_pnls WHERE sub_account_address = ${sub_account_address}
      AND symbol = ${symbol} AND created_time = ${timestamp} ORDER BY id`
    const of = paid > 0n ? closed[0] : closed.at(-1)
    if (of !== undefined) {
      const known = JSON.parse(of.record) as ClosedPnl
      const liquidation_fee = Decimal.format(Decimal.parse(known.liquidation_fee) + paid)
      yield* sql`UPDATE closed_pnls SET record = ${JSON.stringify({ ...known, liquidation_fee })}
        WHERE order_id = ${of.order_id}`
    }
    for (const table of ["market_hours", "last_market_hours"]) {
      const [hour] = yield* sql<{ readonly record: string }>`SELECT record FROM ${sql(table)}
        WHERE sub_account_address = ${sub_account_address} AND symbol = ${symbol} AND hour = ${hourOf(timestamp)}`
      if (hour === undefined) continue
      const figures = parseMarket(hour.record)
      const flows = plus(figures.flows, { ...noFlows, liquidation_fees: paid })
      yield* sql`UPDATE ${sql(table)} SET record = ${print({ ...figures, flows })}
        WHERE sub_account_address = ${sub_account_address} AND symbol = ${symbol} AND hour = ${hourOf(timestamp)}`
    }
  }
})

export const backfill = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const last = new Map<string, MarketRow>()
  /** Closed PnL of earlier pages, for the orders of this page. */
  const closingsOf = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>) {
    const ids = [...new Set(rows.filter(({ closing }) => closing !== null).map(({ order_id }) => order_id))]
    const closings: Array<{ readonly user_id: string; readonly closed: ClosedPnl }> = []
    for (let at = 0; at < ids.length; at += NAMES) {
      const found = yield* sql<{ readonly user_id: string; readonly record: string }>`
        SELECT user_id, record FROM closed_pnls WHERE ${sql.in("order_id", ids.slice(at, at + NAMES))}`
      for (const { user_id, record } of found) closings.push({ user_id, closed: JSON.parse(record) as ClosedPnl })
    }
    return closings
  })
  const hour = (table: string, conflict: "none" | "last") => (row: MarketRow) => {
    const values = {
      user_id: row.user_id,
      sub_account_address: row.sub_account_address,
      symbol: row.symbol,
      hour: row.hour,
      record: print(row.figures)
    }
    return conflict === "none"
      ? sql`INSERT INTO ${sql(table)} ${sql.insert(values)}`
      : sql`INSERT INTO ${sql(table)} ${sql.insert(values)}
          ON CONFLICT (sub_account_address, symbol) DO UPDATE SET hour = excluded.hour, record = excluded.record`
  }
  let after = -1
  while (true) {
    const rows = yield* sql<Row>`SELECT id, user_id, order_id, record, closing FROM executions WHERE id > ${after}
      ORDER BY id LIMIT ${BACKFILL_PAGE}`
    if (rows.length === 0) return
    const closings = yield* closingsOf(rows)
    const ledger = new Ledger({ closings, markets: [...last.values()], accounts: [], settled: [] })
    for (const row of rows) {
      const execution = JSON.parse(row.record) as Execution
      const closing = row.closing === null ? undefined : (JSON.parse(row.closing) as Closing)
      const event = { seq: row.id, ts_ms: Number(execution.exec_time) }
      ledger.execution(row.user_id, event, { type: "execution", execution, closing })
    }
    after = rows.at(-1)!.id
    const { activity, closedPnls, fundingPayments } = ledger.take()
    for (const { user_id, seq, closed } of closedPnls) {
      yield* sql`INSERT INTO closed_pnls ${sql.insert({
        order_id: closed.order_id,
        id: seq,
        user_id,
        sub_account_address: closed.sub_account_address,
        symbol: closed.symbol,
        created_time: closed.created_time,
        record: JSON.stringify(closed)
      })} ON CONFLICT (order_id) DO UPDATE SET record = excluded.record`
    }
    for (const { user_id, seq, payment } of fundingPayments) {
      yield* sql`INSERT INTO funding_payments ${sql.insert({
        id: seq,
        user_id,
        sub_account_address: payment.sub_account_address,
        symbol: payment.symbol,
        funding_time: payment.funding_time_ms,
        record: JSON.stringify(payment)
      })}`
    }
    yield* Effect.forEach(activity.closedMarkets, hour("market_hours", "none"), { discard: true })
    for (const row of activity.markets) last.set(`${row.sub_account_address}|${row.symbol}`, row)
    yield* Effect.forEach(activity.markets, hour("last_market_hours", "last"), { discard: true })
  }
})
