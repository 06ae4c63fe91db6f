/**
 * Bodies of the order commands, as clients write them. Source: docs/contract/orders.md#new-order,
 * docs/contract/rest-trading.md#order-endpoints.
 */
import { Schema } from "effect"
import { Decimal } from "../../domain/Decimal.ts"
import {
  OrderFilter,
  OrderType,
  Side,
  SmpType,
  TpslMode,
  TriggerBy,
  TriggerDirection
} from "../../domain/Enumerations.ts"
import { field, measure } from "../../domain/Field.ts"
import { OrderLinkId, OrderLinkIdOrNone, Uuid } from "../../domain/Identity.ts"
import { BATCH_ORDERS_MAX } from "../../domain/OrderForm.ts"
import { SwitchWindow } from "../../domain/DeadMansSwitchWindow.ts"
import { Millis } from "../../domain/Time.ts"
import { anyAddress, AnySymbol } from "./Fields.ts"

/** `PostOnly` is `GTC` with `post_only`; it is never answered. */
export const TimeInForceInput = Schema.Literals(["GTC", "GTT", "IOC", "FOK", "PostOnly"]).annotate({
  identifier: "TimeInForceAsked",
  description: "GTC by default; a Market order is IOC. GTT needs expire_time; PostOnly is short for GTC with post_only"
})

const triggerPrice = measure(Decimal, "Trigger price, a multiple of the market's tick_size", "quote asset")
const triggerBy = Schema.optionalKey(field(TriggerBy, "Reference price; LastPrice by default"))

export const TriggerInput = Schema.Struct({
  trigger_price: triggerPrice,
  trigger_by: triggerBy,
  trigger_direction: Schema.optionalKey(
    field(
      TriggerDirection,
      "Up: at or above, Down: at or below; by default the side of the reference on which the price lies"
    )
  )
}).annotate({ identifier: "TriggerAsked" })

/** What an order waits for may be moved, not exchanged: an order that silently kept its reference would surprise. */
const Fixed = Schema.Never.annotate({
  message: "no value: it cannot be amended, so cancel the order and place another"
})
export const TriggerPatch = Schema.Struct({
  trigger_price: triggerPrice,
  trigger_by: Schema.optionalKey(field(Fixed, "Reference price of the trigger")),
  trigger_direction: Schema.optionalKey(field(Fixed, "Triggers at or above, at or below"))
}).annotate({ identifier: "TriggerAmended" })

export const LegInput = Schema.Struct({
  market: field(
    Schema.Struct({
      trigger_price: triggerPrice,
      trigger_by: triggerBy
    }),
    "Market order at the trigger price"
  )
}).annotate({ identifier: "LegAsked" })

const tpslOf = (identifier: string, description: string) =>
  Schema.Struct({
    mode: Schema.optionalKey(TpslMode),
    take_profit: Schema.optionalKey(field(LegInput, "Take-profit")),
    stop_loss: Schema.optionalKey(field(LegInput, "Stop-loss"))
  }).annotate({ identifier, description })
export const TpslInput = tpslOf(
  "TpslAsked",
  "Exits that the first fill attaches which opens or increases a position in the order's direction: Full (by default) closes the whole position, Partial what this order opened. A position has at most 20 pairs"
)
export const TpslPatch = tpslOf(
  "TpslAmended",
  "Absent legs stay unchanged; a trigger_price of 0 removes a leg, and an absent trigger_by keeps that of the leg"
)

export const CreateOrderBody = Schema.Struct({
  sub_account_address: anyAddress("Sub-account"),
  symbol: AnySymbol,
  side: Side,
  order_type: OrderType,
  qty: measure(
    Decimal,
    "Quantity, a multiple of the market's qty_step; 0 with reduce_only and close_on_trigger: the whole position",
    "base asset"
  ),
  price: Schema.optionalKey(
    measure(
      Decimal,
      "Price, a multiple of the market's tick_size; required for Limit, ignored for Market",
      "quote asset"
    )
  ),
  time_in_force: Schema.optionalKey(TimeInForceInput),
  expire_time: Schema.optionalKey(field(Millis, "With GTT only: 1 second to 90 days from now")),
  post_only: Schema.optionalKey(field(Schema.Boolean, "Whether the order may only add liquidity")),
  reduce_only: Schema.optionalKey(field(Schema.Boolean, "Whether the order may only reduce a position")),
  close_on_trigger: Schema.optionalKey(
    field(Schema.Boolean, "Whether the triggered order cancels other orders to free its margin")
  ),
  order_link_id: Schema.optionalKey(OrderLinkId),
  trigger: Schema.optionalKey(field(TriggerInput, "Trigger of a conditional order")),
  tpsl: Schema.optionalKey(TpslInput),
  smp_type: Schema.optionalKey(SmpType)
}).annotate({ identifier: "CreateOrderBody" })
export type CreateOrderBody = typeof CreateOrderBody.Type

const orderName = {
  order_id: Schema.optionalKey(field(Uuid, "Order id")),
  order_link_id: Schema.optionalKey(field(OrderLinkId, "Alternative to order_id, which takes precedence"))
}

export const AmendOrderBody = Schema.Struct({
  sub_account_address: anyAddress("Sub-account"),
  symbol: AnySymbol,
  ...orderName,
  price: Schema.optionalKey(measure(Decimal, "Price", "quote asset")),
  qty: Schema.optionalKey(measure(Decimal, "New total quantity", "base asset")),
  trigger: Schema.optionalKey(field(TriggerPatch, "Trigger of a conditional order")),
  tpsl: Schema.optionalKey(TpslPatch),
  order_iv: Schema.optionalKey(
    measure(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)), "Expected `version` of the order; 0: no check", "count")
  )
}).annotate({ identifier: "AmendOrderBody" })
export type AmendOrderBody = typeof AmendOrderBody.Type

export const CancelOrderBody = Schema.Struct({
  sub_account_address: anyAddress("Sub-account"),
  symbol: AnySymbol,
  ...orderName
}).annotate({ identifier: "CancelOrderBody" })
export type CancelOrderBody = typeof CancelOrderBody.Type

export const CancelAllBody = Schema.Struct({
  sub_account_address: anyAddress("Sub-account"),
  symbol: Schema.optionalKey(AnySymbol),
  side: Schema.optionalKey(Side),
  order_filter: Schema.optionalKey(OrderFilter),
  reduce_only: Schema.optionalKey(field(Schema.Boolean, "Whether the order may only reduce a position"))
}).annotate({ identifier: "CancelAllBody" })
export type CancelAllBody = typeof CancelAllBody.Type

export const SwitchBody = Schema.Struct({
  sub_account_address: anyAddress("Sub-account"),
  enabled: field(Schema.Boolean, "Whether the switch is on"),
  time_window: Schema.optionalKey(SwitchWindow)
}).annotate({ identifier: "SwitchBody" })
export type SwitchBody = typeof SwitchBody.Type

const batchOf = <S extends Schema.Top>(body: S, identifier: string) =>
  Schema.Struct({
    orders: field(
      Schema.Array(body).check(Schema.isMinLength(1), Schema.isMaxLength(BATCH_ORDERS_MAX)),
      `1 to ${BATCH_ORDERS_MAX}, sequenced in this order`
    )
  }).annotate({ identifier })
export const CreateBatchBody = batchOf(CreateOrderBody, "CreateBatchBody")
export const CancelBatchBody = batchOf(CancelOrderBody, "CancelBatchBody")

/** What became of one order of a batch. */
export const BatchResult = Schema.Struct({
  code: field(Schema.String, "`OK`, or the error code of this order", "OK"),
  message: field(Schema.String, "Text for developers, in English; the wording may change"),
  order_id: Schema.optionalKey(field(Uuid, "Order id")),
  order_link_id: field(
    OrderLinkIdOrNone,
    'Of the order; of a refused one as it was asked for. `""` where there is none'
  ),
  details: Schema.optionalKey(field(Schema.Record(Schema.String, Schema.Unknown), "Details as in an error body"))
}).annotate({ identifier: "BatchResult" })
export type BatchResult = typeof BatchResult.Type
export const BatchResults = Schema.Struct({
  list: field(Schema.Array(BatchResult), "Results in the order of the request")
}).annotate({ identifier: "BatchResults" })
