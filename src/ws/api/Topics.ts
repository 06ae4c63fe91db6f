/**
 * Documentation of the topics: name pattern, description and data.
 * Source: docs/contract/websocket.md#public-topics, #private-topics.
 */
import type { Schema } from "effect"
import { depths, Interval } from "../../domain/Enumerations.ts"
import type { PrivateTopic, Topic } from "../../domain/Topic.ts"
import * as Examples from "./Examples.ts"
import * as Data from "./TopicData.ts"

export interface TopicPayload {
  /** Prefix of the message name. */
  readonly id: string
  readonly title: string
  /** Pattern of the topic's names. */
  readonly pattern: string
  readonly example: string
  readonly description: string
  readonly data: Schema.Top
  /** An example of `data`. */
  readonly carries?: object
}

const SYMBOL = "[A-Z0-9]{2,12}-[A-Z0-9]{2,12}"
const anyOf = (names: ReadonlyArray<string | number>): string => `(?:${names.join("|")})`

type PublicKind = Exclude<Topic["kind"], "private">

const publicPayloads: Record<PublicKind, TopicPayload> = {
  orderbook: {
    id: "orderbook",
    title: "Order book",
    pattern: `^orderbook\\.${anyOf(depths)}\\.${SYMBOL}$`,
    example: "orderbook.50.BTC-USDC",
    description:
      "A snapshot, then a delta after each change within this depth, at most every 20 ms (depths 1 and 50), 100 ms (200) or 200 ms (1000). Depth 1 sends only snapshots. If `prev_seq` of a delta is not the last `seq`, or the checksum differs, subscribe again. A later snapshot replaces the book.",
    data: Data.BookData,
    carries: Examples.book
  },
  trade: {
    id: "trade",
    title: "Trades",
    pattern: `^trade\\.${SYMBOL}$`,
    example: "trade.BTC-USDC",
    description: "A snapshot of the last 50 trades, then an update for each matching event. No trade is left out.",
    data: Data.TradeData,
    carries: Examples.trades
  },
  "trade/": {
    id: "aggregatedTrade",
    title: "Aggregated trades",
    pattern: "^trade/0x[0-9a-f]{64}$",
    example: "trade/0xb2a373d8519e821966ae61886e86c0a5cea70096e02b33a62c1f65871baa1209",
    description:
      "An update for each matching event in the market with this address; no snapshot. `id` is derived from market, price, side, seq and time, so (market_addr, id) is a stable key.",
    data: Data.AggregatedTradeData,
    carries: Examples.aggregates
  },
  ticker: {
    id: "ticker",
    title: "Ticker",
    pattern: `^ticker\\.${SYMBOL}$`,
    example: "ticker.BTC-USDC",
    description: "Snapshots: at most every 100 ms, at least every 10 s while the backend is available.",
    data: Data.TickerData,
    carries: Examples.ticker
  },
  kline: {
    id: "kline",
    title: "Candles",
    pattern: `^kline\\.${anyOf(Interval.literals)}\\.${SYMBOL}$`,
    example: "kline.1.BTC-USDC",
    description:
      "A snapshot of the open candle, then updates after changes, at most every 250 ms. Each closed candle is sent once with `confirm`.",
    data: Data.KlineData,
    carries: Examples.kline
  },
  all_liquidations: {
    id: "liquidations",
    title: "Liquidations",
    pattern: `^all_liquidations\\.${SYMBOL}$`,
    example: "all_liquidations.BTC-USDC",
    description: "An update for each fill of a liquidation, by the book or by the insurance pool; no snapshot.",
    data: Data.LiquidationData,
    carries: Examples.liquidations
  },
  insurance_pool: {
    id: "insurancePool",
    title: "Insurance pool",
    pattern: `^insurance_pool\\.${SYMBOL}$`,
    example: "insurance_pool.BTC-USDC",
    description: "Snapshots after changes, at most every second, at least every minute while the backend is available.",
    data: Data.PoolData,
    carries: Examples.pool
  },
  adl_alert: {
    id: "adlAlert",
    title: "Deleveraging",
    pattern: `^adl_alert\\.${SYMBOL}$`,
    example: "adl_alert.BTC-USDC",
    description: "A snapshot, then an update when the mode, the reason, or the ratio (by 0.01) changes.",
    data: Data.AlertData,
    carries: Examples.adl
  }
}

const privatePayload = (
  topic: PrivateTopic,
  title: string,
  snapshot: string,
  updates: string,
  data: Schema.Top
): TopicPayload => ({
  id: topic === "account_balance" ? "accountBalance" : topic,
  title,
  pattern: `^${topic}$`,
  example: topic,
  description: `Snapshot: ${snapshot}. Updates: ${updates}. No event is left out; resume with \`since\`.`,
  data
})

export const publicTopics: ReadonlyArray<TopicPayload> = Object.values(publicPayloads)

export const privateTopics: ReadonlyArray<TopicPayload> = [
  privatePayload("order", "Orders", "all open orders", "each changed order", Data.OrderData),
  privatePayload("execution", "Executions", "an empty list", "each fill and funding payment", Data.ExecutionData),
  privatePayload(
    "position",
    "Positions",
    "open positions",
    "each changed position; a closed one has size 0",
    Data.PositionData
  ),
  privatePayload(
    "account_balance",
    "Balances",
    "all balances",
    "each changed balance, with the reason",
    Data.BalanceData
  )
]
