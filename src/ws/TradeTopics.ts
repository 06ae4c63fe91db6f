/**
 * Topics of events, none of which may be lost: trades, aggregated trades, liquidations.
 * Source: docs/contract/websocket.md#public-topics, #aggregated-trades.
 */
import * as Decimal from "../domain/Decimal.ts"
import type { AggregatedTrade, PublicTrade } from "../domain/Market.ts"
import type { MarketChange } from "../services/markets/MarketView.ts"
import type { AggregatedTradeData, LiquidationData, TradeData } from "./api/TopicData.ts"
import type { Frame } from "./Frame.ts"
import { PublicTopic, type View } from "./PublicTopic.ts"

/** Trades in the snapshot. */
const TRADES_SHOWN = 50

/** Splits a list by timestamp; the fills of one matching event share it. */
const byTime = <A extends { readonly timestamp: number }>(list: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> => {
  const steps: Array<ReadonlyArray<A>> = []
  let start = 0
  for (let end = 1; end <= list.length; end++) {
    if (list[end]?.timestamp === list[start]!.timestamp) continue
    steps.push(list.slice(start, end))
    start = end
  }
  return steps
}

export class TradeTopic extends PublicTopic<TradeData> {
  override readonly conflatable = false

  override snapshot(now: number): Frame {
    const list = this.view.recentTrades(this.symbol, TRADES_SHOWN).toReversed()
    return this.frame({ type: "snapshot", ts: now, symbol: this.symbol, list }, now)
  }
  override take({ prints }: MarketChange, now: number): undefined {
    const { symbol } = this
    this.sendAll(
      prints.map((list) => ({ type: "update", ts: now, symbol, list })),
      now
    )
  }
}

/**
 * Aggregates the trades of one matching event by price and side, in the order of the first trade. Their seq is that of the
 * event, which is the seq of its first trade.
 */
export const aggregated = (trades: ReadonlyArray<PublicTrade>): ReadonlyArray<AggregatedTrade> => {
  const seq = trades[0]?.seq ?? 0
  const found = new Map<string, { readonly first: PublicTrade; qty: Decimal.Scaled; count: number }>()
  for (const trade of trades) {
    const sum = found.get(trade.agg_id)
    if (sum === undefined) found.set(trade.agg_id, { first: trade, qty: Decimal.parse(trade.qty), count: 1 })
    else {
      sum.qty += Decimal.parse(trade.qty)
      sum.count++
    }
  }
  return [...found].map(
    ([
      id,
      {
        count,
        first: { price, side, timestamp },
        qty
      }
    ]) => ({
      id,
      price,
      side,
      qty: Decimal.format(qty),
      count,
      seq,
      timestamp
    })
  )
}

export class AggregatedTradeTopic extends PublicTopic<AggregatedTradeData> {
  override readonly conflatable = false
  override readonly hasSnapshot = false
  private readonly market_addr: string

  constructor(name: string, symbol: string, market_addr: string, view: View, monotonic: () => number) {
    super(name, symbol, view, monotonic)
    this.market_addr = market_addr
  }
  override snapshot(): undefined {}
  override take({ prints }: MarketChange, now: number): undefined {
    const { market_addr, symbol } = this
    this.sendAll(
      prints.map((event) => ({ type: "update", ts: now, market_addr, symbol, list: aggregated(event) })),
      now
    )
  }
}

export class LiquidationTopic extends PublicTopic<LiquidationData> {
  override readonly conflatable = false
  override readonly hasSnapshot = false

  override snapshot(): undefined {}
  override take({ liquidations }: MarketChange, now: number): undefined {
    const { symbol } = this
    this.sendAll(
      byTime(liquidations).map((list) => ({ type: "update", ts: now, symbol, list })),
      now
    )
  }
}
