/**
 * The tools of `gateway mcp`, in three sets: market data, the account, trading. Records are those of the REST API. All are strict:
 * an unknown parameter is refused, because without it an order would be another one than the caller means.
 */
import { Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Balance } from "../../domain/Account.ts"
import { Decimal } from "../../domain/Decimal.ts"
import { Interval, Side } from "../../domain/Enumerations.ts"
import { Execution } from "../../domain/Execution.ts"
import { Candle, Instrument, OrderBook, PublicTrade, Ticker } from "../../domain/Market.ts"
import { Order, OrderRef } from "../../domain/Order.ts"
import { Position } from "../../domain/Position.ts"

/** Rows that one call returns. */
const ROWS_MAX = 50

/** Why a call failed, with what to do about it. */
export const Failure = Schema.Struct({
  code: Schema.String,
  message: Schema.String,
  hint: Schema.optionalKey(Schema.String),
  details: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
})
export type Failure = typeof Failure.Type

const symbol = Schema.String.annotate({ description: "Market, such as BTC-USDC" })
const limit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: ROWS_MAX })).annotate({
  description: `Rows, 1 to ${ROWS_MAX}`
})
const list = <S extends Schema.Constraint>(row: S) => Schema.Struct({ list: Schema.Array(row) })

const reads = <const Name extends string, P extends Schema.Constraint, S extends Schema.Constraint>(
  name: Name,
  description: string,
  parameters: P,
  success: S
) =>
  Tool.make(name, { description, parameters, success, failure: Failure })
    .annotate(Tool.Strict, true)
    .annotate(Tool.Readonly, true)
    .annotate(Tool.Destructive, false)
    .annotate(Tool.Idempotent, true)

export const marketTools = Toolkit.make(
  reads("list_markets", "Markets with their ticks, steps, limits and fees", Tool.EmptyParams, list(Instrument)),
  reads("get_ticker", "Prices, 24-hour figures and funding rate of a market", Schema.Struct({ symbol }), Ticker),
  reads(
    "get_order_book",
    "Best levels of both sides of a market's order book",
    Schema.Struct({ symbol, limit }),
    OrderBook
  ),
  reads(
    "get_recent_trades",
    "Public trades of a market, newest first",
    Schema.Struct({ symbol, limit }),
    list(PublicTrade)
  ),
  reads(
    "get_candles",
    "Candles of a market, newest first",
    Schema.Struct({ symbol, interval: Interval, limit }),
    list(Candle)
  )
)

export const accountTools = Toolkit.make(
  reads("get_balances", "Your balances", Tool.EmptyParams, list(Balance)),
  reads("get_positions", "Your open positions", Tool.EmptyParams, list(Position)),
  reads("list_open_orders", "Your open orders, newest first", Tool.EmptyParams, list(Order)),
  reads("list_fills", "Your fills, newest first", Schema.Struct({ limit }), list(Execution))
)

export const tradingTools = Toolkit.make(
  Tool.make("place_order", {
    description:
      "Place a limit order within the limits of this server. The result means that the order has its place in the sequence, not that it is filled: read list_open_orders and list_fills",
    parameters: Schema.Struct({
      symbol,
      side: Side,
      qty: Decimal.annotate({ description: "Quantity in the base asset, a decimal as text" }),
      price: Decimal.annotate({ description: "Limit price in the quote asset, a decimal as text" }),
      time_in_force: Schema.optionalKey(Schema.Literals(["GTC", "IOC", "FOK", "PostOnly"])),
      reduce_only: Schema.optionalKey(Schema.Boolean)
    }),
    success: OrderRef,
    failure: Failure
  })
    .annotate(Tool.Strict, true)
    .annotate(Tool.Destructive, true),
  Tool.make("cancel_order", {
    description: "Cancel an open order",
    parameters: Schema.Struct({ symbol, order_id: Schema.String.annotate({ description: "order_id of the order" }) }),
    success: OrderRef,
    failure: Failure
  })
    .annotate(Tool.Strict, true)
    .annotate(Tool.Destructive, true)
    .annotate(Tool.Idempotent, true),
  Tool.make("cancel_all_orders", {
    description: "Cancel all your open orders of a market",
    parameters: Schema.Struct({ symbol }),
    success: list(OrderRef),
    failure: Failure
  })
    .annotate(Tool.Strict, true)
    .annotate(Tool.Destructive, true)
    .annotate(Tool.Idempotent, true)
)
