/** The histories of the account, read page by page: orders, fills, closed positions, funding, and all changes of money. */
import type { ClosedPnl } from "../src/domain/ClosedPnl.ts"
import { TransactionType } from "../src/domain/Enumerations.ts"
import type { Execution } from "../src/domain/Execution.ts"
import type { FundingPayment } from "../src/domain/Funding.ts"
import type { Order } from "../src/domain/Order.ts"
import type { Transaction } from "../src/domain/Transaction.ts"
import { type AccountView, byGain, bySide } from "./AccountView.ts"
import { select } from "./Controls.ts"
import { h } from "./Dom.ts"
import * as Format from "./Format.ts"
import { drawn } from "./Frame.ts"
import { cancelReason, kindOf, statusOf, triggerOf } from "../src/domain/OrderWords.ts"
import { type Column, PagedList, type Table, table } from "./Table.ts"
import { toastError, whileBusy } from "./Toasts.ts"
import type { Owner } from "./Rest.ts"

/** A history: its element, and what keeps it current. */
export interface History {
  readonly element: HTMLElement
  /** Reads the newest page, if the table was read before or is shown now. */
  readonly refresh: () => void
  readonly reset: () => void
}

const historyOf = <A>(
  view: AccountView,
  read: (api: Owner, cursor: string) => Promise<{ readonly list: ReadonlyArray<A>; readonly next_page_cursor: string }>,
  key: (record: A) => string,
  columns: ReadonlyArray<Column<A>>,
  none: string,
  head?: HTMLElement
): History => {
  const list = new PagedList<A>((cursor) => read(view.session.api(), cursor), key)
  const more = h(
    "button",
    { type: "button", class: "quiet more", onclick: () => whileBusy(more, () => list.more()) },
    "Older"
  )
  const shown: Table<A> = table(columns, key, none, [], more)
  drawn([list.records, list.cursor], () => {
    shown.show(list.records.value)
    more.hidden = list.cursor.value === undefined || list.cursor.value === ""
  })
  return {
    element: head === undefined ? shown.element : h("div", { class: "with-filter" }, head, shown.element),
    refresh: () => {
      if (view.session.user.value !== undefined) list.refresh().catch(toastError)
    },
    reset: () => list.reset()
  }
}

/** Decimal places of fees, funding and changes of money: those of a small order are less than a cent. */
const SMALL = 4

const time = (ms: number | string): string => Format.stamp(Number(ms))

export const orderHistory = (view: AccountView): History =>
  historyOf<Order>(
    view,
    (api, cursor) => api.orderHistory(cursor),
    ({ order_id }) => order_id,
    [
      { head: "Time", of: ({ created_time }) => time(created_time) },
      { head: "Market", of: ({ symbol }) => symbol },
      { head: "Side", of: ({ side }) => side, tone: bySide },
      { head: "Type", of: kindOf },
      {
        head: "Price",
        of: (order) => (order.order_type === "Market" ? "Market" : view.price(order.symbol, order.price))
      },
      { head: "Trigger", of: (order) => triggerOf(order, (text) => view.price(order.symbol, text)) || "–" },
      { head: "Size", of: ({ qty, symbol }) => view.qty(symbol, qty) },
      { head: "Filled", of: ({ cum_exec_qty, symbol }) => view.qty(symbol, cum_exec_qty) },
      { head: "Average", of: ({ avg_price, symbol }) => view.price(symbol, avg_price) },
      { head: "Fee", of: ({ cum_exec_fee }) => Format.grouped(cum_exec_fee, SMALL) },
      { head: "Status", of: statusOf },
      { head: "Reason", of: (order) => order.reject_message ?? cancelReason(order), tone: () => "dim" }
    ],
    "No orders yet."
  )

export const fillHistory = (view: AccountView): History =>
  historyOf<Execution>(
    view,
    (api, cursor) => api.fills(cursor),
    ({ exec_id }) => exec_id,
    [
      { head: "Time", of: ({ exec_time }) => time(exec_time) },
      { head: "Market", of: ({ symbol }) => symbol },
      { head: "Side", of: ({ side }) => side, tone: bySide },
      { head: "Price", of: ({ exec_price, symbol }) => view.price(symbol, exec_price) },
      { head: "Size", of: ({ exec_qty, symbol }) => view.qty(symbol, exec_qty) },
      { head: "Value", of: ({ exec_value }) => Format.money(exec_value) },
      { head: "Fee", of: ({ base_fee }) => Format.grouped(base_fee, SMALL) },
      {
        head: "Closed",
        of: ({ closed_size, symbol }) => (closed_size === undefined ? "–" : view.qty(symbol, closed_size))
      },
      { head: "Kind", of: execKind }
    ],
    "No fills yet."
  )

const kinds: Record<Execution["exec_type"], string> = {
  Trade: "",
  Funding: "funding",
  BustTrade: "taken over in the liquidation",
  AdlTrade: "auto-deleveraged",
  Settle: "settled"
}
const execKind = ({ create_type, exec_type, is_maker }: Execution): string =>
  create_type === "CreateByLiq"
    ? "liquidation"
    : exec_type === "Trade"
      ? is_maker
        ? "maker"
        : "taker"
      : kinds[exec_type]

export const closedPnlHistory = (view: AccountView): History =>
  historyOf<ClosedPnl>(
    view,
    (api, cursor) => api.closedPnl(cursor),
    ({ created_time, exec_type, order_id }) => `${order_id}|${exec_type}|${created_time}`,
    [
      { head: "Time", of: ({ created_time }) => time(created_time) },
      { head: "Market", of: ({ symbol }) => symbol },
      {
        head: "Closed",
        of: ({ closed_size, side, symbol }) => `${side === "Sell" ? "Long" : "Short"} ${view.qty(symbol, closed_size)}`
      },
      { head: "Entry", of: ({ avg_entry_price, symbol }) => view.price(symbol, avg_entry_price) },
      { head: "Exit", of: ({ avg_exit_price, symbol }) => view.price(symbol, avg_exit_price) },
      {
        head: "Fees",
        of: ({ close_fee, open_fee }) => `${Format.grouped(open_fee, SMALL)} + ${Format.grouped(close_fee, SMALL)}`
      },
      {
        head: "Liquidation fee",
        of: ({ liquidation_fee }) => (liquidation_fee === "0" ? "–" : Format.money(liquidation_fee))
      },
      {
        head: "Closed PnL",
        of: ({ closed_pnl }) => Format.gain(closed_pnl),
        tone: ({ closed_pnl }) => byGain(closed_pnl)
      },
      { head: "By", of: ({ exec_type }) => (exec_type === "Trade" ? "trade" : kinds[exec_type]) }
    ],
    "Nothing closed yet."
  )

export const fundingHistory = (view: AccountView): History =>
  historyOf<FundingPayment>(
    view,
    (api, cursor) => api.funding(cursor),
    ({ funding_time_ms, sub_account_address, symbol }) => `${funding_time_ms}|${symbol}|${sub_account_address}`,
    [
      { head: "Time", of: ({ funding_time_ms }) => time(funding_time_ms) },
      { head: "Market", of: ({ symbol }) => symbol },
      {
        head: "Position",
        of: ({ side, size, symbol }) => `${side === "Buy" ? "Long" : "Short"} ${view.qty(symbol, size)}`,
        tone: bySide
      },
      { head: "Mark", of: ({ mark_price, symbol }) => view.price(symbol, mark_price) },
      { head: "Rate", of: ({ funding_rate }) => Format.percent(funding_rate, 4) },
      { head: "Payment", of: ({ payment }) => Format.signed(payment, SMALL), tone: ({ payment }) => byGain(payment) }
    ],
    "No funding yet. It is paid at 00:00, 08:00 and 16:00 UTC."
  )

const types: Record<TransactionType, string> = {
  deposit: "Deposit",
  withdrawal: "Withdrawal",
  transfer_in: "Transfer in",
  transfer_out: "Transfer out",
  funding: "Funding",
  fee: "Fee",
  realized_pnl: "Realised PnL",
  liquidation_fee: "Liquidation fee",
  adl: "Auto-deleveraging",
  reward: "Reward"
}

export const moneyHistory = (view: AccountView): History => {
  let type: TransactionType | "" = ""
  const filter = select<TransactionType | "">(
    { id: "money-type", "aria-label": "Kind of transaction" },
    [["", "All transactions"], ...TransactionType.literals.map((each) => [each, types[each]] as const)],
    (chosen) => {
      type = chosen
      history.reset()
      history.refresh()
    }
  )
  const history = historyOf<Transaction>(
    view,
    (api, cursor) => api.transactions(cursor, type),
    ({ id }) => id,
    [
      { head: "Time", of: ({ timestamp }) => time(timestamp) },
      { head: "Kind", of: ({ type: each }) => types[each] },
      { head: "Market", of: ({ symbol }) => symbol ?? "–" },
      { head: "Amount", of: ({ amount }) => Format.signed(amount, SMALL), tone: ({ amount }) => byGain(amount) },
      { head: "Balance after", of: ({ balance_after }) => Format.grouped(balance_after, SMALL) },
      { head: "Asset", of: ({ asset }) => asset }
    ],
    "No transactions yet.",
    h("p", { class: "filter" }, filter)
  )
  return history
}
