/** /market: public market data. Source: docs/contract/rest-market.md. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { InstrumentStatus, Interval } from "../../domain/Enumerations.ts"
import { field, measure } from "../../domain/Field.ts"
import { Candle, Instrument, OrderBook, PublicTrade, Ticker } from "../../domain/Market.ts"
import { list, MARKET_LIMIT_DEFAULT, MARKET_LIMIT_MAX, page } from "../../domain/Page.ts"
import { Millis } from "../../domain/Time.ts"
import { docs } from "./OpenApiAnnotations.ts"
import { AnySymbol, Cursor, limit, span } from "./Fields.ts"
import { errors, reads } from "./OperationErrors.ts"
import { PublicAccess } from "./Security.ts"

export const INSTRUMENTS_LIMIT_DEFAULT = 500
export const KLINE_LIMIT_DEFAULT = 200
export const DEPTH_DEFAULT = 50
export const DEPTH_MAX = 1000

const symbol = AnySymbol
const optionalSymbol = Schema.optionalKey(AnySymbol)

const instrumentsQuery = {
  symbol: optionalSymbol,
  status: Schema.optionalKey(InstrumentStatus),
  limit: Schema.optionalKey(limit(MARKET_LIMIT_MAX, INSTRUMENTS_LIMIT_DEFAULT)),
  cursor: Schema.optionalKey(Cursor)
}
export type InstrumentsQuery = Schema.Struct.Type<typeof instrumentsQuery>
const bookQuery = { symbol, depth: Schema.optionalKey(limit(DEPTH_MAX, DEPTH_DEFAULT)) }
export type BookQuery = Schema.Struct.Type<typeof bookQuery>
const klineQuery = {
  symbol,
  interval: Interval,
  ...span,
  limit: Schema.optionalKey(limit(MARKET_LIMIT_MAX, KLINE_LIMIT_DEFAULT))
}
export type KlineQuery = Schema.Struct.Type<typeof klineQuery>
const tradesQuery = { symbol, limit: Schema.optionalKey(limit(MARKET_LIMIT_MAX, MARKET_LIMIT_DEFAULT)) }
export type TradesQuery = Schema.Struct.Type<typeof tradesQuery>

export const ServerTime = Schema.Struct({
  server_ts_ms: field(Millis, "Time of the server"),
  time_second: measure(Schema.Int, "Unix time in seconds", "s"),
  time_nano: measure(Schema.String, "Unix time in nanoseconds, as digits", "ns")
}).annotate({ identifier: "ServerTime" })

const instrument = {
  symbol: "BTC-USDC",
  market_addr: "0xb2a373d8519e821966ae61886e86c0a5cea70096e02b33a62c1f65871baa1209",
  base_asset: "BTC",
  quote_asset: "USDC",
  settle_asset: "USDC",
  status: "Trading",
  launch_time: 1767225600000,
  funding_interval_minutes: 480,
  price_filter: { tick_size: "0.1", min_price: "0.1", max_price: "1000000" },
  lot_size_filter: {
    qty_step: "0.001",
    min_order_qty: "0.001",
    max_order_qty: "100",
    max_mkt_order_qty: "30",
    min_notional_value: "5"
  },
  leverage_filter: { min_leverage: "1", max_leverage: "50", leverage_step: "0.01" },
  price_band: "0.05",
  max_open_orders: 500,
  max_conditional_orders: 20,
  maker_fee_rate: "0.0002",
  taker_fee_rate: "0.00055",
  funding_cap: "0.005"
}
const ticker = {
  symbol: "BTC-USDC",
  last_price: "60000.1",
  mark_price: "60000",
  index_price: "60001",
  prev_price_24h: "59000",
  price_24h_pcnt: "0.016950847457627118",
  high_price_24h: "60500",
  low_price_24h: "58900",
  volume_24h: "12.5",
  turnover_24h: "748000",
  open_interest: "3.2",
  open_interest_value: "192000",
  funding_rate: "0.0001",
  next_funding_time: "2026-01-01T08:00:00.000Z",
  next_funding_time_ms: 1767254400000,
  bid1_price: "60000",
  bid1_size: "0.5",
  ask1_price: "60000.1",
  ask1_size: "0.3",
  ts: 1767225600000
}
const candle = {
  start_time: 1767225600000,
  end_time: 1767225660000,
  open: "60000",
  high: "60010",
  low: "59990",
  close: "60000.1",
  volume: "1.5",
  turnover: "90000.15",
  trade_count: 7,
  confirm: true
}
const trade = {
  trade_id: "018f3f1e-5d5b-7a00-8000-000000000001",
  symbol: "BTC-USDC",
  price: "60000.1",
  qty: "0.3",
  side: "Buy",
  seq: 1042,
  timestamp: 1767225600000,
  agg_id: "aebdeb0a6072d10e89ca99e6862c5037",
  is_liquidation: false
}

export class MarketApi extends HttpApiGroup.make("market")
  .add(
    HttpApiEndpoint.get("time", "/time", { success: ServerTime }).annotateMerge(
      docs({
        id: "getServerTime",
        summary: "Server time",
        description: "The time that timestamps of signed requests are compared with.",
        access: "open",
        response: { server_ts_ms: 1767225600000, time_second: 1767225600, time_nano: "1767225600000000000" }
      })
    ),
    HttpApiEndpoint.get("instruments", "/instruments-info", {
      query: instrumentsQuery,
      success: page(Instrument),
      error: errors(...reads, "SymbolNotFound", "InvalidCursor")
    }).annotateMerge(
      docs({
        id: "getInstruments",
        summary: "Markets",
        description: "Markets with their ticks, steps, limits and fees, by symbol.",
        access: "open",
        response: { list: [instrument], next_page_cursor: "" }
      })
    ),
    HttpApiEndpoint.get("tickers", "/tickers", {
      query: { symbol: optionalSymbol },
      success: list(Ticker),
      error: errors(...reads, "SymbolNotFound")
    }).annotateMerge(
      docs({
        id: "getTickers",
        summary: "Tickers",
        description: "Prices, 24-hour figures and the predicted funding rate of one market or of all.",
        access: "open",
        response: { list: [ticker] }
      })
    ),
    HttpApiEndpoint.get("orderbook", "/orderbook", {
      query: bookQuery,
      success: OrderBook,
      error: errors(...reads, "SymbolNotFound")
    }).annotateMerge(
      docs({
        id: "getOrderBook",
        summary: "Order book",
        description: "Best levels of both sides. `seq` is that of the orderbook topics, so the book joins the stream.",
        access: "open",
        response: {
          symbol: "BTC-USDC",
          bids: [["60000", "0.5"]],
          asks: [["60000.1", "0.3"]],
          seq: 1042,
          ts: 1767225600000,
          mts: 1767225599990
        }
      })
    ),
    HttpApiEndpoint.get("recentTrades", "/recent-trade", {
      query: tradesQuery,
      success: list(PublicTrade),
      error: errors(...reads, "SymbolNotFound")
    }).annotateMerge(
      docs({
        id: "getRecentTrades",
        summary: "Recent trades",
        description: "Public trades of a market, newest first.",
        access: "open",
        response: { list: [trade] }
      })
    ),
    HttpApiEndpoint.get("kline", "/kline", {
      query: klineQuery,
      success: list(Candle),
      error: errors(...reads, "SymbolNotFound")
    }).annotateMerge(
      docs({
        id: "getKline",
        summary: "Candles",
        description:
          "Candles of a market, newest first; the first may be open (`confirm` false). A candle without trades repeats the last close with volume 0.",
        access: "open",
        response: { list: [candle] }
      })
    )
  )
  .prefix("/api/v1/market")
  .middleware(PublicAccess)
  .annotateMerge(OpenApi.annotations({ title: "Market", description: "Public market data" })) {}
