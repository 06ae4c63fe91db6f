/** /position: positions, and how they are carried. Source: docs/contract/rest-trading.md#positions. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Decimal, SignedDecimal } from "../../domain/Decimal.ts"
import { MarginMode, TpslMode, TriggerBy } from "../../domain/Enumerations.ts"
import { ClosedPnl } from "../../domain/ClosedPnl.ts"
import { field, measure } from "../../domain/Field.ts"
import { Uuid } from "../../domain/Identity.ts"
import { page, streamPosition } from "../../domain/Page.ts"
import { MarketSymbol } from "../../domain/Market.ts"
import { Position } from "../../domain/Position.ts"
import { docs } from "./OpenApiAnnotations.ts"
import { anyAddress, AnySymbol, paging, span } from "./Fields.ts"
import { changes, errors, names, prices, takesBody } from "./OperationErrors.ts"
import { BearerOrApiKey } from "./Security.ts"

const query = {
  sub_account_address: Schema.optionalKey(anyAddress("Sub-account")),
  symbol: Schema.optionalKey(AnySymbol),
  ...paging
}
const closedQuery = {
  sub_account_address: Schema.optionalKey(anyAddress("Sub-account")),
  symbol: Schema.optionalKey(AnySymbol),
  order_id: Schema.optionalKey(field(Uuid, "The closing order")),
  ...span,
  ...paging
}

export const Positions = Schema.Struct({ ...page(Position).fields, ...streamPosition }).annotate({
  identifier: "Positions"
})

const named = { sub_account_address: anyAddress("Sub-account"), symbol: AnySymbol }
const leverage = measure(Decimal, "1 to the most that the market and the risk tier allow, in steps of 0.01", "ratio")

export const LeverageBody = Schema.Struct({ ...named, leverage }).annotate({ identifier: "LeverageBody" })
export type LeverageBody = typeof LeverageBody.Type

export const MarginModeBody = Schema.Struct({
  ...named,
  margin_mode: MarginMode,
  leverage: Schema.optionalKey(leverage)
}).annotate({ identifier: "MarginModeBody" })
export type MarginModeBody = typeof MarginModeBody.Type

export const AddMarginBody = Schema.Struct({
  ...named,
  margin: measure(SignedDecimal, "Margin to add; negative: to remove", "settlement asset")
}).annotate({ identifier: "AddMarginBody" })
export type AddMarginBody = typeof AddMarginBody.Type

const exitPrice = Schema.optionalKey(
  measure(Decimal, "Trigger price, a multiple of the tick_size; 0 removes the exit", "quote asset")
)
const exitBy = Schema.optionalKey(field(TriggerBy, "Reference price; LastPrice by default"))
const exitSize = Schema.optionalKey(
  measure(Decimal, "With mode Partial only; absent: the whole position", "base asset")
)
export const TradingStopBody = Schema.Struct({
  ...named,
  tpsl_mode: Schema.optionalKey(field(TpslMode, "Full (default): the whole position")),
  take_profit: exitPrice,
  stop_loss: exitPrice,
  tp_trigger_by: exitBy,
  sl_trigger_by: exitBy,
  tp_size: exitSize,
  sl_size: exitSize
}).annotate({ identifier: "TradingStopBody" })
export type TradingStopBody = typeof TradingStopBody.Type

export const Leverage = Schema.Struct({
  symbol: field(MarketSymbol, "Market"),
  leverage: measure(Decimal, "Leverage", "ratio")
}).annotate({ identifier: "Leverage" })
export const MarginSetting = Schema.Struct({
  symbol: field(MarketSymbol, "Market"),
  margin_mode: MarginMode,
  leverage: measure(Decimal, "Leverage", "ratio")
}).annotate({ identifier: "MarginSetting" })
const orNone = measure(Schema.Union([Decimal, Schema.Literal("")]), '"" without one', "quote asset")
export const TradingStop = Schema.Struct({
  symbol: field(MarketSymbol, "Market"),
  take_profit: orNone,
  stop_loss: orNone
}).annotate({
  identifier: "TradingStop"
})

const naming = {
  sub_account_address: "0xfb2b0f8ce26806a4d5837f871e6f26904434c4e43f0dc6200a0c74a542e82dcd",
  symbol: "BTC-USDC"
}
const position = {
  ...naming,
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
  liquidation_fee: "0",
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

const closed = {
  symbol: "BTC-USDC",
  sub_account_address: "0xfb2b0f8ce26806a4d5837f871e6f26904434c4e43f0dc6200a0c74a542e82dcd",
  order_id: "018f3f1e-5d5b-7a00-8000-000000000004",
  side: "Sell",
  qty: "0.2",
  closed_size: "0.2",
  order_price: "0",
  order_type: "Market",
  exec_type: "Trade",
  cum_entry_value: "12000",
  avg_entry_price: "60000",
  cum_exit_value: "12200",
  avg_exit_price: "61000",
  closed_pnl: "186.69",
  open_fee: "6.6",
  close_fee: "6.71",
  liquidation_fee: "0",
  fill_count: 1,
  leverage: "10",
  created_time: 1767225600020,
  updated_time: 1767225600020
}

export class PositionApi extends HttpApiGroup.make("position")
  .add(
    HttpApiEndpoint.get("list", "/list", {
      query,
      success: Positions,
      error: errors(...names, "InvalidCursor")
    }).annotateMerge(
      docs({
        id: "getPositions",
        summary: "Positions",
        description: "Open positions; with a symbol one record a sub-account, even if flat.",
        access: "read",
        response: { list: [position], next_page_cursor: "", stream_id: "s1", seq: 7 }
      })
    ),
    HttpApiEndpoint.get("closedPnl", "/closed-pnl", {
      query: closedQuery,
      success: page(ClosedPnl),
      error: errors(...names, "InvalidCursor")
    }).annotateMerge(
      docs({
        id: "getClosedPnl",
        summary: "Closed PnL",
        description:
          "What each order that reduced a position brought, by its first such fill, newest first; those of liquidation and deleveraging too.",
        access: "read",
        response: { list: [closed], next_page_cursor: "" }
      })
    ),
    HttpApiEndpoint.post("setLeverage", "/set-leverage", {
      payload: LeverageBody,
      success: Leverage,
      error: errors(
        ...takesBody,
        ...changes,
        ...names,
        "OutOfRange",
        "NotMultipleOfStep",
        "InsufficientBalance",
        "LeverageUnchanged",
        "PositionInLiquidation"
      )
    }).annotateMerge(
      docs({
        id: "setLeverage",
        summary: "Set the leverage",
        description:
          "Of the position and the open orders of one market. OutOfRange: above the maximum of the risk tier, which the details name. InsufficientBalance: the balance does not cover the higher initial margin. LeverageUnchanged: the leverage has this value already.",
        access: "account",
        request: { ...naming, leverage: "12.5" },
        response: { symbol: "BTC-USDC", leverage: "12.5" }
      })
    ),
    HttpApiEndpoint.post("switchMarginMode", "/switch-margin-mode", {
      payload: MarginModeBody,
      success: MarginSetting,
      error: errors(
        ...takesBody,
        ...changes,
        ...names,
        "OutOfRange",
        "NotMultipleOfStep",
        "PositionExists",
        "OpenOrdersExist"
      )
    }).annotateMerge(
      docs({
        id: "switchMarginMode",
        summary: "Cross or isolated margin",
        description:
          "Only while flat and without open orders: else PositionExists or OpenOrdersExist. The mode and leverage that are set already answer as they are.",
        access: "account",
        request: { ...naming, margin_mode: "Isolated", leverage: "5" },
        response: { symbol: "BTC-USDC", margin_mode: "Isolated", leverage: "5" }
      })
    ),
    HttpApiEndpoint.post("addMargin", "/add-margin", {
      payload: AddMarginBody,
      success: Position,
      error: errors(
        ...takesBody,
        ...changes,
        ...names,
        "OutOfRange",
        "InsufficientBalance",
        "PositionNotFound",
        "NotIsolated"
      )
    }).annotateMerge(
      docs({
        id: "addMargin",
        summary: "Move margin into an isolated position, or out of it",
        description:
          "A negative amount takes margin out, down to the initial margin. InsufficientBalance names the largest amount that can be moved as `max`. NotIsolated and PositionNotFound: there is no isolated position.",
        access: "account",
        request: { ...naming, margin: "-50" },
        response: { ...position, margin_mode: "Isolated", isolated_margin: "1350" }
      })
    ),
    HttpApiEndpoint.post("tradingStop", "/trading-stop", {
      payload: TradingStopBody,
      success: TradingStop,
      error: errors(
        ...takesBody,
        ...changes,
        ...names,
        ...prices,
        "LimitReached",
        "SubAccountFrozen",
        "PositionNotFound"
      )
    }).annotateMerge(
      docs({
        id: "setTradingStop",
        summary: "Take-profit and stop-loss of a position",
        description:
          "Market orders that close on their trigger; one ends the other, and both end with the position. A Full exit replaces the one before, a Partial one is added to the others. A price on the wrong side of the mark is OutOfRange.",
        access: "trade",
        request: { ...naming, take_profit: "62000", stop_loss: "0" },
        response: { symbol: "BTC-USDC", take_profit: "62000", stop_loss: "" }
      })
    )
  )
  .prefix("/api/v1/position")
  .middleware(BearerOrApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Position", description: "Positions" })) {}
