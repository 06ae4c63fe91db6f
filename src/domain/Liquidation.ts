/**
 * Fills of liquidations, as published.
 * Source: docs/contract/websocket.md#public-topics, docs/contract/exchange.md#liquidation.
 */
import { Schema } from "effect"
import * as Decimals from "./Decimal.ts"
import { Decimal } from "./Decimal.ts"
import { ExecType, Side } from "./Enumerations.ts"
import type { Execution } from "./Execution.ts"
import { field, measure } from "./Field.ts"
import { MarketSymbol } from "./Market.ts"
import { Millis } from "./Time.ts"

export const Liquidation = Schema.Struct({
  symbol: field(MarketSymbol, "Market"),
  side: field(Side, "Side of the liquidated position: Buy is a long"),
  qty: measure(Decimal, "Quantity", "base asset"),
  price: measure(Decimal, "Price of the fill; for a takeover by the insurance pool, the bust price", "quote asset"),
  bust_price: measure(Decimal, "Price at which the equity of the position was zero", "quote asset"),
  exec_type: field(ExecType, "Trade: filled in the book; BustTrade: taken over by the insurance pool"),
  timestamp: field(Millis, "Event time"),
  seq: measure(Schema.Int, "Market sequence of the fill", "position")
}).annotate({ identifier: "Liquidation" })
export type Liquidation = typeof Liquidation.Type

/** The liquidation record of an execution; `undefined` if it is not part of a liquidation. */
export const liquidationOf = (execution: Execution): Liquidation | undefined => {
  const { create_type } = execution
  if (create_type !== "CreateByLiq" && create_type !== "CreateByTakeOverPassThrough") return undefined
  const { canonical } = Decimals
  return {
    symbol: execution.symbol,
    side: execution.side === "Sell" ? "Buy" : "Sell",
    qty: canonical(execution.exec_qty),
    price: canonical(execution.exec_price),
    // the limit price of both orders of a liquidation is the bust price
    bust_price: canonical(execution.order_price),
    exec_type: execution.exec_type,
    timestamp: Number(execution.exec_time),
    seq: execution.seq
  }
}
