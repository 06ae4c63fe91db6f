/** Executions: one side of a fill, or a funding payment. Source: docs/contract/rest-trading.md#executions. */
import { Schema } from "effect"
import { Address } from "./Address.ts"
import { Decimal, SignedDecimal } from "./Decimal.ts"
import { CreateType, ExecType, OrderType, Side, StopOrderType } from "./Enumerations.ts"
import { OrderLinkId, Uuid } from "./Identity.ts"
import { MarketSymbol } from "./Market.ts"
import { DigitMillis } from "./Time.ts"

export const Execution = Schema.Struct({
  base_fee: SignedDecimal.annotate({ description: "Fee in the settlement asset: positive paid, negative received" }),
  exec_id: Uuid,
  exec_price: Decimal,
  exec_qty: Decimal,
  exec_time: DigitMillis,
  exec_type: ExecType,
  exec_value: Decimal,
  fee_rate: SignedDecimal,
  index_price: Decimal,
  is_maker: Schema.Boolean,
  leaves_qty: Decimal.annotate({ description: "Of the order, after this fill" }),
  mark_price: Decimal,
  order_id: Uuid,
  order_price: Decimal,
  order_qty: Decimal,
  order_type: OrderType,
  seq: Schema.Int.annotate({ description: "Market sequence of the fill; taker and maker share it" }),
  side: Side,
  sub_account_address: Address,
  symbol: MarketSymbol,
  closed_size: Schema.optionalKey(Decimal.annotate({ description: "The part that reduced a position" })),
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
