/** /execution and its predecessor /trade: what was traded. Source: docs/contract/rest-trading.md#executions. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ExecType, Side } from "../../domain/Enumerations.ts"
import { Execution } from "../../domain/Execution.ts"
import { field, measure } from "../../domain/Field.ts"
import { OrderLinkId, Uuid } from "../../domain/Identity.ts"
import { page } from "../../domain/Page.ts"
import { docs } from "./OpenApiAnnotations.ts"
import { anyAddress, AnySymbol, limit, paging, span } from "./Fields.ts"
import { errors, names } from "./OperationErrors.ts"
import { BearerOrApiKey } from "./Security.ts"

const query = {
  sub_account_address: Schema.optionalKey(anyAddress("Sub-account")),
  symbol: Schema.optionalKey(AnySymbol),
  order_id: Schema.optionalKey(field(Uuid, "Order id")),
  order_link_id: Schema.optionalKey(OrderLinkId),
  side: Schema.optionalKey(Side),
  exec_type: Schema.optionalKey(ExecType),
  ...span,
  ...paging
}

/** Rows a page of the list by offset. */
const PER_PAGE_DEFAULT = 20
const PER_PAGE_MAX = 100

const offsetQuery = {
  page: Schema.optionalKey(
    measure(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)), "From 1, which is the default", "position", 1)
  ),
  per_page: Schema.optionalKey(limit(PER_PAGE_MAX, PER_PAGE_DEFAULT)),
  symbol: query.symbol,
  sub_account_address: query.sub_account_address
}

const execution = {
  base_fee: "6.6",
  exec_id: "018f3f1e-5d5b-7a00-8000-000000000002",
  exec_price: "60000",
  exec_qty: "0.2",
  exec_time: "1767225600010",
  exec_type: "Trade",
  exec_value: "12000",
  fee_rate: "0.00055",
  index_price: "60001",
  is_maker: false,
  leaves_qty: "0.3",
  mark_price: "60000",
  order_id: "018f3f1e-5d5b-7a00-8000-000000000001",
  order_price: "60000",
  order_qty: "0.5",
  order_type: "Limit",
  seq: 1042,
  side: "Buy",
  sub_account_address: "0xfb2b0f8ce26806a4d5837f871e6f26904434c4e43f0dc6200a0c74a542e82dcd",
  symbol: "BTC-USDC",
  create_type: "CreateByUser",
  order_link_id: "a-1"
}

export class ExecutionApi extends HttpApiGroup.make("execution")
  .add(
    HttpApiEndpoint.get("list", "/list", {
      query,
      success: page(Execution),
      error: errors(...names, "InvalidCursor")
    }).annotateMerge(
      docs({
        id: "getExecutions",
        summary: "Executions",
        description: "Fills and funding payments, by time of execution, newest first.",
        access: "read",
        response: { list: [execution], next_page_cursor: "" }
      })
    )
  )
  .prefix("/api/v1/execution")
  .middleware(BearerOrApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Execution", description: "What was traded" })) {}

export const ExecutionsAt = Schema.Struct({
  list: field(Schema.Array(Execution), "Rows"),
  page: measure(Schema.Int, "Number of the page, from 1", "position"),
  per_page: measure(Schema.Int, "Rows a page", "rows"),
  total: measure(Schema.Int, "Number of rows on all pages", "count"),
  total_pages: measure(Schema.Int, "Number of pages", "count")
}).annotate({ identifier: "ExecutionsAt" })

export class TradeApi extends HttpApiGroup.make("trade")
  .add(
    HttpApiEndpoint.get("executions", "/executions", {
      query: offsetQuery,
      success: ExecutionsAt,
      error: errors(...names)
    }).annotateMerge(
      docs({
        id: "getExecutionsByOffset",
        summary: "Executions by offset",
        description:
          "Deprecated (header `Deprecation: @1767225600`): use /execution/list. Pages shift when new executions arrive, and only the newest 5000 executions of the user are listed.",
        access: "read",
        response: { list: [execution], page: 1, per_page: 20, total: 1, total_pages: 1 }
      })
    )
  )
  .prefix("/api/v1/trade")
  .middleware(BearerOrApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Trade", description: "An earlier path of the executions" })) {}
