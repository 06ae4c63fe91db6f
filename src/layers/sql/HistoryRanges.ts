/** The index range and the filter of each list of the read model. */
import { OrderStatus } from "../../domain/Enumerations.ts"
import { isOpen } from "../../domain/Order.ts"
import type { ExecutionQuery, History, OrderQuery } from "../../services/History.ts"
import { type Ranged, Where } from "./Tables.ts"

/** Number of statuses in which an order is open. */
const OPEN_STATUSES = OrderStatus.literals.filter(isOpen).length

export const orderRange = (filters: OrderQuery): Ranged => {
  const { order_id, order_link_id, side, statuses, sub_accounts, symbol, user_id } = filters
  const on = { table: "orders", time: "created_time" }
  const filter = new Where()
    .among("sub_account_address", sub_accounts)
    .when(symbol, "symbol = ?")
    .when(side, "side = ?")
  const own = new Where().and("user_id = ?", user_id)
  // a reference names at most one order in each sub-account of the user
  if (order_id !== undefined || order_link_id !== undefined) {
    const range = own.when(order_id, "order_id = ?").when(order_link_id, "order_link_id = ?")
    return { ...on, range: range.with(filter.among("status", statuses)) }
  }
  if (statuses?.length === 1 && filter.isEmpty && !isOpen(statuses[0]!)) {
    return { ...on, index: "orders_final", range: own.and("status = ? AND is_open = 0", statuses[0]!) }
  }
  if (statuses !== undefined && statuses.length > 0 && statuses.every(isOpen)) {
    if (statuses.length < OPEN_STATUSES) filter.among("status", statuses)
    return { ...on, index: "orders_open", range: own.and("is_open = 1"), filter }
  }
  return { ...on, index: "orders_list", range: own, filter: filter.among("status", statuses) }
}

export const executionRange = (filters: Omit<ExecutionQuery, "order_link_id">): Ranged => {
  const { exec_type, order_id, side, sub_accounts, symbol, user_id } = filters
  const filter = new Where()
    .among("sub_account_address", sub_accounts)
    .when(symbol, "symbol = ?")
    .when(exec_type, "exec_type = ?")
    .when(side, "side = ?")
  const on = { table: "executions", time: "exec_time", filter }
  const own = new Where().and("user_id = ?", user_id)
  return order_id === undefined
    ? { ...on, index: "executions_list", range: own }
    : { ...on, index: "executions_order", range: own.and("order_id = ?", order_id), covers: false }
}

export const movementRange = (filters: Parameters<History["Service"]["movements"]>[0]): Ranged => {
  const { kind, sub_accounts, user_id, within } = filters
  const filter = new Where().among("from_address", within).among("to_address", within)
  if (sub_accounts !== undefined) {
    const either = ["from_address", "to_address"].map((column) => new Where().among(column, sub_accounts))
    filter.and(`(${either.join(" OR ")})`, ...either.flatMap(({ values }) => values))
  }
  const own = new Where().and("user_id = ?", user_id)
  const on = { table: "movements", time: "created_time", filter }
  return kind === undefined
    ? { ...on, index: "movements_list", range: own, covers: false }
    : { ...on, index: "movements_kind", range: own.and("kind = ?", kind) }
}
