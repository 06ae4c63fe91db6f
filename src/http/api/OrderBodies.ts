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
import { OrderLinkId, OrderLinkIdOrNone, Uuid } from "../../domain/Identity.ts"
import { BATCH_ORDERS_MAX } from "../../domain/OrderForm.ts"
import { SwitchWindow } from "../../domain/DeadMansSwitchWindow.ts"
import { Millis } from "../../domain/Time.ts"
import { AnyAddress, AnySymbol } from "./Fields.ts"

/** `PostOnly` is `GTC` with `post_only`; it is never answered. */
export const TimeInForceInput = Schema.Literals(["GTC", "GTT", "IOC", "FOK", "PostOnly"]).annotate({
  identifier: "TimeInForceAsked",
  description: "GTC by default; a Market order is IOC. GTT needs expire_time; PostOnly is short for GTC with post_only"
})

const triggerPrice = Decimal.annotate({ description: "A multiple of the market's tick_size" })
const triggerBy = Schema.optionalKey(TriggerBy.annotate({ description: "Reference price; LastPrice by default" }))

export const TriggerInput = Schema.Struct({
  trigger_price: triggerPrice,
  trigger_by: triggerBy,
  trigger_direction: Schema.optionalKey(
    TriggerDirection.annotate({
      description: "Up: at or above, Down: at or below; by default the side of the reference on which the price lies"
    })
  )
}).annotate({ identifier: "TriggerAsked" })

/** What an order waits for may be moved, not exchanged: an order that silently kept its reference would surprise. */
const Fixed = Schema.Never.annotate({
  message: "no value: it cannot be amended, so cancel the order and place another"
})
export const TriggerPatch = Schema.Struct({
  trigger_price: triggerPrice,
  trigger_by: Schema.optionalKey(Fixed),
  trigger_direction: Schema.optionalKey(Fixed)
}).annotate({ identifier: "TriggerAmended" })

export const LegInput = Schema.Struct({
  market: Schema.Struct({ trigger_price: triggerPrice, trigger_by: triggerBy })
}).annotate({ identifier: "LegAsked" })

const tpslOf = (identifier: string, description: string) =>
  Schema.Struct({
    mode: Schema.optionalKey(TpslMode),
    take_profit: Schema.optionalKey(LegInput),
    stop_loss: Schema.optionalKey(LegInput)
  }).annotate({ identifier, description })
export const TpslInput = tpslOf(
  "TpslAsked",
  "Exits that the first fill attaches which opens or increases a position in the order's direction: Full (by default) closes the whole position, Partial what this order opened. A position has at most 20 pairs"
)
export const TpslPatch = tpslOf("TpslAmended", "Absent legs stay; a trigger_price of 0 removes a leg")

export const CreateOrderBody = Schema.Struct({
  sub_account_address: AnyAddress,
  symbol: AnySymbol,
  side: Side,
  order_type: OrderType,
  qty: Decimal.annotate({
    description:
      "In the base asset, a multiple of the market's qty_step; 0 with reduce_only and close_on_trigger: the whole position"
  }),
  price: Schema.optionalKey(
    Decimal.annotate({
      description: "In the quote asset, a multiple of the market's tick_size; required for Limit, ignored for Market"
    })
  ),
  time_in_force: Schema.optionalKey(TimeInForceInput),
  expire_time: Schema.optionalKey(
    Millis.annotate({ description: "Unix ms, with GTT only: 1 second to 90 days from now" })
  ),
  post_only: Schema.optionalKey(Schema.Boolean),
  reduce_only: Schema.optionalKey(Schema.Boolean),
  close_on_trigger: Schema.optionalKey(Schema.Boolean),
  order_link_id: Schema.optionalKey(OrderLinkId),
  trigger: Schema.optionalKey(TriggerInput),
  tpsl: Schema.optionalKey(TpslInput),
  smp_type: Schema.optionalKey(SmpType)
}).annotate({ identifier: "CreateOrderBody" })
export type CreateOrderBody = typeof CreateOrderBody.Type

const orderName = {
  order_id: Schema.optionalKey(Uuid),
  order_link_id: Schema.optionalKey(OrderLinkId.annotate({ description: "Instead of order_id; order_id wins" }))
}

export const AmendOrderBody = Schema.Struct({
  sub_account_address: AnyAddress,
  symbol: AnySymbol,
  ...orderName,
  price: Schema.optionalKey(Decimal),
  qty: Schema.optionalKey(Decimal.annotate({ description: "The new total" })),
  trigger: Schema.optionalKey(TriggerPatch),
  tpsl: Schema.optionalKey(TpslPatch),
  order_iv: Schema.optionalKey(
    Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({
      description: "Expected `version` of the order; 0: no check"
    })
  )
}).annotate({ identifier: "AmendOrderBody" })
export type AmendOrderBody = typeof AmendOrderBody.Type

export const CancelOrderBody = Schema.Struct({
  sub_account_address: AnyAddress,
  symbol: AnySymbol,
  ...orderName
}).annotate({ identifier: "CancelOrderBody" })
export type CancelOrderBody = typeof CancelOrderBody.Type

export const CancelAllBody = Schema.Struct({
  sub_account_address: AnyAddress,
  symbol: Schema.optionalKey(AnySymbol),
  side: Schema.optionalKey(Side),
  order_filter: Schema.optionalKey(OrderFilter),
  reduce_only: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "CancelAllBody" })
export type CancelAllBody = typeof CancelAllBody.Type

export const SwitchBody = Schema.Struct({
  sub_account_address: AnyAddress,
  enabled: Schema.Boolean,
  time_window: Schema.optionalKey(SwitchWindow)
}).annotate({ identifier: "SwitchBody" })
export type SwitchBody = typeof SwitchBody.Type

const batchOf = <S extends Schema.Top>(body: S, identifier: string) =>
  Schema.Struct({
    orders: Schema.Array(body)
      .check(Schema.isMinLength(1), Schema.isMaxLength(BATCH_ORDERS_MAX))
      .annotate({ description: `1 to ${BATCH_ORDERS_MAX}, sequenced in this order` })
  }).annotate({ identifier })
export const CreateBatchBody = batchOf(CreateOrderBody, "CreateBatchBody")
export const CancelBatchBody = batchOf(CancelOrderBody, "CancelBatchBody")

/** What became of one order of a batch. */
export const BatchResult = Schema.Struct({
  code: Schema.String.annotate({ description: "`OK`, or the code of the error that this order met", examples: ["OK"] }),
  message: Schema.String,
  order_id: Schema.optionalKey(Uuid),
  order_link_id: OrderLinkIdOrNone.annotate({
    description: 'Of the order; of a refused one as it was asked for. `""` where there is none'
  }),
  details: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Unknown).annotate({ description: "As in an error body" })
  )
}).annotate({ identifier: "BatchResult" })
export type BatchResult = typeof BatchResult.Type
export const BatchResults = Schema.Struct({
  list: Schema.Array(BatchResult).annotate({ description: "In the order of the request" })
}).annotate({ identifier: "BatchResults" })
