/**
 * The commands to cancel one order, or all that a filter lets through.
 * Source: docs/contract/orders.md#transitions-on-a-cancel, docs/contract/rest-trading.md#order-endpoints.
 */
import {
  type CancelAll,
  type CancelOrder,
  type Command,
  type CommandResult,
  OrderCause
} from "../../../proto/gateway/v1/sequencer.ts"
import { CancelType, OrderFilter, OrderStatus, RejectReason } from "../../../proto/gateway/v1/types.ts"
import * as Records from "../Records.ts"
import type { MarketState } from "../State.ts"
import { acknowledge, type StepContext } from "../StepContext.ts"
import * as Matching from "./Matching.ts"
import * as TakeProfitStopLoss from "./TakeProfitStopLoss.ts"
import type { Order } from "./Order.ts"
import { find, noAccount, noSymbol, ownAccount } from "./Lookup.ts"

/**
 * A user's cancel is announced as a request, then as done; the system's only as done.
 * Source: docs/contract/orders.md#transitions-on-a-cancel, docs/contract/exchange.md.
 */
const cancelNow = (turn: StepContext, order: Order, type: CancelType): void => {
  if (order.status === OrderStatus.ORDER_STATUS_UNTRIGGERED) return TakeProfitStopLoss.deactivate(turn, order, type)
  if (type === CancelType.CANCEL_TYPE_CANCEL_BY_USER) {
    order.status = OrderStatus.ORDER_STATUS_CANCEL_REQUESTED
    order.cancelType = type
    order.rejectReason = RejectReason.REJECT_REASON_EC_NO_ERROR
    order.rejectMessage = undefined
    order.updatedMs = turn.at
    Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_CANCEL_REQUESTED)
  }
  Matching.cancel(turn, order, type)
}

/** Cancels open orders and announces each. */
export const cancelOrders = (turn: StepContext, orders: ReadonlyArray<Order>, type: CancelType): void => {
  for (const order of orders) {
    const waits = order.status === OrderStatus.ORDER_STATUS_UNTRIGGERED
    cancelNow(turn, order, type)
    if (!waits) Matching.emitCanceled(turn, [order])
  }
}

export const cancelOne = (turn: StepContext, command: Command, request: CancelOrder): CommandResult => {
  const { state } = turn
  const market = state.marketOf.get(request.symbol)
  if (market === undefined) return noSymbol(command, request.symbol)
  const account = ownAccount(state, command)
  if (account === undefined) return noAccount(command)
  const found = find(state, command, account, market, request.order)
  if ("refusal" in found) return found.refusal
  cancelOrders(turn, [found.order], CancelType.CANCEL_TYPE_CANCEL_BY_USER)
  return acknowledge(turn, command, [Records.orderRef(found.order)])
}

/** Without a sub-account: all of the user's. */
export const cancelAll = (turn: StepContext, command: Command, request: CancelAll): CommandResult => {
  const { state } = turn
  let market: MarketState | undefined
  if (request.symbol !== undefined) {
    market = state.marketOf.get(request.symbol)
    if (market === undefined) return noSymbol(command, request.symbol)
  }
  const own = ownAccount(state, command)
  if (own === undefined && command.sub_account_address !== "") return noAccount(command)
  const accounts = own === undefined ? (state.users.get(command.user_id)?.accounts ?? []) : [own]
  const chosen: Array<Order> = []
  const type = request.cancel_type <= 0 ? CancelType.CANCEL_TYPE_CANCEL_BY_USER : request.cancel_type
  const dcp = type === CancelType.CANCEL_TYPE_CANCEL_BY_DCP
  for (const account of accounts)
    for (const holding of account.holdings) {
      if (holding === undefined || (market !== undefined && holding.market !== market)) continue
      const active = request.order_filter === OrderFilter.ORDER_FILTER_CONDITIONAL ? [] : holding.orders.values()
      const waiting = request.order_filter === OrderFilter.ORDER_FILTER_ACTIVE ? [] : holding.conditional.values()
      for (const order of [...active, ...waiting]) {
        if (request.side > 0 && order.side !== request.side) continue
        if (request.reduce_only !== undefined && order.reduceOnly !== request.reduce_only) continue
        // exits guard the position of somebody who is gone
        if (dcp && TakeProfitStopLoss.isExit(order)) continue
        chosen.push(order)
      }
    }
  cancelOrders(turn, chosen, type)
  return acknowledge(turn, command, chosen.map(Records.orderRef))
}
