/**
 * Public market data: instruments, books, trades, tickers, candles.
 * Source: docs/contract/rest-market.md, docs/contract/websocket.md#public-topics.
 */
import { Schema, Struct } from "effect"
import { Address } from "./Address.ts"
import { Decimal, SignedDecimal } from "./Decimal.ts"
import { InstrumentStatus, Side } from "./Enumerations.ts"
import { field, measure } from "./Field.ts"
import { Millis } from "./Time.ts"

/** Market symbol `<base>-<quote>`. */
export const MarketSymbol = Schema.String.check(
  Schema.isPattern(/^[A-Z0-9]{2,12}-[A-Z0-9]{2,12}$/u, { message: "expected a market symbol such as BTC-USDC" })
).annotate({ identifier: "Symbol", description: "Market symbol, `<base>-<quote>`", examples: ["BTC-USDC"] })

export const Instrument = Schema.Struct({
  symbol: field(MarketSymbol, "Market"),
  market_addr: field(Address, "Address of the market"),
  base_asset: field(Schema.String, "Traded asset"),
  quote_asset: field(Schema.String, "Asset of the prices"),
  settle_asset: field(Schema.String, "Asset of profit, loss and fees"),
  status: InstrumentStatus,
  launch_time: field(Millis, "Time at which the market opened"),
  funding_interval_minutes: measure(Schema.Int, "Time between fundings", "min"),
  price_filter: field(
    Schema.Struct({
      tick_size: measure(Decimal, "Every price is a multiple of it", "quote asset"),
      min_price: measure(Decimal, "Minimum price", "quote asset"),
      max_price: measure(Decimal, "Maximum price", "quote asset")
    }),
    "Limits of the price of an order"
  ),
  lot_size_filter: field(
    Schema.Struct({
      qty_step: measure(Decimal, "Every quantity is a multiple of it", "base asset"),
      min_order_qty: measure(Decimal, "Minimum quantity", "base asset"),
      max_order_qty: measure(Decimal, "Maximum quantity of a limit order", "base asset"),
      max_mkt_order_qty: measure(Decimal, "Maximum quantity of a market order", "base asset"),
      min_notional_value: measure(Decimal, "Minimum of qty × price of an order", "quote asset")
    }),
    "Limits of the quantity of an order"
  ),
  leverage_filter: field(
    Schema.Struct({
      min_leverage: measure(Decimal, "Minimum leverage", "ratio"),
      max_leverage: measure(Decimal, "Maximum leverage", "ratio"),
      leverage_step: measure(Decimal, "Every leverage is a multiple of it", "ratio")
    }),
    "Limits of the leverage of a position"
  ),
  price_band: measure(Decimal, "Maximum distance between the mark price and the price of a taker", "ratio"),
  max_open_orders: measure(Schema.Int, "Maximum number of open orders of a sub-account in the market", "count"),
  max_conditional_orders: measure(
    Schema.Int,
    "Maximum number of untriggered orders of a sub-account in the market",
    "count"
  ),
  maker_fee_rate: measure(SignedDecimal, "Maker fee; negative: a rebate", "ratio"),
  taker_fee_rate: measure(SignedDecimal, "Taker fee", "ratio"),
  funding_cap: measure(Decimal, "Maximum funding rate of an interval, in either direction", "ratio")
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
  symbol: field(MarketSymbol, "Market"),
  bids: field(Schema.Array(Level), "Best price first: [price, quantity]"),
  asks: field(Schema.Array(Level), "Best price first: [price, quantity]"),
  seq: measure(Schema.Int, "Book sequence, comparable with that of the orderbook topics", "position"),
  ts: field(Millis, "Publication time"),
  mts: field(Millis, "Time of the last change in the matching engine")
}).annotate({ identifier: "OrderBook" })
export type OrderBook = typeof OrderBook.Type

export const PublicTrade = Schema.Struct({
  trade_id: field(Schema.String, "Trade id"),
  symbol: field(MarketSymbol, "Market"),
  price: measure(Decimal, "Price", "quote asset"),
  qty: measure(Decimal, "Quantity", "base asset"),
  side: field(Side, "Side of the taker"),
  seq: measure(Schema.Int, "Market sequence of the fill", "position"),
  timestamp: field(Millis, "Event time"),
  agg_id: field(Schema.String, "Id of the aggregated trade that contains the trade"),
  is_liquidation: field(Schema.Boolean, "Whether the taker was a liquidation")
}).annotate({ identifier: "PublicTrade" })
export type PublicTrade = typeof PublicTrade.Type

export const AggregatedTrade = Schema.Struct({
  id: field(Schema.String, "Deterministic; (market_addr, id) is a stable key"),
  price: measure(Decimal, "Price", "quote asset"),
  side: Side,
  qty: measure(Decimal, "Quantity", "base asset"),
  count: measure(Schema.Int, "Number of trades", "count"),
  seq: measure(Schema.Int, "Position in the sequence", "position"),
  timestamp: field(Millis, "Event time")
}).annotate({ identifier: "AggregatedTrade" })
export type AggregatedTrade = typeof AggregatedTrade.Type

export const Ticker = Schema.Struct({
  symbol: field(MarketSymbol, "Market"),
  last_price: measure(Decimal, "Price of the last trade", "quote asset"),
  mark_price: measure(Decimal, "Mark price", "quote asset"),
  index_price: measure(Decimal, "Index price", "quote asset"),
  prev_price_24h: measure(Decimal, "Last price 24 hours ago", "quote asset"),
  price_24h_pcnt: measure(SignedDecimal, "Change over 24 hours: 0.0123 is 1.23 %", "ratio"),
  high_price_24h: measure(Decimal, "Highest price of 24 hours", "quote asset"),
  low_price_24h: measure(Decimal, "Lowest price of 24 hours", "quote asset"),
  volume_24h: measure(Decimal, "Volume of 24 hours", "base asset"),
  turnover_24h: measure(Decimal, "Turnover of 24 hours", "quote asset"),
  open_interest: measure(Decimal, "Sum of the long positions", "base asset"),
  open_interest_value: measure(Decimal, "Sum of the long positions at the mark price", "quote asset"),
  funding_rate: measure(SignedDecimal, "Predicted rate of the running interval", "ratio"),
  next_funding_time: field(Schema.String, "Next settlement of funding, ISO 8601", "2026-01-01T08:00:00.000Z"),
  next_funding_time_ms: field(Millis, "Next settlement of funding"),
  bid1_price: Schema.optionalKey(measure(Decimal, "Best bid; absent on an empty side", "quote asset")),
  bid1_size: Schema.optionalKey(measure(Decimal, "Quantity at the best bid", "base asset")),
  ask1_price: Schema.optionalKey(measure(Decimal, "Best ask; absent on an empty side", "quote asset")),
  ask1_size: Schema.optionalKey(measure(Decimal, "Quantity at the best ask", "base asset")),
  ts: field(Millis, "Publication time")
}).annotate({ identifier: "Ticker" })
export type Ticker = typeof Ticker.Type

export const Candle = Schema.Struct({
  start_time: field(Millis, "Start, inclusive"),
  end_time: field(Millis, "End, exclusive"),
  open: measure(Decimal, "First price", "quote asset"),
  high: measure(Decimal, "Highest price", "quote asset"),
  low: measure(Decimal, "Lowest price", "quote asset"),
  close: measure(Decimal, "Last price", "quote asset"),
  volume: measure(Decimal, "Volume", "base asset"),
  turnover: measure(Decimal, "Turnover", "quote asset"),
  trade_count: measure(Schema.Int, "Number of trades", "count"),
  confirm: field(Schema.Boolean, "Whether the candle is closed")
}).annotate({ identifier: "Candle" })
export type Candle = typeof Candle.Type

/** A candle of the mark or index price, without trade figures. */
export const PriceCandle = Candle.mapFields(Struct.omit(["volume", "turnover", "trade_count"])).annotate({
  identifier: "PriceCandle"
})
export type PriceCandle = typeof PriceCandle.Type

export const OpenInterest = Schema.Struct({
  symbol: field(MarketSymbol, "Market"),
  open_interest: measure(Decimal, "Sum of the long positions", "base asset"),
  timestamp: field(Millis, "Start of the interval; the value is its first sample")
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
  symbol: field(MarketSymbol, "Market"),
  tier: measure(Schema.Int, "Number of the tier, from 1", "position"),
  risk_limit_value: measure(Decimal, "Maximum position value of the tier", "quote asset"),
  initial_margin_rate: measure(Decimal, "Initial margin of the position value", "ratio"),
  maintenance_margin_rate: measure(Decimal, "Maintenance margin of the position value", "ratio"),
  mm_deduction: measure(
    Decimal,
    "Deduction from the maintenance margin, so that the margin has no step between tiers",
    "quote asset"
  ),
  max_leverage: measure(Decimal, "Maximum leverage", "ratio")
}).annotate({ identifier: "RiskTier" })
export type RiskTier = typeof RiskTier.Type

export const FeeRate = Schema.Struct({
  symbol: field(MarketSymbol, "Market"),
  maker_fee_rate: measure(SignedDecimal, "Maker fee; negative: a rebate", "ratio"),
  taker_fee_rate: measure(SignedDecimal, "Taker fee", "ratio")
}).annotate({ identifier: "FeeRate" })
export type FeeRate = typeof FeeRate.Type
