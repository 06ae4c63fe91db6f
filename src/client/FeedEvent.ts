/**
 * What a feed tells, in one order: the messages of its topics, and between them what happened to the feed itself.
 *
 * `kind` says which it is; the kinds of topics are the topics' own names.
 * Source: docs/contract/websocket.md#public-topics, #order-book, #private-topics.
 */
import { Schema } from "effect"
import type { PrivateTopic } from "../domain/Topic.ts"
import type { ErrorFrame, Resume, Since } from "../ws/api/Frames.ts"
import type {
  AggregatedTradeData,
  AlertData,
  BalanceData,
  BookData,
  ExecutionData,
  KlineData,
  LiquidationData,
  OrderData,
  PoolData,
  PositionData,
  TickerData,
  TradeData
} from "../ws/api/TopicData.ts"
import type { LocalBook } from "./LocalBook.ts"

interface MessageOf<K extends string, D> {
  readonly kind: K
  readonly topic: string
  readonly server_ts_ms: number
  readonly data: D
}
/** A message of a topic. A book's is told when it is in the book, and only if the book is sound then. */
export type TopicMessage =
  | (MessageOf<"orderbook", BookData> & { readonly book: LocalBook })
  | MessageOf<"trade", TradeData>
  | MessageOf<"trade/", AggregatedTradeData>
  | MessageOf<"ticker", TickerData>
  | MessageOf<"kline", KlineData>
  | MessageOf<"all_liquidations", LiquidationData>
  | MessageOf<"insurance_pool", PoolData>
  | MessageOf<"adl_alert", AlertData>
  | UserMessage

/** A message of a private topic. */
export type UserMessage =
  | MessageOf<"order", OrderData>
  | MessageOf<"execution", ExecutionData>
  | MessageOf<"position", PositionData>
  | MessageOf<"account_balance", BalanceData>

/** Where a feed stands. */
export type FeedState =
  | { readonly type: "connecting" }
  /** All topics are followed; `resume` tells whether private ones went on without a hole. */
  | { readonly type: "live"; readonly resume: Resume | undefined }
  | { readonly type: "lost"; readonly code: number; readonly reason: string }
  /** It will not come back by itself. */
  | { readonly type: "ended"; readonly code: number; readonly reason: string }

/**
 * What was found wrong with a topic. `gap`: a message is missing; `repetition`: one came twice; `checksum`, `crossed`: the
 * book is not the market's; `stream`: the numbers are of another stream. All but a repetition, which is left out, are mended
 * by subscribing again.
 */
export type Fault = "gap" | "repetition" | "checksum" | "crossed" | "stream"

/** What happened to the feed itself. */
export type FeedNotice =
  | { readonly kind: "state"; readonly state: FeedState }
  /**
   * Private topics go on after `since`. `recovered` false: what happened in between is not told; a snapshot of each of the
   * topics follows and replaces what was known (the hole can be read from `/execution/list`).
   */
  | {
      readonly kind: "resume"
      readonly recovered: boolean
      readonly topics: ReadonlyArray<PrivateTopic>
      readonly since: Since
    }
  | { readonly kind: "fault"; readonly topic: string; readonly fault: Fault }
  /** A topic or a message that the gateway refused. */
  | { readonly kind: "refused"; readonly error: ErrorFrame }

export type FeedEvent = TopicMessage | FeedNotice

/** A feed that could not begin, or that will not come back: wrong credential, or a gateway that refuses it. */
export class FeedEnded extends Schema.TaggedError<FeedEnded>()("FeedEnded", {
  /** Close code; docs/contract/websocket.md#close-codes. */
  code: Schema.Int,
  message: Schema.String
}) {}
