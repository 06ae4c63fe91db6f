/** The state machine of an order by docs/contract/orders.md#order-statuses, in the names of the boundary. */
import { OrderCause } from "../src/proto/gateway/v1/sequencer.ts"
import { OrderStatus } from "../src/proto/gateway/v1/types.ts"

const S = OrderStatus
const C = OrderCause
const WORKING = [S.ORDER_STATUS_NEW, S.ORDER_STATUS_PARTIALLY_FILLED] as const
const REQUESTED = S.ORDER_STATUS_CANCEL_REQUESTED

/** Rows: from statuses (undefined: the first record), cause, to status. */
const rows: ReadonlyArray<readonly [ReadonlyArray<OrderStatus | undefined>, OrderCause, ReadonlyArray<OrderStatus>]> = [
  [[undefined], C.ORDER_CAUSE_ACCEPTED, [S.ORDER_STATUS_NEW, S.ORDER_STATUS_UNTRIGGERED]],
  [[undefined], C.ORDER_CAUSE_REJECTED, [S.ORDER_STATUS_REJECTED]],
  [WORKING, C.ORDER_CAUSE_FILLED, [S.ORDER_STATUS_PARTIALLY_FILLED, S.ORDER_STATUS_FILLED]],
  [[REQUESTED], C.ORDER_CAUSE_FILLED, [REQUESTED, S.ORDER_STATUS_FILLED]],
  [WORKING, C.ORDER_CAUSE_CANCEL_REQUESTED, [REQUESTED]],
  [[REQUESTED], C.ORDER_CAUSE_CANCELED, [S.ORDER_STATUS_CANCELED, S.ORDER_STATUS_PARTIALLY_FILLED_CANCELED]],
  [[S.ORDER_STATUS_NEW], C.ORDER_CAUSE_CANCELED, [S.ORDER_STATUS_CANCELED]],
  [[S.ORDER_STATUS_PARTIALLY_FILLED], C.ORDER_CAUSE_CANCELED, [S.ORDER_STATUS_PARTIALLY_FILLED_CANCELED]],
  [[...WORKING, S.ORDER_STATUS_UNTRIGGERED], C.ORDER_CAUSE_EXPIRED, [S.ORDER_STATUS_EXPIRED]],
  [[S.ORDER_STATUS_UNTRIGGERED], C.ORDER_CAUSE_TRIGGERED, [S.ORDER_STATUS_TRIGGERED]],
  [[S.ORDER_STATUS_UNTRIGGERED], C.ORDER_CAUSE_CANCELED, [S.ORDER_STATUS_DEACTIVATED]],
  [[S.ORDER_STATUS_TRIGGERED], C.ORDER_CAUSE_ACCEPTED, [S.ORDER_STATUS_NEW]],
  [[S.ORDER_STATUS_TRIGGERED], C.ORDER_CAUSE_REJECTED, [S.ORDER_STATUS_REJECTED]],
  [[REQUESTED], C.ORDER_CAUSE_CANCEL_REFUSED, WORKING]
]

/** Causes that keep the status, with the statuses that they apply to. */
const STAYS: ReadonlyArray<readonly [OrderCause, ReadonlyArray<OrderStatus>]> = [
  [C.ORDER_CAUSE_AMENDED, [...WORKING, S.ORDER_STATUS_UNTRIGGERED]],
  [C.ORDER_CAUSE_AMEND_REFUSED, [...WORKING, S.ORDER_STATUS_UNTRIGGERED, REQUESTED]]
]

/** Whether the state machine allows a transition. */
export const isTransition = (from: OrderStatus | undefined, cause: OrderCause, to: OrderStatus): boolean =>
  rows.some(([froms, why, tos]) => why === cause && froms.includes(from) && tos.includes(to)) ||
  STAYS.some(([why, statuses]) => why === cause && from === to && statuses.includes(to))
