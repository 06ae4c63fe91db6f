/** Creates orders. */
import {
  CancelType,
  CreateType,
  OrderStatus,
  type OrderType,
  RejectReason,
  type Side,
  SmpType,
  StopOrderType,
  type TimeInForce
} from "../../../proto/gateway/v1/types.ts"
import type { StepContext } from "../events/StepContext.ts"
import * as Ids from "../state/Ids.ts"
import { retainOrderLinkId } from "../state/Retention.ts"
import type { MarketPosition, Order, Tpsl, Trigger } from "../state/State.ts"

/** Fields of a new order; absent ones have defaults. */
export interface NewOrderFields {
  readonly side: Side
  readonly type: OrderType
  readonly timeInForce: TimeInForce
  /** limit price; for a Market order the worst accepted price */
  readonly ticks: number
  readonly lots: number
  readonly link?: string | undefined
  readonly postOnly?: boolean
  readonly reduceOnly?: boolean
  readonly closeOnTrigger?: boolean
  readonly smp?: SmpType
  readonly createType?: CreateType
  readonly stopType?: StopOrderType
  readonly expireMs?: number | undefined
  readonly parent?: string | undefined
  readonly trigger?: Trigger | undefined
  readonly tpsl?: Tpsl | undefined
}

/** Creates an order: allocates its number, slot and id, and marks its order_link_id as used. */
export const newOrder = (ctx: StepContext, holding: MarketPosition, shape: NewOrderFields): Order => {
  const { state, at } = ctx
  const number = ++state.orderNumber
  const slot = state.orders.takeSlot()
  const id = Ids.print(state.orderSeed, at, number, slot)
  const { account, market } = holding
  if (shape.link !== undefined) retainOrderLinkId(state, account, shape.link, id)
  const order: Order = {
    number,
    slot,
    id,
    link: shape.link,
    account,
    holding,
    side: shape.side,
    type: shape.type,
    timeInForce: shape.timeInForce,
    postOnly: shape.postOnly ?? false,
    reduceOnly: shape.reduceOnly ?? false,
    closeOnTrigger: shape.closeOnTrigger ?? false,
    smp: shape.smp ?? SmpType.SMP_TYPE_CANCEL_TAKER,
    createdMs: at,
    lastPriceOnCreated: market.lastTicks ?? market.markTicks,
    createType: shape.createType ?? CreateType.CREATE_TYPE_CREATE_BY_USER,
    stopType: shape.stopType ?? StopOrderType.STOP_ORDER_TYPE_UNSPECIFIED,
    expireMs: shape.expireMs,
    parent: shape.parent,
    sibling: undefined,
    trigger: shape.trigger,
    tpsl: shape.tpsl,
    opened: 0,
    attached: 0,
    ticks: shape.ticks,
    lots: shape.lots,
    leaves: shape.lots,
    filled: 0,
    filledValue: 0n,
    fees: 0n,
    closedPnl: undefined,
    status: OrderStatus.ORDER_STATUS_NEW,
    announcedStatus: OrderStatus.ORDER_STATUS_UNSPECIFIED,
    cancelType: CancelType.CANCEL_TYPE_UNSPECIFIED,
    rejectReason: RejectReason.REJECT_REASON_EC_NO_ERROR,
    rejectMessage: undefined,
    version: 1,
    updatedMs: at,
    resting: false
  }
  state.orders.keep(order)
  return order
}
