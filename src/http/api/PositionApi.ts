/** /position: positions. Source: contract 3.6. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { NotFound } from "../../domain/ApiError.ts"
import { NextPageCursor } from "../../domain/Page.ts"
import { Position } from "../../domain/Position.ts"
import { docs } from "./Docs.ts"
import { AnyAddress, AnySymbol, paging } from "./Fields.ts"
import { BearerOrApiKey } from "./Security.ts"

const query = {
  sub_account_address: Schema.optionalKey(AnyAddress),
  symbol: Schema.optionalKey(AnySymbol),
  ...paging
}

export const Positions = Schema.Struct({
  list: Schema.Array(Position),
  next_page_cursor: NextPageCursor,
  stream_id: Schema.String,
  seq: Schema.Int.annotate({ description: "The list holds every user-stream event up to here" })
}).annotate({ identifier: "Positions" })

const position = {
  symbol: "BTC-USDC",
  sub_account_address: "0xfb2b0f8ce26806a4d5837f871e6f26904434c4e43f0dc6200a0c74a542e82dcd",
  side: "Buy",
  size: "0.2",
  avg_price: "60000",
  position_value: "12000",
  mark_price: "60000",
  leverage: "10",
  margin_mode: "Cross",
  position_mode: "OneWay",
  position_status: "Normal",
  position_im: "1200",
  position_mm: "120",
  liq_price: "10134.4",
  bust_price: "10033",
  unrealised_pnl: "0",
  cur_realised_pnl: "-6.6",
  cum_realised_pnl: "-6.6",
  take_profit: "",
  stop_loss: "",
  tpsl_mode: "Full",
  adl_rank_indicator: 1,
  risk_tier: 1,
  break_even_price: "60066",
  created_time: 1767225600010,
  updated_time: 1767225600010,
  seq: 3
}

export class PositionApi extends HttpApiGroup.make("position")
  .add(
    HttpApiEndpoint.get("list", "/list", { query, success: Positions, error: [NotFound] }).annotateMerge(
      docs({
        id: "getPositions",
        summary: "Positions",
        description: "Open positions; with a symbol one record a sub-account, even if flat.",
        access: "read",
        query,
        response: { list: [position], next_page_cursor: "", stream_id: "s1", seq: 7 }
      })
    )
  )
  .prefix("/api/v1/position")
  .middleware(BearerOrApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Position", description: "Positions" })) {}
