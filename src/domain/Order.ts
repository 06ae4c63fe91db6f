/** Orders: requests, and the record of an order. Source: docs/contract/orders.md. */
import { Schema } from "effect"
import { Address } from "./Address.ts"
import { Decimal, SignedDecimal } from "./Decimal.ts"
import {
  CancelType,
  CreateType,
  MarginMode,
  OrderFilter,
  OrderStatus,
  OrderType,
  RejectReason,
  Side,
  SmpType,
  StopOrderType,
  TimeInForce,
  TpslMode,
  TriggerBy,
  TriggerDirection
} from "./Enumerations.ts"
import { field, measure } from "./Field.ts"
import { OrderLinkId, OrderLinkIdOrNone, Uuid } from "./Identity.ts"
import { MarketSymbol } from "./Market.ts"
import { DigitMillis } from "./Time.ts"

export const OrderRef = Schema.Struct({ order_id: field(Uuid, "Order id"), order_link_id: OrderLinkIdOrNone }).annotate(
  {
    identifier: "OrderRef"
  }
)
export type OrderRef = typeof OrderRef.Type

/** Trigger of a new order. Without a direction, the sequencer derives it when it executes the command. */
export interface NewTrigger {
  readonly trigger_price: string
  readonly trigger_by: TriggerBy
  readonly trigger_direction: TriggerDirection | undefined
}

/**
 * A requested exit (take-profit or stop-loss). In an amend and for a position, a price of `0` removes the exit. In an amend an absent
 * reference price is that of the order's exit, or `LastPrice` where it has none.
 */
export interface Exit {
  readonly trigger_price: string
  readonly trigger_by: TriggerBy | undefined
}

/** Requested take-profit and stop-loss. An absent mode means `Full`, or in an amend the previous mode. */
export interface Exits {
  readonly mode: TpslMode | undefined
  readonly take_profit: Exit | undefined
  readonly stop_loss: Exit | undefined
}

/** A new order, decoded and normalised: `PostOnly` is `GTC` with `post_only`, defaults are filled in. */
export interface NewOrder {
  readonly symbol: string
  readonly side: Side
  readonly order_type: OrderType
  readonly qty: string
  readonly price: string | undefined
  readonly time_in_force: TimeInForce
  /** Unix ms, with GTT only. */
  readonly expire_time: number | undefined
  readonly post_only: boolean
  readonly reduce_only: boolean
  readonly close_on_trigger: boolean
  readonly order_link_id: string | undefined
  readonly trigger: NewTrigger | undefined
  readonly tpsl: Exits | undefined
  readonly smp_type: SmpType
}

/** Reference to one order: by id, or by the client's order_link_id. */
export interface OrderName {
  readonly order_id: string | undefined
  readonly order_link_id: string | undefined
}

export interface AmendOrder {
  readonly symbol: string
  readonly order: OrderName
  readonly price: string | undefined
  readonly qty: string | undefined
  readonly trigger_price: string | undefined
  readonly tpsl: Exits | undefined
  /** Expected version; 0: no check. */
  readonly order_iv: number
}

export interface CancelOrder {
  readonly symbol: string
  readonly order: OrderName
}

export interface CancelAll {
  readonly symbol: string | undefined
  readonly side: Side | undefined
  readonly order_filter: OrderFilter
  readonly reduce_only: boolean | undefined
  readonly cancel_type: CancelType
}

export const Trigger = Schema.Struct({
  trigger_by: TriggerBy,
  trigger_direction: TriggerDirection,
  trigger_price: measure(Decimal, "Trigger price", "quote asset")
}).annotate({ identifier: "Trigger" })

const TpslLeg = Schema.Struct({
  market: field(
    Schema.Struct({ trigger_by: TriggerBy, trigger_price: measure(Decimal, "Trigger price", "quote asset") }),
    "Market order at the trigger price"
  )
})
export const Tpsl = Schema.Struct({
  mode: TpslMode,
  take_profit: Schema.optionalKey(field(TpslLeg, "Take-profit")),
  stop_loss: Schema.optionalKey(field(TpslLeg, "Stop-loss"))
}).annotate({ identifier: "Tpsl" })

/**
 * The record of an order. Fields up to `updated_time` are always present. Source:
 * docs/contract/orders.md#order-record.
 */
export const Order = Schema.Struct({
  avg_price: measure(Decimal, "Average price of the fills; 0 before the first", "quote asset"),
  close_on_trigger: field(Schema.Boolean, "Whether the triggered order cancels other orders to free its margin"),
  created_time: field(DigitMillis, "Creation time"),
  cum_exec_fee: measure(SignedDecimal, "Sum of the fees; negative: a rebate", "settlement asset"),
  cum_exec_qty: measure(Decimal, "Filled quantity", "base asset"),
  cum_exec_value: measure(Decimal, "Value of the fills", "quote asset"),
  last_price_on_created: measure(Decimal, "Price of the last trade at the creation of the order", "quote asset"),
  leaves_qty: measure(Decimal, "Open quantity; 0 in every final status", "base asset"),
  leaves_value: measure(Decimal, "Value of leaves_qty at the order's price", "quote asset"),
  margin_mode: MarginMode,
  order_id: field(Uuid, "Order id"),
  order_status: OrderStatus,
  order_type: OrderType,
  post_only: field(Schema.Boolean, "Whether the order may only add liquidity"),
  price: measure(Decimal, "Price; 0 for a market order", "quote asset"),
  qty: measure(Decimal, "Total quantity; for an exit of the whole position, the size of the position", "base asset"),
  reduce_only: field(Schema.Boolean, "Whether the order may only reduce a position"),
  side: Side,
  sub_account_address: field(Address, "Sub-account"),
  symbol: field(MarketSymbol, "Market"),
  time_in_force: TimeInForce,
  updated_time: field(DigitMillis, "Time of the last change"),
  cancel_type: Schema.optionalKey(CancelType),
  closed_pnl: Schema.optionalKey(measure(SignedDecimal, "Realized profit and loss", "settlement asset")),
  create_type: Schema.optionalKey(CreateType),
  expire_time: Schema.optionalKey(field(DigitMillis, "Expiry of a GTT order")),
  order_link_id: Schema.optionalKey(OrderLinkId),
  reject_reason: Schema.optionalKey(RejectReason),
  stop_order_type: Schema.optionalKey(StopOrderType),
  tpsl: Schema.optionalKey(field(Tpsl, "Take-profit and stop-loss of the order")),
  trigger: Schema.optionalKey(field(Trigger, "Trigger of a conditional order")),
  version: measure(Schema.Int, "1 at creation, one more per accepted amend", "count"),
  smp_type: Schema.optionalKey(SmpType),
  parent_order_id: Schema.optionalKey(field(Uuid, "Parent order")),
  reject_message: Schema.optionalKey(
    field(Schema.String, "Text of `reject_reason`; the wording may change", "the price is outside the band")
  )
}).annotate({ identifier: "Order" })
export type Order = typeof Order.Type

const OPEN: ReadonlySet<OrderStatus> = new Set(["New", "PartiallyFilled", "Untriggered", "CancelRequested"])
const FINAL: ReadonlySet<OrderStatus> = new Set([
  "Rejected",
  "PartiallyFilledCanceled",
  "Filled",
  "Canceled",
  "Deactivated",
  "Expired"
])
/** Whether an order in this status may still change. `Triggered` is transient: neither open nor final. */
export const isOpen = (status: OrderStatus): boolean => OPEN.has(status)
/** Whether an order in this status never changes again. */
export const isFinal = (status: OrderStatus): boolean => FINAL.has(status)
