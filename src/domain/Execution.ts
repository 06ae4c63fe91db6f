/** Executions: one side of a fill, or a funding payment. Source: docs/contract/rest-trading.md#executions. */
import { Schema } from "effect"
import { Address } from "./Address.ts"
import { Decimal, SignedDecimal } from "./Decimal.ts"
import { CreateType, ExecType, OrderType, Side, StopOrderType } from "./Enumerations.ts"
import { field, measure } from "./Field.ts"
import { OrderLinkId, Uuid } from "./Identity.ts"
import { MarketSymbol } from "./Market.ts"
import { DigitMillis } from "./Time.ts"

export const Execution = Schema.Struct({
  base_fee: measure(SignedDecimal, "Fee; negative: received", "settlement asset"),
  exec_id: field(Uuid, "Execution id"),
  exec_price: measure(Decimal, "Price of the execution", "quote asset"),
  exec_qty: measure(Decimal, "Quantity of the execution", "base asset"),
  exec_time: field(DigitMillis, "Execution time"),
  exec_type: ExecType,
  exec_value: measure(Decimal, "exec_price × exec_qty", "quote asset"),
  fee_rate: measure(SignedDecimal, "Rate of the fee; negative: a rebate", "ratio"),
  index_price: measure(Decimal, "Index price", "quote asset"),
  is_maker: field(Schema.Boolean, "Whether the order rested"),
  leaves_qty: measure(Decimal, "Open quantity of the order after this fill", "base asset"),
  mark_price: measure(Decimal, "Mark price", "quote asset"),
  order_id: field(Uuid, "Order id"),
  order_price: measure(Decimal, "Price of the order; 0 for a market order", "quote asset"),
  order_qty: measure(Decimal, "Quantity of the order", "base asset"),
  order_type: OrderType,
  seq: measure(Schema.Int, "Market sequence of the fill; taker and maker share it", "position"),
  side: Side,
  sub_account_address: field(Address, "Sub-account"),
  symbol: field(MarketSymbol, "Market"),
  closed_size: Schema.optionalKey(measure(Decimal, "Part of the fill that reduced a position", "base asset")),
  create_type: Schema.optionalKey(CreateType),
  order_link_id: Schema.optionalKey(OrderLinkId),
  stop_order_type: Schema.optionalKey(StopOrderType)
}).annotate({ identifier: "Execution" })
export type Execution = typeof Execution.Type

/** The part of a position that an execution closed; the input of the closed-PnL read model. */
export interface Closing {
  readonly entry_value: string
  readonly open_fee: string
  readonly realised_pnl: string
  readonly leverage: string
}
