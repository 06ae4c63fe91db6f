/**
 * Financial records derived from the event stream: closed PnL, transactions, funding payments, hourly statistics.
 *
 * Like the {@link Projection} that contains them, they are a function of the stream alone, independent of its
 * batches.
 * Source: docs/contract/rest-trading.md#positions, docs/contract/rest-account.md,
 * docs/contract/boundary.md#ownership.
 */
import { Activity, type AccountRow, type ActivityChange, flowsOf, type MarketRow, noFlows } from "./HourlyStats.ts"
import { add, type ClosedPnl } from "./ClosedPnl.ts"
import * as Decimal from "./Decimal.ts"
import type { TransactionType } from "./Enumerations.ts"
import type { Event, EventBody } from "./Event.ts"
import { type FundingPayment, paymentOf } from "./Funding.ts"
import { isFinal } from "./Order.ts"
import { MINUTE_MS } from "./Time.ts"
import { moneyOf, type Transaction, transactionsOf } from "./Transaction.ts"

type Body<T extends EventBody["type"]> = Extract<EventBody, { readonly type: T }>

export interface ClosedPnlRow {
  readonly user_id: string
  /** Seq of the first fill in this batch. A stored row keeps its first seq. */
  readonly seq: number
  readonly closed: ClosedPnl
}
export interface TransactionRow {
  readonly user_id: string
  readonly seq: number
  /** Index among the transactions of one event: 0 or 1. */
  readonly n: number
  readonly transaction: Transaction
}
export interface FundingPaymentRow {
  readonly user_id: string
  readonly seq: number
  readonly payment: FundingPayment
}

export interface LedgerChange {
  readonly closedPnls: ReadonlyArray<ClosedPnlRow>
  readonly transactions: ReadonlyArray<TransactionRow>
  readonly fundingPayments: ReadonlyArray<FundingPaymentRow>
  readonly activity: ActivityChange
}

/** The state from which a ledger resumes. */
export interface LedgerState {
  /** Closed PnL that may still change: of open orders, and of orders that ended at the time of the last event. */
  readonly closings: ReadonlyArray<Pick<ClosedPnlRow, "user_id" | "closed"> & { readonly ended?: boolean }>
  /** The last hour of every sub-account in every market, and of every sub-account. */
  readonly markets: ReadonlyArray<MarketRow>
  readonly accounts: ReadonlyArray<AccountRow>
  /** The last settlement of each market. */
  readonly settled: ReadonlyArray<{ readonly symbol: string; readonly funding_time_ms: number }>
}

/** Movements from outside or from another sub-account are not trading results. */
const moved: ReadonlySet<TransactionType> = new Set<TransactionType>([
  "deposit",
  "withdrawal",
  "transfer_in",
  "transfer_out",
  "reward"
])

export class Ledger {
  /** By order. */
  private readonly closings = new Map<string, ClosedPnl>()
  /** Orders that ended at {@link endedAt}: the fee of a liquidation follows later in its step. */
  private ended: Array<string> = []
  private endedAt: number
  private readonly settled = new Map<string, number>()
  private readonly activity: Activity
  private closedPnls = new Map<string, ClosedPnlRow>()
  private transactions: Array<TransactionRow> = []
  private fundingPayments: Array<FundingPaymentRow> = []

  /** `ts_ms` is the engine time of the last event. */
  constructor(standing: LedgerState | undefined, ts_ms = 0) {
    this.activity = new Activity(standing?.markets, standing?.accounts)
    this.endedAt = ts_ms
    for (const { closed, ended } of standing?.closings ?? []) {
      this.closings.set(closed.order_id, closed)
      if (ended === true) this.ended.push(closed.order_id)
    }
    for (const { symbol, funding_time_ms } of standing?.settled ?? []) this.settled.set(symbol, funding_time_ms)
  }

  funding({ funding }: Body<"funding">): void {
    this.settled.set(funding.symbol, funding.funding_time_ms)
  }
  order({ order }: Body<"order">, ts_ms: number): void {
    if (ts_ms > this.endedAt) {
      for (const order_id of this.ended) this.closings.delete(order_id)
      this.ended = []
      this.endedAt = ts_ms
    }
    if (isFinal(order.order_status) && this.closings.has(order.order_id)) this.ended.push(order.order_id)
  }
  execution(
    user_id: string,
    { seq, ts_ms }: Pick<Event, "seq" | "ts_ms">,
    { closing, execution }: Body<"execution">
  ): void {
    const { order_id, sub_account_address, symbol } = execution
    let flows = flowsOf(execution, closing)
    if (execution.exec_type === "Funding") {
      // without a settlement event, the settlement time is the minute of the payments
      const time = this.settled.get(symbol) ?? ts_ms - (ts_ms % MINUTE_MS)
      this.fundingPayments.push({ user_id, seq, payment: paymentOf(execution, time) })
    }
    if (closing !== undefined) {
      const before = this.closings.get(order_id)
      const closed = add(before, execution, closing)
      this.closings.set(order_id, closed)
      this.closedPnls.set(order_id, { user_id, seq: this.closedPnls.get(order_id)?.seq ?? seq, closed })
      const was = signOf(before)
      const is = signOf(closed)
      flows = {
        ...flows,
        win_count: Number(is > 0) - Number(was > 0),
        loss_count: Number(is < 0) - Number(was < 0)
      }
    }
    this.activity.fill(user_id, ts_ms, sub_account_address, symbol, flows)
  }
  balance(user_id: string, epoch: string, { seq, ts_ms }: Event, body: Body<"balance">): void {
    if (body.reason === "liquidation_fee") this.liquidationFee(user_id, { seq, ts_ms }, body)
    const transactions = transactionsOf(`${epoch}-${seq}`, ts_ms, body)
    if (transactions.length === 0) return
    let result = 0n
    transactions.forEach((transaction, n) => {
      this.transactions.push({ user_id, seq, n, transaction })
      if (!moved.has(transaction.type)) result += Decimal.parse(transaction.amount)
    })
    this.activity.balance(user_id, ts_ms, body.balance.sub_account_address, moneyOf(body), result)
  }

  /** Adds the liquidation fee paid to the pool to the closed PnL and the statistics. */
  private liquidationFee(
    user_id: string,
    { seq, ts_ms }: Pick<Event, "seq" | "ts_ms">,
    { amount, balance, order_id, symbol }: Body<"balance">
  ): void {
    const paid = -Decimal.parse(amount)
    if (symbol !== undefined)
      this.activity.fill(user_id, ts_ms, balance.sub_account_address, symbol, { ...noFlows, liquidation_fees: paid })
    const before = order_id === undefined ? undefined : this.closings.get(order_id)
    if (before === undefined) return
    const liquidation_fee = Decimal.format(Decimal.parse(before.liquidation_fee) + paid)
    const closed = { ...before, liquidation_fee, updated_time: ts_ms }
    this.closings.set(closed.order_id, closed)
    const first = this.closedPnls.get(closed.order_id)?.seq ?? seq
    this.closedPnls.set(closed.order_id, { user_id, seq: first, closed })
  }

  /** Changes since the previous call. */
  take(): LedgerChange {
    const change = {
      closedPnls: [...this.closedPnls.values()],
      transactions: this.transactions,
      fundingPayments: this.fundingPayments,
      activity: this.activity.take()
    }
    this.closedPnls = new Map()
    this.transactions = []
    this.fundingPayments = []
    return change
  }
}

const signOf = (closed: ClosedPnl | undefined): -1 | 0 | 1 =>
  closed === undefined ? 0 : Decimal.compare(Decimal.parse(closed.closed_pnl), 0n)
