/** /execution: what was traded. Source: contract 3.5. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { NotFound } from "../../domain/ApiError.ts"
import { ExecType } from "../../domain/Enumerations.ts"
import { Execution } from "../../domain/Execution.ts"
import { Uuid } from "../../domain/Identity.ts"
import { page } from "../../domain/Page.ts"
import { docs } from "./Docs.ts"
import { AnyAddress, AnySymbol, paging, span } from "./Fields.ts"
import { BearerOrApiKey } from "./Security.ts"

const query = {
  sub_account_address: Schema.optionalKey(AnyAddress),
  symbol: Schema.optionalKey(AnySymbol),
  order_id: Schema.optionalKey(Uuid),
  exec_type: Schema.optionalKey(ExecType),
  ...span,
  ...paging
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
    HttpApiEndpoint.get("list", "/list", { query, success: page(Execution), error: [NotFound] }).annotateMerge(
      docs({
        id: "getExecutions",
        summary: "Executions",
        description: "Fills and funding payments, by time of execution, newest first.",
        access: "read",
        query,
        response: { list: [execution], next_page_cursor: "" }
      })
    )
  )
  .prefix("/api/v1/execution")
  .middleware(BearerOrApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Execution", description: "What was traded" })) {}
