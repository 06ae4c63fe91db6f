/**
 * The feeds as streams: the topics of the WebSocket endpoints with the same messages, distinguished by `kind`.
 *
 * A stream begins with `subscribed`; the messages of a socket follow. A refused topic fails the call.
 * Source: docs/contract/websocket.md#messages, #public-topics, #private-topics.
 */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { Millis } from "../../domain/Time.ts"
import { ARGS_MAX, privateTopics } from "../../domain/TopicNames.ts"
import { Resume, Since } from "../../ws/api/Frames.ts"
import * as Data from "../../ws/api/TopicData.ts"
import { ApiErrors } from "./Errors.ts"

/** The first message of a stream: the topics, and whether a resumed stream continues without a gap. */
export const Subscribed = Schema.Struct({
  kind: Schema.Literal("subscribed"),
  topics: Schema.Array(Schema.String),
  resume: Schema.optionalKey(Resume)
})

const message = <const K extends string, D extends Schema.Top>(kind: K, data: D) =>
  Schema.Struct({ kind: Schema.Literal(kind), topic: Schema.String, server_ts_ms: Millis, data })

export const MarketMessage = Schema.Union([
  Subscribed,
  message("orderbook", Data.BookData),
  message("trade", Data.TradeData),
  message("trade/", Data.AggregatedTradeData),
  message("ticker", Data.TickerData),
  message("kline", Data.KlineData),
  message("all_liquidations", Data.LiquidationData),
  message("insurance_pool", Data.PoolData),
  message("adl_alert", Data.AlertData)
])
export type MarketMessage = typeof MarketMessage.Type

export const AccountMessage = Schema.Union([
  Subscribed,
  message("order", Data.OrderData),
  message("execution", Data.ExecutionData),
  message("position", Data.PositionData),
  message("account_balance", Data.BalanceData)
])
export type AccountMessage = typeof AccountMessage.Type

const someOf = <S extends Schema.Top>(topic: S) =>
  Schema.Array(topic).check(Schema.isMinLength(1), Schema.isMaxLength(ARGS_MAX))

export const Feeds = RpcGroup.make(
  Rpc.make("feed.market", {
    payload: { topics: someOf(Schema.String) },
    success: MarketMessage,
    error: ApiErrors,
    stream: true
  }),
  Rpc.make("feed.account", {
    payload: {
      topics: someOf(Schema.Literals(privateTopics)),
      /** The last position that the caller received: the stream continues after it, or begins with snapshots. */
      since: Schema.optionalKey(Since)
    },
    success: AccountMessage,
    error: ApiErrors,
    stream: true
  })
)
