/**
 * The current rows of a user as shown: those that the history holds, with the unwritten ones over them. All functions are
 * pure; the projections follow the position of the stored rows.
 */
import type { Order } from "../../domain/Order.ts"
import { type Rows, TextRows } from "../../domain/Page.ts"
import type { OrderRow, Projection } from "../../domain/Projection.ts"
import type { SubAccountState } from "../../domain/User.ts"
import type { LastRecord, OrderQuery } from "../History.ts"

type Projections = ReadonlyArray<Projection>

const isIn = <A>(wanted: ReadonlyArray<A> | undefined, value: A): boolean => wanted?.includes(value) ?? true
const isOr = <A>(wanted: A | undefined, value: A): boolean => wanted === undefined || wanted === value

const matches = (query: OrderQuery, { order }: OrderRow): boolean => {
  const created_time = Number(order.created_time)
  return (
    isIn(query.statuses, order.order_status) &&
    isIn(query.sub_accounts, order.sub_account_address) &&
    isOr(query.symbol, order.symbol) &&
    isOr(query.side, order.side) &&
    isOr(query.order_id, order.order_id) &&
    isOr(query.order_link_id, order.order_link_id) &&
    created_time >= (query.start_time ?? 0) &&
    created_time < (query.end_time ?? Infinity)
  )
}

/** The last state of each order of the user, in the order of their first events. */
const changedOrders = ({ user_id }: OrderQuery, projections: Projections): Map<string, OrderRow> => {
  const changed = new Map<string, OrderRow>()
  for (const { orders } of projections) {
    for (const row of orders) if (row.user_id === user_id) changed.set(row.order.order_id, row)
  }
  return changed
}

/** Most orders that {@link openOrders} adds to a page. */
export const newOrdersMax = (query: OrderQuery, projections: Projections): number =>
  query.after === undefined
    ? [...changedOrders(query, projections).values()].filter((row) => matches(query, row)).length
    : 0

/**
 * A page of open orders. Orders that ended leave it, so it may be shorter than its limit. New orders are newer than all
 * stored ones, so only a first page contains them. Undefined: an order may be a new one, or belong to a later page.
 */
export const openOrders = (
  query: OrderQuery,
  stored: Rows<Order>,
  projections: Projections
): Rows<Order> | undefined => {
  const changed = changedOrders(query, projections)
  if (changed.size === 0) return stored
  const texts: Array<string> = []
  stored.rows.forEach((order, i) => {
    const row = changed.get(order.order_id)
    if (row === undefined) texts.push(stored.texts?.[i] ?? JSON.stringify(order))
    else if (matches(query, row)) texts.push(row.record)
    changed.delete(order.order_id)
  })
  if (query.after !== undefined) return new TextRows(texts, stored.next)
  const added: Array<string> = []
  for (const row of changed.values()) {
    if (!matches(query, row)) continue
    if (stored.next !== undefined) {
      // on a later page, or new; a page without rows has only scanned
      const created_time = Number(row.order.created_time)
      const newest = stored.rows[0]
      if (newest === undefined || created_time === Number(newest.created_time)) return undefined
      if (created_time < Number(newest.created_time)) {
        if (created_time >= Number(stored.rows.at(-1)!.created_time)) return undefined
        continue
      }
    }
    added.push(row.record)
  }
  return new TextRows([...added.reverse(), ...texts], stored.next)
}

/** The last records of a user's positions and balances, or of one of both. */
export const lastRecords = (
  user_id: string,
  topic: LastRecord["topic"] | undefined,
  stored: ReadonlyArray<LastRecord>,
  projections: Projections
): ReadonlyArray<LastRecord> => {
  const keyOf = (record: Omit<LastRecord, "seq" | "record">) =>
    `${record.topic}|${record.sub_account_address}|${record.subject}`
  const last = new Map(stored.map((record) => [keyOf(record), record]))
  for (const { userEvents } of projections) {
    for (const event of userEvents) {
      const { subject, sub_account_address, seq, record } = event
      if (event.user_id !== user_id || subject === undefined) continue
      if (event.topic !== "position" && event.topic !== "account_balance") continue
      if (!isOr(topic, event.topic)) continue
      const row = { user_id, topic: event.topic, sub_account_address, subject, seq, record }
      last.set(keyOf(row), row)
    }
  }
  return [...last.values()]
}

/** The sub-accounts of a user, by index. */
export const subAccounts = (
  user_id: string,
  stored: ReadonlyArray<SubAccountState>,
  projections: Projections
): ReadonlyArray<SubAccountState> => {
  const last = new Map(stored.map((account) => [account.sub_account_address, account]))
  for (const projection of projections) {
    for (const account of projection.subAccounts) {
      if (account.user_id === user_id) last.set(account.sub_account_address, account)
    }
  }
  return [...last.values()].sort((a, b) => a.index - b.index)
}
