/**
 * Schemas of `data` in the events of each topic. Source: docs/contract/websocket.md#public-topics, #order-book,
 * #private-topics.
 */
import { Schema } from "effect"
import { Balance } from "../../domain/Account.ts"
import { Address } from "../../domain/Address.ts"
import { BalanceReason, depths, Interval } from "../../domain/Enumerations.ts"
import { Execution } from "../../domain/Execution.ts"
import { AdlAlert, InsurancePool } from "../../domain/InsurancePool.ts"
import { Liquidation } from "../../domain/Liquidation.ts"
import { AggregatedTrade, Candle, Level, MarketSymbol, PublicTrade, Ticker } from "../../domain/Market.ts"
import { Order } from "../../domain/Order.ts"
import { Position } from "../../domain/Position.ts"
import { Millis } from "../../domain/Time.ts"

const ts = { ts: Millis.annotate({ description: "Time of publication" }) }
const mts = { mts: Millis.annotate({ description: "Time at which the matching engine produced the change" }) }
const seq = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const book = {
  symbol: MarketSymbol,
  depth: Schema.Literals(depths),
  bids: Schema.Array(Level),
  asks: Schema.Array(Level),
  seq: seq.annotate({ description: "Book sequence of the market after this message" }),
  ...ts,
  ...mts,
  checksum: Schema.Int.annotate({ description: "CRC-32 of the best 25 levels after applying this message" })
}
export const BookSnapshot = Schema.Struct({ type: Schema.Literal("snapshot"), ...book, stream_id: Schema.String })
export const BookDelta = Schema.Struct({
  type: Schema.Literal("delta"),
  ...book,
  prev_seq: seq.annotate({ description: "`seq` of the previous message of this topic on this connection" })
})
export const BookData = Schema.Union([BookSnapshot, BookDelta])
export type BookData = typeof BookData.Type

export const TradeData = Schema.Struct({
  type: Schema.Literals(["snapshot", "update"]),
  ...ts,
  symbol: MarketSymbol,
  list: Schema.Array(PublicTrade).annotate({
    description: "Oldest first; an update has the trades of one matching event"
  })
})
export type TradeData = typeof TradeData.Type

export const AggregatedTradeData = Schema.Struct({
  type: Schema.Literal("update"),
  ...ts,
  market_addr: Address,
  symbol: MarketSymbol,
  list: Schema.Array(AggregatedTrade).annotate({
    description: "The trades of one matching event, summed by price and side"
  })
})
export type AggregatedTradeData = typeof AggregatedTradeData.Type

export const LiquidationData = Schema.Struct({
  type: Schema.Literal("update"),
  ...ts,
  symbol: MarketSymbol,
  list: Schema.Array(Liquidation).annotate({ description: "The fills of one matching event" })
})
export type LiquidationData = typeof LiquidationData.Type

export const PoolData = Schema.Struct({ type: Schema.Literal("snapshot"), ...ts, ...InsurancePool.fields })
export type PoolData = typeof PoolData.Type

export const AlertData = Schema.Struct({ type: Schema.Literals(["snapshot", "update"]), ...ts, ...AdlAlert.fields })
export type AlertData = typeof AlertData.Type

export const TickerData = Schema.Struct({ type: Schema.Literal("snapshot"), ...Ticker.fields })
export type TickerData = typeof TickerData.Type

export const KlineData = Schema.Struct({
  type: Schema.Literals(["snapshot", "update"]),
  ...ts,
  symbol: MarketSymbol,
  interval: Interval,
  list: Schema.Array(Candle)
})
export type KlineData = typeof KlineData.Type

const position = { stream_id: Schema.String, seq, ...ts, ...mts }
const privateData = <S extends Schema.Top>(record: S) =>
  Schema.Union([
    Schema.Struct({ type: Schema.Literal("snapshot"), ...position, list: Schema.Array(record) }),
    Schema.Struct({
      type: Schema.Literal("update"),
      ...position,
      prev_seq: seq.annotate({ description: "`seq` of the previous event of this topic; 0: none" }),
      list: Schema.Array(record)
    })
  ])

export const OrderData = privateData(Order)
export type OrderData = typeof OrderData.Type
export const ExecutionData = privateData(Execution)
export type ExecutionData = typeof ExecutionData.Type
export const PositionData = privateData(Position)
export type PositionData = typeof PositionData.Type

/** A balance with the reason of its change; absent in snapshots. */
export const BalanceRecord = Schema.Struct({ ...Balance.fields, reason: Schema.optionalKey(BalanceReason) })
export type BalanceRecord = typeof BalanceRecord.Type
export const BalanceData = privateData(BalanceRecord)
export type BalanceData = typeof BalanceData.Type
