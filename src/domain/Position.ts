/** Positions. Source: docs/contract/rest-trading.md#positions, docs/contract/exchange.md#margin. */
import { Schema } from "effect"
import { Address } from "./Address.ts"
import { Decimal, SignedDecimal } from "./Decimal.ts"
import { MarginMode, PositionMode, PositionStatus, Side, TpslMode } from "./Enumerations.ts"
import { MarketSymbol } from "./Market.ts"
import { Millis } from "./Time.ts"

const orEmpty = (description: string) => Schema.Union([Decimal, Schema.Literal("")]).annotate({ description })

const state = {
  symbol: MarketSymbol,
  sub_account_address: Address,
  side: Schema.Union([Side, Schema.Literal("")]).annotate({ description: '"" when flat' }),
  size: Decimal.annotate({ description: "Unsigned, in the base asset" }),
  avg_price: Decimal,
  position_value: Decimal.annotate({ description: "Size at the mark price" }),
  mark_price: Decimal,
  leverage: Decimal,
  margin_mode: MarginMode,
  position_mode: PositionMode,
  position_status: PositionStatus,
  position_im: Decimal.annotate({ description: "Initial margin" }),
  position_mm: Decimal.annotate({ description: "Maintenance margin" }),
  isolated_margin: Schema.optionalKey(SignedDecimal),
  liq_price: orEmpty('Liquidation price; "" where none lies within the market\'s price limits'),
  bust_price: orEmpty('Bankruptcy price; "" where none lies within the market\'s price limits'),
  unrealised_pnl: SignedDecimal,
  cur_realised_pnl: SignedDecimal.annotate({ description: "Of this position, fees and funding included" }),
  cum_realised_pnl: SignedDecimal,
  liquidation_fee: SignedDecimal.annotate({
    description:
      "Paid to the insurance pool by the liquidation of this position, not in cur_realised_pnl; negative: the pool paid"
  }),
  take_profit: orEmpty('"" without one'),
  stop_loss: orEmpty('"" without one'),
  tpsl_mode: TpslMode,
  adl_rank_indicator: Schema.Int.annotate({ description: "0 to 5; 5 is first in line for deleveraging" }),
  risk_tier: Schema.Int,
  break_even_price: Decimal,
  created_time: Millis,
  updated_time: Millis
}

/** A position as the backend reports it. */
export const PositionState = Schema.Struct(state)
export type PositionState = typeof PositionState.Type

/** A position as the API reports it: `seq` is the user-stream position of its last event. */
export const Position = Schema.Struct({
  ...state,
  seq: Schema.Int.annotate({ description: "User-stream position of the last event of this position" })
}).annotate({ identifier: "Position" })
export type Position = typeof Position.Type
