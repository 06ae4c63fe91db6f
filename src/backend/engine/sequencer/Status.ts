/** Checks every change of an order's status against the table of {@link OrderStatus.transitions}. */
import type { OrderStatus as Name } from "../../../domain/Enumerations.ts"
import * as OrderStatus from "../../../domain/OrderStatus.ts"
import { OrderCause } from "../../../proto/gateway/v1/sequencer.ts"
import { OrderStatus as Status } from "../../../proto/gateway/v1/types.ts"

const NUMBER: { readonly [status in Name]: Status } = {
  New: Status.ORDER_STATUS_NEW,
  PartiallyFilled: Status.ORDER_STATUS_PARTIALLY_FILLED,
  Untriggered: Status.ORDER_STATUS_UNTRIGGERED,
  CancelRequested: Status.ORDER_STATUS_CANCEL_REQUESTED,
  Rejected: Status.ORDER_STATUS_REJECTED,
  PartiallyFilledCanceled: Status.ORDER_STATUS_PARTIALLY_FILLED_CANCELED,
  Filled: Status.ORDER_STATUS_FILLED,
  Canceled: Status.ORDER_STATUS_CANCELED,
  Triggered: Status.ORDER_STATUS_TRIGGERED,
  Deactivated: Status.ORDER_STATUS_DEACTIVATED,
  Expired: Status.ORDER_STATUS_EXPIRED
}

const CAUSE: { readonly [cause in OrderStatus.Cause]: OrderCause } = {
  accepted: OrderCause.ORDER_CAUSE_ACCEPTED,
  rejected: OrderCause.ORDER_CAUSE_REJECTED,
  filled: OrderCause.ORDER_CAUSE_FILLED,
  "cancel requested": OrderCause.ORDER_CAUSE_CANCEL_REQUESTED,
  canceled: OrderCause.ORDER_CAUSE_CANCELED,
  amended: OrderCause.ORDER_CAUSE_AMENDED,
  "amend refused": OrderCause.ORDER_CAUSE_AMEND_REFUSED,
  "cancel refused": OrderCause.ORDER_CAUSE_CANCEL_REFUSED,
  triggered: OrderCause.ORDER_CAUSE_TRIGGERED,
  expired: OrderCause.ORDER_CAUSE_EXPIRED
}

const WIDTH = 16
const indexOf = (from: Status, cause: OrderCause, to: Status): number => (from * WIDTH + cause) * WIDTH + to

const rowAt = new Uint8Array(WIDTH ** 3)
for (const { row, from, cause, to } of OrderStatus.transitions)
  rowAt[indexOf(from === undefined ? Status.ORDER_STATUS_UNSPECIFIED : NUMBER[from], CAUSE[cause], NUMBER[to])] = row

/**
 * The row of docs/contract/orders.md#order-statuses that permits a change. Throws where no row does: that is a bug,
 * never a refusal.
 */
export const rowOf = (from: Status, cause: OrderCause, to: Status): number => {
  const row = rowAt[indexOf(from, cause, to)]
  if (row === undefined || row === 0) throw new Error(`no order goes from status ${from} to ${to} by cause ${cause}`)
  return row
}
