/** Positions. Source: docs/contract/rest-trading.md#positions, docs/contract/exchange.md#margin. */
import { Schema } from "effect"
import { Address } from "./Address.ts"
import { Decimal, SignedDecimal } from "./Decimal.ts"
import { MarginMode, PositionMode, PositionStatus, Side, TpslMode } from "./Enumerations.ts"
import { field, measure } from "./Field.ts"
import { MarketSymbol } from "./Market.ts"
import { Millis } from "./Time.ts"

const orEmpty = (meaning: string) => measure(Schema.Union([Decimal, Schema.Literal("")]), meaning, "quote asset")

const state = {
  symbol: field(MarketSymbol, "Market"),
  sub_account_address: field(Address, "Sub-account"),
  side: field(Schema.Union([Side, Schema.Literal("")]), 'Side; "" when flat'),
  size: measure(Decimal, "Size, without a sign", "base asset"),
  avg_price: measure(Decimal, "Average price", "quote asset"),
  position_value: measure(Decimal, "Size at the mark price", "quote asset"),
  mark_price: measure(Decimal, "Mark price", "quote asset"),
  leverage: measure(Decimal, "Leverage", "ratio"),
  margin_mode: MarginMode,
  position_mode: PositionMode,
  position_status: PositionStatus,
  position_im: measure(Decimal, "Initial margin", "settlement asset"),
  position_mm: measure(Decimal, "Maintenance margin", "settlement asset"),
  isolated_margin: Schema.optionalKey(measure(SignedDecimal, "Margin of the isolated position", "settlement asset")),
  liq_price: orEmpty('Liquidation price; "" where none lies within the market\'s price limits'),
  bust_price: orEmpty('Bankruptcy price; "" where none lies within the market\'s price limits'),
  unrealised_pnl: measure(SignedDecimal, "Profit and loss at the mark price", "settlement asset"),
  cur_realised_pnl: measure(
    SignedDecimal,
    "Realized profit and loss of this position, with fees and funding",
    "settlement asset"
  ),
  cum_realised_pnl: measure(
    SignedDecimal,
    "Realized profit and loss of all positions of the market, with fees and funding",
    "settlement asset"
  ),
  liquidation_fee: measure(
    SignedDecimal,
    "Paid to the insurance pool by the liquidation of this position, not in cur_realised_pnl; negative: the pool paid",
    "settlement asset"
  ),
  take_profit: orEmpty('Price of the take-profit; "" without one'),
  stop_loss: orEmpty('Price of the stop-loss; "" without one'),
  tpsl_mode: TpslMode,
  adl_rank_indicator: measure(Schema.Int, "Rank for deleveraging: 0 to 5; 5 is deleveraged first", "position"),
  risk_tier: measure(Schema.Int, "Number of the risk tier, from 1", "position"),
  break_even_price: measure(Decimal, "Exit price without profit or loss, with fees", "quote asset"),
  created_time: field(Millis, "Creation time"),
  updated_time: field(Millis, "Time of the last change")
}

/** A position as the backend reports it. */
export const PositionState = Schema.Struct(state)
export type PositionState = typeof PositionState.Type

/** A position as the API reports it: `seq` is the user-stream position of its last event. */
export const Position = Schema.Struct({
  ...state,
  seq: measure(Schema.Int, "User-stream position of the last event of this position", "position")
}).annotate({ identifier: "Position" })
export type Position = typeof Position.Type
