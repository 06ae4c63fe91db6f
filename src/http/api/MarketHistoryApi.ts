/** /market: what a market was, and how it is judged. Source: docs/contract/rest-market.md. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Interval, OpenInterestInterval } from "../../domain/Enumerations.ts"
import { field } from "../../domain/Field.ts"
import { FundingRate } from "../../domain/Funding.ts"
import { AdlAlert, InsurancePool } from "../../domain/InsurancePool.ts"
import { OpenInterest, PriceCandle, RiskTier } from "../../domain/Market.ts"
import { list, MARKET_LIMIT_DEFAULT, MARKET_LIMIT_MAX, page } from "../../domain/Page.ts"
import { docs } from "./OpenApiAnnotations.ts"
import { AnySymbol, Cursor, limit, span } from "./Fields.ts"
import { KLINE_LIMIT_DEFAULT } from "./MarketApi.ts"
import { errors, reads } from "./OperationErrors.ts"
import { PublicAccess } from "./Security.ts"

const symbol = AnySymbol
const optionalSymbol = Schema.optionalKey(AnySymbol)
const historyLimit = Schema.optionalKey(limit(MARKET_LIMIT_MAX, MARKET_LIMIT_DEFAULT))

const candleQuery = {
  symbol,
  interval: Interval,
  ...span,
  limit: Schema.optionalKey(limit(MARKET_LIMIT_MAX, KLINE_LIMIT_DEFAULT))
}
const fundingQuery = { symbol, ...span, limit: historyLimit, cursor: Schema.optionalKey(Cursor) }
const interestQuery = {
  symbol,
  interval: Schema.optionalKey(field(OpenInterestInterval, "Minutes, or D; UTC. 5 by default", "5")),
  ...span,
  limit: historyLimit,
  cursor: Schema.optionalKey(Cursor)
}
const statesQuery = { symbol: optionalSymbol, ...span, limit: historyLimit }

const candle = {
  start_time: 1767225600000,
  end_time: 1767225660000,
  open: "60000",
  high: "60010",
  low: "59990",
  close: "60000.1",
  confirm: true
}
const funding = {
  symbol: "BTC-USDC",
  funding_rate: "0.0001",
  mark_price: "60000",
  funding_time: "2026-01-01T08:00:00.000Z",
  funding_time_ms: 1767254400000
}
const tier = {
  symbol: "BTC-USDC",
  tier: 1,
  risk_limit_value: "2000000",
  initial_margin_rate: "0.02",
  maintenance_margin_rate: "0.01",
  mm_deduction: "0",
  max_leverage: "50"
}
const pool = {
  pool_id: "pool-BTC-USDC",
  pool_group_id: "group-USDC",
  cash_balance: "1000160.44",
  realized_pnl_cum: "160.44",
  unrealized_pnl: "73.4",
  base_equity: "1000000",
  equity: "1000233.84",
  group_redistribution_in: "0",
  group_redistribution_out: "0",
  group_adl_obligation: "0",
  adl_mode: "Inactive",
  adl_trigger_reason: "NoTrigger",
  latest_pnl_ratio: "0",
  updated_time: 1767225600000,
  inventory: [
    {
      symbol: "BTC-USDC",
      side: "Buy",
      size: "0.2",
      avg_price: "40033",
      mark_price: "40400",
      unrealized_pnl: "73.4"
    }
  ]
}
const alert = {
  pool_id: "pool-BTC-USDC",
  pool_group_id: "group-USDC",
  symbol: "BTC-USDC",
  equity: "-16.16",
  adl_mode: "Active",
  adl_trigger_reason: "GroupObligation",
  latest_pnl_ratio: "-0.89217435",
  updated_time: 1767225600000
}

export class MarketHistoryApi extends HttpApiGroup.make("market_history")
  .add(
    HttpApiEndpoint.get("markKline", "/mark-price-kline", {
      query: candleQuery,
      success: list(PriceCandle),
      error: errors(...reads, "SymbolNotFound")
    }).annotateMerge(
      docs({
        id: "getMarkPriceKline",
        summary: "Candles of the mark price",
        description: "From a sample a second, newest first; the first may be open. Gaps repeat the last close.",
        access: "open",
        response: { list: [candle] }
      })
    ),
    HttpApiEndpoint.get("indexKline", "/index-price-kline", {
      query: candleQuery,
      success: list(PriceCandle),
      error: errors(...reads, "SymbolNotFound")
    }).annotateMerge(
      docs({
        id: "getIndexPriceKline",
        summary: "Candles of the index price",
        description: "From a sample a second, newest first; the first may be open. Gaps repeat the last close.",
        access: "open",
        response: { list: [candle] }
      })
    ),
    HttpApiEndpoint.get("funding", "/funding/history", {
      query: fundingQuery,
      success: page(FundingRate),
      error: errors(...reads, "SymbolNotFound", "InvalidCursor")
    }).annotateMerge(
      docs({
        id: "getFundingHistory",
        summary: "Settled funding rates",
        description: "Settlements of a market, newest first, each with the mark price that payments were taken at.",
        access: "open",
        response: { list: [funding], next_page_cursor: "" }
      })
    ),
    HttpApiEndpoint.get("riskLimit", "/risk-limit", {
      query: { symbol: optionalSymbol },
      success: list(RiskTier),
      error: errors(...reads, "SymbolNotFound")
    }).annotateMerge(
      docs({
        id: "getRiskLimits",
        summary: "Risk limits",
        description:
          "Margin rates by the value of a position. The maintenance margin is value × rate − mm_deduction, which makes it continuous.",
        access: "open",
        response: { list: [tier] }
      })
    ),
    HttpApiEndpoint.get("openInterest", "/open-interest", {
      query: interestQuery,
      success: page(OpenInterest),
      error: errors(...reads, "SymbolNotFound", "InvalidCursor")
    }).annotateMerge(
      docs({
        id: "getOpenInterest",
        summary: "Open interest",
        description: "One sample an interval, the first in it, newest first; intervals without any are left out.",
        access: "open",
        response: {
          list: [{ symbol: "BTC-USDC", open_interest: "3.2", timestamp: 1767225600000 }],
          next_page_cursor: ""
        }
      })
    ),
    HttpApiEndpoint.get("pool", "/insurance-pool", {
      query: { symbol },
      success: InsurancePool,
      error: errors(...reads, "SymbolNotFound")
    }).annotateMerge(
      docs({
        id: "getInsurancePool",
        summary: "Insurance pool",
        description:
          "The current pool of a market: its own funds, the positions it took over, and what its group contributed.",
        access: "open",
        response: pool
      })
    ),
    HttpApiEndpoint.get("pools", "/insurance-pool/history", {
      query: statesQuery,
      success: list(InsurancePool),
      error: errors(...reads, "SymbolNotFound")
    }).annotateMerge(
      docs({
        id: "getInsurancePoolHistory",
        summary: "States of the insurance pools",
        description: "One sample a minute and one per change, newest first, of one market or of all.",
        access: "open",
        response: { list: [pool] }
      })
    ),
    HttpApiEndpoint.get("adl", "/adl-alert", {
      query: { symbol },
      success: AdlAlert,
      error: errors(...reads, "SymbolNotFound")
    }).annotateMerge(
      docs({
        id: "getAdlAlert",
        summary: "State of auto-deleveraging",
        description: "Whether positions of a market are, or are about to be, deleveraged, and why.",
        access: "open",
        response: alert
      })
    ),
    HttpApiEndpoint.get("adls", "/adl-alert/history", {
      query: statesQuery,
      success: list(AdlAlert),
      error: errors(...reads, "SymbolNotFound")
    }).annotateMerge(
      docs({
        id: "getAdlAlertHistory",
        summary: "Changes of auto-deleveraging",
        description: "One record per change of mode, reason or, by 0.01, ratio, newest first, of one market or of all.",
        access: "open",
        response: { list: [alert] }
      })
    )
  )
  .prefix("/api/v1/market")
  .middleware(PublicAccess)
  .annotateMerge(
    OpenApi.annotations({ title: "Market history", description: "What a market was, and how it is judged" })
  ) {}
