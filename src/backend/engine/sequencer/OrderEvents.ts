/** The events of orders, and the balance events that follow from changed order margins. */
import { OrderCause } from "../../../proto/gateway/v1/sequencer.ts"
import { BalanceReason, CancelType } from "../../../proto/gateway/v1/types.ts"
import * as Accounts from "../accounts/Accounts.ts"
import { emitBalance } from "../events/PositionEvents.ts"
import * as Records from "../events/Records.ts"
import { emit, type StepContext } from "../events/StepContext.ts"
import { isPoolPosition } from "../state/MarketPosition.ts"
import type { Order } from "../state/State.ts"
import { rowOf } from "./Status.ts"

/**
 * Emits the current state of an order. Throws where the status change is not in the table of
 * docs/contract/orders.md#order-statuses.
 */
export const emitOrder = (ctx: StepContext, order: Order, cause: OrderCause): void => {
  if (isPoolPosition(order.holding)) return
  rowOf(order.announcedStatus, cause, order.status)
  order.announcedStatus = order.status
  order.updatedMs = ctx.at
  emit(ctx, order.account, order.holding.market, () => ({
    $case: "order_changed",
    value: { order: Records.order(order), cause }
  }))
}

/**
 * Notes that the margins of an account changed while its wallet did not; {@link emitMarginChanges} emits the balance.
 */
export const noteMarginChange = (ctx: StepContext, order: Order): void => {
  const { holding } = order
  if (isPoolPosition(holding)) return
  if (holding.lots !== 0 && Accounts.figuresOf(holding).exposureTier !== holding.announcedTier)
    Accounts.markOutdated(ctx.state, holding)
  ctx.changedMargins.set(order.account, ctx.changedMargins.has(order.account) ? undefined : order.id)
}

/**
 * Emits the balances noted by {@link noteMarginChange}, once per account, unless a later balance event of the step has
 * shown them.
 */
export const emitMarginChanges = (ctx: StepContext): void => {
  for (const [account, order_id] of ctx.changedMargins)
    emitBalance(ctx, account, undefined, () => ({ reason: BalanceReason.BALANCE_REASON_ORDER, order_id }))
}

/** Emits canceled orders and the margins that they released. */
export const emitCanceled = (ctx: StepContext, orders: ReadonlyArray<Order>): void => {
  for (const order of orders) {
    emitOrder(ctx, order, OrderCause.ORDER_CAUSE_CANCELED)
    // an order that was canceled immediately never had a margin event, so none follows
    if (order.cancelType !== CancelType.CANCEL_TYPE_CANCEL_BY_TIME_IN_FORCE || order.filled > 0)
      noteMarginChange(ctx, order)
  }
}
