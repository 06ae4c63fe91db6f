/**
 * Public market data: instruments, books, trades, tickers, candles.
 * Source: docs/contract/rest-market.md, docs/contract/websocket.md#public-topics.
 */
import { Schema, Struct } from "effect"
import { Address } from "./Address.ts"
import { Decimal, SignedDecimal } from "./Decimal.ts"
import { InstrumentStatus, Side } from "./Enumerations.ts"
import { Millis } from "./Time.ts"

/** Market symbol `<base>-<quote>`. */
export const MarketSymbol = Schema.String.check(
  Schema.isPattern(/^[A-Z0-9]{2,12}-[A-Z0-9]{2,12}$/u, { message: "expected a market symbol such as BTC-USDC" })
).annotate({ identifier: "Symbol", description: "Market symbol, `<base>-<quote>`", examples: ["BTC-USDC"] })

export const Instrument = Schema.Struct({
  symbol: MarketSymbol,
  market_addr: Address,
  base_asset: Schema.String,
  quote_asset: Schema.String,
  settle_asset: Schema.String,
  status: InstrumentStatus,
  launch_time: Millis,
  funding_interval_minutes: Schema.Int,
  price_filter: Schema.Struct({
    tick_size: Decimal.annotate({ description: "Prices are multiples of it" }),
    min_price: Decimal,
    max_price: Decimal
  }),
  lot_size_filter: Schema.Struct({
    qty_step: Decimal.annotate({ description: "Quantities are multiples of it" }),
    min_order_qty: Decimal,
    max_order_qty: Decimal,
    max_mkt_order_qty: Decimal,
    min_notional_value: Decimal.annotate({ description: "Least qty × price of an order, in the quote asset" })
  }),
  leverage_filter: Schema.Struct({ min_leverage: Decimal, max_leverage: Decimal, leverage_step: Decimal }),
  price_band: Decimal.annotate({ description: "How far beyond the mark price a taker may pay, as a ratio" }),
  max_open_orders: Schema.Int,
  max_conditional_orders: Schema.Int,
  maker_fee_rate: SignedDecimal,
  taker_fee_rate: SignedDecimal,
  funding_cap: Decimal
}).annotate({ identifier: "Instrument" })
export type Instrument = typeof Instrument.Type

/** A price level: price, total quantity. */
export const Level = Schema.Tuple([Decimal, Decimal]).annotate({
  identifier: "Level",
  description: "[price, quantity]",
  examples: [["60000", "0.5"]]
})
export type Level = readonly [price: string, qty: string]

export const OrderBook = Schema.Struct({
  symbol: MarketSymbol,
  bids: Schema.Array(Level).annotate({ description: "Best first" }),
  asks: Schema.Array(Level).annotate({ description: "Best first" }),
  seq: Schema.Int.annotate({ description: "Book sequence, comparable with that of the orderbook topics" }),
  ts: Millis,
  mts: Millis.annotate({ description: "When the matching engine made the last change" })
}).annotate({ identifier: "OrderBook" })
export type OrderBook = typeof OrderBook.Type

export const PublicTrade = Schema.Struct({
  trade_id: Schema.String,
  symbol: MarketSymbol,
  price: Decimal,
  qty: Decimal,
  side: Side.annotate({ description: "Side of the taker" }),
  seq: Schema.Int.annotate({ description: "Market sequence of the matching event" }),
  timestamp: Millis,
  agg_id: Schema.String.annotate({ description: "Id of the aggregated trade it belongs to" }),
  is_liquidation: Schema.Boolean
}).annotate({ identifier: "PublicTrade" })
export type PublicTrade = typeof PublicTrade.Type

export const AggregatedTrade = Schema.Struct({
  id: Schema.String.annotate({ description: "Deterministic; (market_addr, id) is a stable key" }),
  price: Decimal,
  side: Side,
  qty: Decimal,
  count: Schema.Int,
  seq: Schema.Int,
  timestamp: Millis
}).annotate({ identifier: "AggregatedTrade" })
export type AggregatedTrade = typeof AggregatedTrade.Type

export const Ticker = Schema.Struct({
  symbol: MarketSymbol,
  last_price: Decimal,
  mark_price: Decimal,
  index_price: Decimal,
  prev_price_24h: Decimal,
  price_24h_pcnt: SignedDecimal.annotate({ description: "Change over 24 hours as a ratio: 0.0123 is 1.23 %" }),
  high_price_24h: Decimal,
  low_price_24h: Decimal,
  volume_24h: Decimal.annotate({ description: "In the base asset" }),
  turnover_24h: Decimal.annotate({ description: "In the quote asset" }),
  open_interest: Decimal,
  open_interest_value: Decimal,
  funding_rate: SignedDecimal.annotate({ description: "Predicted rate of the running interval" }),
  next_funding_time: Schema.String.annotate({ description: "ISO 8601", examples: ["2026-01-01T08:00:00.000Z"] }),
  next_funding_time_ms: Millis,
  bid1_price: Schema.optionalKey(Decimal),
  bid1_size: Schema.optionalKey(Decimal),
  ask1_price: Schema.optionalKey(Decimal),
  ask1_size: Schema.optionalKey(Decimal),
  ts: Millis
}).annotate({ identifier: "Ticker" })
export type Ticker = typeof Ticker.Type

export const Candle = Schema.Struct({
  start_time: Millis,
  end_time: Millis,
  open: Decimal,
  high: Decimal,
  low: Decimal,
  close: Decimal,
  volume: Decimal,
  turnover: Decimal,
  trade_count: Schema.Int,
  confirm: Schema.Boolean.annotate({ description: "Whether the candle is closed" })
}).annotate({ identifier: "Candle" })
export type Candle = typeof Candle.Type

/** A candle of the mark or index price, without trade figures. */
export const PriceCandle = Candle.mapFields(Struct.omit(["volume", "turnover", "trade_count"])).annotate({
  identifier: "PriceCandle"
})
export type PriceCandle = typeof PriceCandle.Type

export const OpenInterest = Schema.Struct({
  symbol: MarketSymbol,
  open_interest: Decimal.annotate({ description: "Σ of long positions, in the base asset" }),
  timestamp: Millis.annotate({ description: "Start of the interval, whose first sample this is" })
}).annotate({ identifier: "OpenInterest" })
export type OpenInterest = typeof OpenInterest.Type

/** Prices of a market at one moment; from PricesSampled and the Referee. */
export interface Prices {
  readonly symbol: string
  readonly mark_price: string
  readonly index_price: string
  readonly funding_rate: string
  readonly next_funding_time_ms: number
  readonly open_interest: string
  readonly last_price: string | undefined
  readonly ts_ms: number
}

export const RiskTier = Schema.Struct({
  symbol: MarketSymbol,
  tier: Schema.Int,
  risk_limit_value: Decimal,
  initial_margin_rate: Decimal,
  maintenance_margin_rate: Decimal,
  mm_deduction: Decimal,
  max_leverage: Decimal
}).annotate({ identifier: "RiskTier" })
export type RiskTier = typeof RiskTier.Type

export const FeeRate = Schema.Struct({
  symbol: MarketSymbol,
  maker_fee_rate: SignedDecimal,
  taker_fee_rate: SignedDecimal
}).annotate({ identifier: "FeeRate" })
export type FeeRate = typeof FeeRate.Type
