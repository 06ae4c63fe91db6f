/**
 * The commands to cancel one order, or all orders that match a filter. Source:
 * docs/contract/orders.md#transitions-on-a-cancel, docs/contract/rest-trading.md#order-endpoints.
 */
import {
  type CancelAll,
  type CancelOrder,
  type Command,
  type CommandResult,
  OrderCause
} from "../../../proto/gateway/v1/sequencer.ts"
import { CancelType, OrderFilter, OrderStatus, RejectReason } from "../../../proto/gateway/v1/types.ts"
import { acknowledge } from "../events/CommandResults.ts"
import * as Records from "../events/Records.ts"
import type { StepContext } from "../events/StepContext.ts"
import type { MarketState, Order } from "../state/State.ts"
import { find, noAccount, noSymbol, ownAccount } from "./Lookup.ts"
import * as OrderEvents from "./OrderEvents.ts"
import * as RestingOrder from "./RestingOrder.ts"
import * as TakeProfitStopLoss from "./TakeProfitStopLoss.ts"

/**
 * A user's cancel emits a request and then the cancellation; a system cancel emits the cancellation only. Source:
 * docs/contract/orders.md#transitions-on-a-cancel, docs/contract/exchange.md.
 */
const cancelNow = (ctx: StepContext, order: Order, type: CancelType): void => {
  if (order.status === OrderStatus.ORDER_STATUS_UNTRIGGERED) return TakeProfitStopLoss.deactivate(ctx, order, type)
  if (type === CancelType.CANCEL_TYPE_CANCEL_BY_USER) {
    order.status = OrderStatus.ORDER_STATUS_CANCEL_REQUESTED
    order.cancelType = type
    order.rejectReason = RejectReason.REJECT_REASON_EC_NO_ERROR
    order.rejectMessage = undefined
    order.updatedMs = ctx.at
    OrderEvents.emitOrder(ctx, order, OrderCause.ORDER_CAUSE_CANCEL_REQUESTED)
  }
  RestingOrder.cancel(ctx, order, type)
}

/** Cancels open orders and emits each. */
export const cancelOrders = (ctx: StepContext, orders: ReadonlyArray<Order>, type: CancelType): void => {
  for (const order of orders) {
    const isConditional = order.status === OrderStatus.ORDER_STATUS_UNTRIGGERED
    cancelNow(ctx, order, type)
    if (!isConditional) OrderEvents.emitCanceled(ctx, [order])
  }
}

export const cancelOne = (ctx: StepContext, command: Command, request: CancelOrder): CommandResult => {
  const { state } = ctx
  const market = state.marketOf.get(request.symbol)
  if (market === undefined) return noSymbol(command, request.symbol)
  const account = ownAccount(state, command)
  if (account === undefined) return noAccount(command)
  const found = find(state, command, account, market, request.order)
  if ("refusal" in found) return found.refusal
  cancelOrders(ctx, [found.order], CancelType.CANCEL_TYPE_CANCEL_BY_USER)
  return acknowledge(ctx, command, [Records.orderRef(found.order)])
}

/** Cancels the orders of one sub-account, or of all of the user's sub-accounts where none is given. */
export const cancelAll = (ctx: StepContext, command: Command, request: CancelAll): CommandResult => {
  const { state } = ctx
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
        // disconnect protection keeps take-profit and stop-loss: they protect the position of the disconnected user
        if (dcp && TakeProfitStopLoss.isExit(order)) continue
        chosen.push(order)
      }
    }
  cancelOrders(ctx, chosen, type)
  return acknowledge(ctx, command, chosen.map(Records.orderRef))
}
