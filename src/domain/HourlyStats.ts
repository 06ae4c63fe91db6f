/**
 * Hourly statistics of accounts: additive flows (volume, fees, results) and the state at the end of the hour.
 *
 * There is one row per hour with activity, per sub-account and market and per sub-account in total. Each batch writes
 * the current row; when the hour is over, its row is written a last time, like a candle.
 * Source: docs/contract/rest-account.md#statistics, docs/contract/boundary.md#ownership,
 * docs/contract/exchange.md#competition-scoring.
 */
import { type Closed, closedBy } from "./ClosedPnl.ts"
import * as Decimal from "./Decimal.ts"
import type { CreateType } from "./Enumerations.ts"
import type { Closing, Execution } from "./Execution.ts"
import { HOUR_MS } from "./Time.ts"

type Amount = Decimal.Scaled

/** Sums of fills and funding payments. They can be added over any time, market and sub-account. */
export interface Flows {
  readonly maker_volume: Amount
  readonly taker_volume: Amount
  readonly trade_count: number
  /** Positive: paid. */
  readonly fees: Amount
  /** Paid to insurance pools by liquidations; not included in `fees`. */
  readonly liquidation_fees: Amount
  readonly funding: Amount
  /** Exit less entry, before fees. */
  readonly realised_pnl: Amount
  /** Closing orders in profit and in loss. An order that crosses zero moves from one count to the other. */
  readonly win_count: number
  readonly loss_count: number
  /** Figures of competitions: fills that no liquidation or deleveraging caused. */
  readonly counted_volume: Amount
  readonly counted_pnl: Amount
  /** Time of the last counted fill, Unix ms; 0: none. */
  readonly counted_at: number
  /** Signed size change and its cost. Their sums over all time are the position and its signed entry value. */
  readonly size: Amount
  readonly cost: Amount
  /** Executions of every kind. */
  readonly executions: number
}

export const noFlows: Flows = {
  maker_volume: 0n,
  taker_volume: 0n,
  trade_count: 0,
  fees: 0n,
  liquidation_fees: 0n,
  funding: 0n,
  realised_pnl: 0n,
  win_count: 0,
  loss_count: 0,
  counted_volume: 0n,
  counted_pnl: 0n,
  counted_at: 0,
  size: 0n,
  cost: 0n,
  executions: 0
}

export const plus = (a: Flows, b: Flows): Flows => ({
  maker_volume: a.maker_volume + b.maker_volume,
  taker_volume: a.taker_volume + b.taker_volume,
  trade_count: a.trade_count + b.trade_count,
  fees: a.fees + b.fees,
  liquidation_fees: a.liquidation_fees + b.liquidation_fees,
  funding: a.funding + b.funding,
  realised_pnl: a.realised_pnl + b.realised_pnl,
  win_count: a.win_count + b.win_count,
  loss_count: a.loss_count + b.loss_count,
  counted_volume: a.counted_volume + b.counted_volume,
  counted_pnl: a.counted_pnl + b.counted_pnl,
  counted_at: Math.max(a.counted_at, b.counted_at),
  size: a.size + b.size,
  cost: a.cost + b.cost,
  executions: a.executions + b.executions
})

const forced: ReadonlySet<CreateType | undefined> = new Set<CreateType>([
  "CreateByLiq",
  "CreateByTakeOverPassThrough",
  "CreateByAdlPassThrough"
])

/** The flows of one execution. Wins and losses depend on the whole order, so the ledger adds them. */
export const flowsOf = (execution: Execution, closing: Closing | undefined): Flows => {
  const { parse } = Decimal
  const fee = parse(execution.base_fee)
  if (execution.exec_type === "Funding") return { ...noFlows, funding: fee, executions: 1 }
  const value = parse(execution.exec_value)
  const qty = parse(execution.exec_qty)
  const sign = execution.side === "Buy" ? 1n : -1n
  const closed: Closed | undefined = closing && closedBy(execution, closing)
  const counts = execution.exec_type === "Trade" && !forced.has(execution.create_type)
  return {
    ...noFlows,
    maker_volume: execution.is_maker ? value : 0n,
    taker_volume: execution.is_maker ? 0n : value,
    trade_count: 1,
    fees: fee,
    realised_pnl: closing === undefined ? 0n : parse(closing.realised_pnl),
    counted_volume: counts ? value : 0n,
    counted_pnl: counts && closed !== undefined ? closed.pnl : 0n,
    counted_at: counts ? Number(execution.exec_time) : 0,
    size: sign * qty,
    // the closed part leaves at its entry value; the rest enters at the fill price
    cost: sign * (closed === undefined ? value : value - closed.exitValue + closed.entryValue),
    executions: 1
  }
}

/** A path of cumulative results: its end and its largest drawdown. Paths are joined end to end. */
export interface Path {
  readonly sum: Amount
  /** Highest and lowest point, the start included. */
  readonly peak: Amount
  readonly low: Amount
  readonly drawdown: Amount
}

export const noPath: Path = { sum: 0n, peak: 0n, low: 0n, drawdown: 0n }

export const join = (a: Path, b: Path): Path => ({
  sum: a.sum + b.sum,
  peak: Decimal.max(a.peak, a.sum + b.peak),
  low: Decimal.min(a.low, a.sum + b.low),
  drawdown: Decimal.max(Decimal.max(a.drawdown, b.drawdown), a.peak - (a.sum + b.low))
})

/** A path of one step. */
export const step = (amount: Amount): Path => ({
  sum: amount,
  peak: Decimal.max(0n, amount),
  low: Decimal.min(0n, amount),
  drawdown: Decimal.max(0n, -amount)
})

/** An hour of a sub-account in a market. */
export interface MarketHour {
  readonly flows: Flows
  /** Sum of all time up to the end of the hour. */
  readonly size: Amount
  readonly cost: Amount
  readonly executions: number
}
/** An hour of a sub-account as a whole. */
export interface AccountHour {
  /** Wallet and isolated margins at its end. */
  readonly money: Amount
  /** Trading results of the hour, without deposits, withdrawals and transfers. */
  readonly path: Path
}

export interface HourOf {
  readonly user_id: string
  readonly sub_account_address: string
  /** Start of the hour, Unix ms. */
  readonly hour: number
}
export interface MarketRow extends HourOf {
  readonly symbol: string
  readonly figures: MarketHour
}
export interface AccountRow extends HourOf {
  readonly figures: AccountHour
}

/** Current rows, and rows whose hour is over. */
export interface ActivityChange {
  readonly closedMarkets: ReadonlyArray<MarketRow>
  readonly markets: ReadonlyArray<MarketRow>
  readonly closedAccounts: ReadonlyArray<AccountRow>
  readonly accounts: ReadonlyArray<AccountRow>
}

export const hourOf = (ms: number): number => ms - (ms % HOUR_MS)

/** The current row of each key. */
class Last<R extends HourOf> {
  private readonly rows = new Map<string, R>()
  private readonly touched = new Set<string>()
  private closed: Array<R> = []
  constructor(standing: ReadonlyArray<R>, keyOf: (row: R) => string) {
    for (const row of standing) this.rows.set(keyOf(row), row)
  }
  get(key: string): R | undefined {
    return this.rows.get(key)
  }
  put(key: string, row: R): void {
    const before = this.rows.get(key)
    if (before !== undefined && before.hour !== row.hour) this.closed.push(before)
    this.rows.set(key, row)
    this.touched.add(key)
  }
  take(): { readonly closed: ReadonlyArray<R>; readonly last: ReadonlyArray<R> } {
    const closed = this.closed
    const last = [...this.touched].map((key) => this.rows.get(key)!)
    this.closed = []
    this.touched.clear()
    return { closed, last }
  }
}

const marketKey = (sub_account_address: string, symbol: string): string => `${sub_account_address}|${symbol}`

/** Adds fills and balances to the current hour. Time never decreases. */
export class Activity {
  private readonly markets: Last<MarketRow>
  private readonly accounts: Last<AccountRow>

  constructor(markets: ReadonlyArray<MarketRow> = [], accounts: ReadonlyArray<AccountRow> = []) {
    this.markets = new Last(markets, (row) => marketKey(row.sub_account_address, row.symbol))
    this.accounts = new Last(accounts, (row) => row.sub_account_address)
  }

  fill(user_id: string, ts_ms: number, sub_account_address: string, symbol: string, flows: Flows): void {
    const key = marketKey(sub_account_address, symbol)
    const hour = hourOf(ts_ms)
    const before = this.markets.get(key)
    const figures = before?.figures
    this.markets.put(key, {
      user_id,
      sub_account_address,
      symbol,
      hour,
      figures: {
        flows: before?.hour === hour ? plus(before.figures.flows, flows) : flows,
        size: (figures?.size ?? 0n) + flows.size,
        cost: (figures?.cost ?? 0n) + flows.cost,
        executions: (figures?.executions ?? 0) + flows.executions
      }
    })
  }
  /** `result`: the trading result of the change; 0 for deposits, withdrawals and transfers. */
  balance(user_id: string, ts_ms: number, sub_account_address: string, money: Amount, result: Amount): void {
    const hour = hourOf(ts_ms)
    const before = this.accounts.get(sub_account_address)
    const path = before?.hour === hour ? before.figures.path : noPath
    this.accounts.put(sub_account_address, {
      user_id,
      sub_account_address,
      hour,
      figures: { money, path: result === 0n ? path : join(path, step(result)) }
    })
  }
  /** Changes since the previous call. */
  take(): ActivityChange {
    const markets = this.markets.take()
    const accounts = this.accounts.take()
    return {
      closedMarkets: markets.closed,
      markets: markets.last,
      closedAccounts: accounts.closed,
      accounts: accounts.last
    }
  }
}

// -- JSON text: scaled integers become decimals

type Texts<A> = { readonly [K in keyof A]: A[K] extends bigint ? string : A[K] extends number ? number : Texts<A[K]> }

/** JSON text of figures. */
export const print = (figures: MarketHour | AccountHour): string =>
  JSON.stringify(figures, (_, value: unknown) => (typeof value === "bigint" ? Decimal.format(value) : value))

const read = (value: unknown): unknown =>
  typeof value === "string"
    ? Decimal.parse(value)
    : typeof value === "object" && value !== null
      ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, read(inner)]))
      : value

const parsed = <A extends MarketHour | AccountHour>(text: string): A => read(JSON.parse(text) as Texts<A>) as A

/** Parses figures. Flows written before a figure existed get 0 for it. */
export const parseMarket = (text: string): MarketHour => {
  const figures = parsed<MarketHour>(text)
  return { ...figures, flows: { ...noFlows, ...figures.flows } }
}
export const parseAccount = (text: string): AccountHour => parsed<AccountHour>(text)
