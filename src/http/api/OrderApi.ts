/**
 * /order: placing, amending, canceling and reading orders. Source: docs/contract/orders.md,
 * docs/contract/rest-trading.md#order-endpoints.
 */
import { Schema, SchemaTransformation } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { OrderStatus, Side } from "../../domain/Enumerations.ts"
import { field } from "../../domain/Field.ts"
import { OrderLinkId, Uuid } from "../../domain/Identity.ts"
import { Order, OrderRef } from "../../domain/Order.ts"
import { list, page, streamPosition } from "../../domain/Page.ts"
import { Switch } from "../../domain/DeadMansSwitchWindow.ts"
import { docs } from "./OpenApiAnnotations.ts"
import { anyAddress, AnySymbol, paging, span } from "./Fields.ts"
import {
  AmendOrderBody,
  BatchResults,
  CancelAllBody,
  CancelBatchBody,
  CancelOrderBody,
  CreateBatchBody,
  CreateOrderBody,
  SwitchBody
} from "./OrderBodies.ts"
import { changes, errors, names, prices, takesBody } from "./OperationErrors.ts"
import { BearerOrApiKey, CommandsOnly, Counts } from "./Security.ts"

/** One value, the parameter repeated, or a list with commas. */
const OrderStatusList = Schema.Array(Schema.String)
  .pipe(
    Schema.decodeTo(
      Schema.Array(OrderStatus),
      SchemaTransformation.transform({
        decode: (texts: ReadonlyArray<string>) =>
          texts.flatMap((text) => text.split(",")) as ReadonlyArray<OrderStatus>,
        encode: (statuses: ReadonlyArray<OrderStatus>) => statuses as ReadonlyArray<string>
      })
    )
  )
  .annotate({ description: "Status, repeated or with commas between" })

const realtimeQuery = {
  sub_account_address: Schema.optionalKey(anyAddress("Sub-account")),
  symbol: Schema.optionalKey(AnySymbol),
  order_id: Schema.optionalKey(field(Uuid, "Order id")),
  order_link_id: Schema.optionalKey(OrderLinkId),
  side: Schema.optionalKey(Side),
  ...paging
}
const historyQuery = {
  ...realtimeQuery,
  order_status: Schema.optionalKey(OrderStatusList),
  ...span
}

export const OpenOrders = Schema.Struct({ ...page(Order).fields, ...streamPosition }).annotate({
  identifier: "OpenOrders"
})

const vault = "0xfb2b0f8ce26806a4d5837f871e6f26904434c4e43f0dc6200a0c74a542e82dcd"
const orderId = "018f3f1e-5d5b-7a00-8000-000000000001"
const ref = { order_id: orderId, order_link_id: "a-1" }
const switchExample = { sub_account_address: vault, enabled: true, time_window: 10 }
const createExample = {
  sub_account_address: vault,
  symbol: "BTC-USDC",
  side: "Buy",
  order_type: "Limit",
  qty: "0.5",
  price: "60000",
  order_link_id: "a-1"
}
/** An example that other operations show too. */
export const orderExample = {
  avg_price: "60000",
  close_on_trigger: false,
  created_time: "1767225600000",
  cum_exec_fee: "6.6",
  cum_exec_qty: "0.2",
  cum_exec_value: "12000",
  last_price_on_created: "60000",
  leaves_qty: "0.3",
  leaves_value: "18000",
  margin_mode: "Cross",
  order_id: orderId,
  order_status: "PartiallyFilled",
  order_type: "Limit",
  post_only: false,
  price: "60000",
  qty: "0.5",
  reduce_only: false,
  side: "Buy",
  sub_account_address: vault,
  symbol: "BTC-USDC",
  time_in_force: "GTC",
  updated_time: "1767225600010",
  create_type: "CreateByUser",
  order_link_id: "a-1",
  reject_reason: "EcNoError",
  version: 1
}

export class OrderApi extends HttpApiGroup.make("order")
  .add(
    HttpApiEndpoint.post("create", "/create", {
      payload: CreateOrderBody,
      success: OrderRef,
      error: errors(
        ...takesBody,
        ...changes,
        ...names,
        "DuplicateOrderLinkId",
        "SubAccountFrozen",
        "LimitReached",
        ...prices
      )
    })
      .annotate(CommandsOnly, true)
      .annotateMerge(
        docs({
          id: "createOrder",
          summary: "Place an order",
          description:
            "200 means that the order has its place in the sequence, not that it succeeded: what became of it arrives as `order` events and in the history. A used order_link_id is 409 with the first `order_id`, so a retry never doubles an order. Exits of a Market order are held against the reference price of each leg at its turn: one that is met already is `Rejected` with `EcTriggerAlreadyMet`.",
          access: "trade",
          request: createExample,
          response: ref
        })
      ),
    HttpApiEndpoint.post("amend", "/amend", {
      payload: AmendOrderBody,
      success: OrderRef,
      error: errors(
        ...takesBody,
        ...changes,
        ...names,
        "OrderNotFound",
        "OrderAlreadyClosed",
        "OrderVersionMismatch",
        "SubAccountFrozen",
        "InsufficientBalance",
        "InvalidQty",
        "LimitReached",
        "PostOnlyWouldTake",
        "TriggerAlreadyMet",
        ...prices
      )
    })
      .annotate(CommandsOnly, true)
      .annotateMerge(
        docs({
          id: "amendOrder",
          summary: "Amend an order",
          description:
            "Changes price, total quantity, trigger price or exits. Priority is kept only if the price stays and the quantity falls, or only the exits change. Values equal to the order's change nothing. An amend that is refused at its turn is answered 400 or 409 with its reason; the order stays as it is, and an `order` event says the same.",
          access: "trade",
          request: { sub_account_address: vault, symbol: "BTC-USDC", order_id: orderId, qty: "0.3", order_iv: 1 },
          response: ref
        })
      ),
    HttpApiEndpoint.post("cancel", "/cancel", {
      payload: CancelOrderBody,
      success: OrderRef,
      error: errors(...takesBody, ...changes, ...names, "OrderNotFound", "OrderAlreadyClosed")
    })
      .annotate(CommandsOnly, true)
      .annotate(Counts, "cancels")
      .annotateMerge(
        docs({
          id: "cancelOrder",
          summary: "Cancel an order",
          description:
            "A fill that is sequenced before the cancel remains; canceling a final order is 409 OrderAlreadyClosed.",
          access: "trade",
          request: { sub_account_address: vault, symbol: "BTC-USDC", order_link_id: "a-1" },
          response: ref
        })
      ),
    HttpApiEndpoint.post("cancelAll", "/cancel-all", {
      payload: CancelAllBody,
      success: list(OrderRef).annotate({
        identifier: "CanceledOrders"
      }),
      error: errors(...takesBody, ...changes, ...names)
    })
      .annotate(CommandsOnly, true)
      .annotate(Counts, "cancels")
      .annotateMerge(
        docs({
          id: "cancelAllOrders",
          summary: "Cancel all orders",
          description: "Answers the orders that are being canceled; the list may be empty.",
          access: "trade",
          request: { sub_account_address: vault, symbol: "BTC-USDC" },
          response: { list: [ref] }
        })
      ),
    HttpApiEndpoint.post("createBatch", "/create-batch", {
      payload: CreateBatchBody,
      success: BatchResults,
      error: errors(...takesBody, ...changes)
    })
      .annotate(CommandsOnly, true)
      .annotateMerge(
        docs({
          id: "createOrderBatch",
          summary: "Place up to 20 orders",
          description:
            "Places each order as `/order/create` does, in the order of the list and not atomically. The answer is 200 even if some fail, with a result for each. Counts as one request per 5 orders.",
          access: "trade",
          request: { orders: [createExample, { ...createExample, qty: "0.0001", order_link_id: "a-2" }] },
          response: {
            list: [
              { code: "OK", message: "", ...ref },
              {
                code: "BAD_REQUEST",
                message: "qty is not a multiple of the step 0.001",
                order_link_id: "a-2",
                details: { reason: "NotMultipleOfStep", field: "qty", step: "0.001" }
              }
            ]
          }
        })
      ),
    HttpApiEndpoint.post("cancelBatch", "/cancel-batch", {
      payload: CancelBatchBody,
      success: BatchResults,
      error: errors(...takesBody, ...changes)
    })
      .annotate(CommandsOnly, true)
      .annotate(Counts, "cancels")
      .annotateMerge(
        docs({
          id: "cancelOrderBatch",
          summary: "Cancel up to 20 orders",
          description:
            "Cancels each order as `/order/cancel` does, in the order of the list. Counts as one request per 5 orders.",
          access: "trade",
          request: { orders: [{ sub_account_address: vault, symbol: "BTC-USDC", order_link_id: "a-1" }] },
          response: { list: [{ code: "OK", message: "", ...ref }] }
        })
      ),
    HttpApiEndpoint.get("switches", "/disconnect-cancel-all", {
      success: list(Switch).annotate({ identifier: "Switches" })
    }).annotateMerge(
      docs({
        id: "getDisconnectCancelAll",
        summary: "Dead-man's switches",
        description: "Settings of the sub-accounts whose switch was ever set.",
        access: "read",
        response: { list: [switchExample] }
      })
    ),
    HttpApiEndpoint.post("setSwitch", "/disconnect-cancel-all", {
      payload: SwitchBody,
      success: Switch,
      error: errors(...takesBody, ...changes, "SubAccountNotFound", "OutOfRange")
    })
      .annotate(Counts, "cancels")
      .annotateMerge(
        docs({
          id: "setDisconnectCancelAll",
          summary: "Set a dead-man's switch",
          description:
            "When your last authenticated connection to /ws/private has been gone for time_window seconds, the sub-account's orders are canceled (CancelByDcp); exits of positions stay. Authenticating again within the window stops it. Connect before you enable it: without a connection the window begins at once.",
          access: "trade",
          request: switchExample,
          response: switchExample
        })
      ),
    HttpApiEndpoint.get("realtime", "/realtime", {
      query: realtimeQuery,
      success: OpenOrders,
      error: errors(...names, "InvalidCursor")
    }).annotateMerge(
      docs({
        id: "getOpenOrders",
        summary: "Open orders",
        description: "Open orders, newest first, with the position of the user stream that they hold.",
        access: "read",
        response: { list: [orderExample], next_page_cursor: "", stream_id: "s1", seq: 7 }
      })
    ),
    HttpApiEndpoint.get("history", "/history", {
      query: historyQuery,
      success: page(Order),
      error: errors(...names, "InvalidCursor")
    }).annotateMerge(
      docs({
        id: "getOrderHistory",
        summary: "Order history",
        description: "Every order, open or final, by creation, newest first. It may lag a little behind the sequence.",
        access: "read",
        response: { list: [orderExample], next_page_cursor: "" }
      })
    )
  )
  .prefix("/api/v1/order")
  .middleware(BearerOrApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Order", description: "Orders: place, amend, cancel, read" })) {}
