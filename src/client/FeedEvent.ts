/**
 * Events of a feed, in one order: messages of topics, and between them notices about the feed itself.
 *
 * `kind` distinguishes them; for a message it is the name of the topic.
 * Source: docs/contract/websocket.md#public-topics, #order-book, #private-topics.
 */
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
/** A message of a topic. A book message is passed on after it was applied, and only if the book is sound. */
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

/** State of a feed. */
export type FeedState =
  | { readonly type: "connecting" }
  /** All topics are subscribed; `resume` shows whether private topics resumed without a gap. */
  | { readonly type: "live"; readonly resume: Resume | undefined }
  | { readonly type: "lost"; readonly code: number; readonly reason: string }
  /** The feed does not reconnect. */
  | { readonly type: "ended"; readonly code: number; readonly reason: string }

/**
 * A fault of a topic. `gap`: a message is missing. `repetition`: a message came twice and is dropped. `checksum`, `crossed`: the
 * local book differs from the market's. `stream`: the sequence belongs to another stream. All but a repetition are repaired by a
 * new subscription.
 */
export type Fault = "gap" | "repetition" | "checksum" | "crossed" | "stream"

/** Notices about the feed itself. */
export type FeedNotice =
  | { readonly kind: "state"; readonly state: FeedState }
  /**
   * Private topics continue after `since`. With `recovered: false` the events in between are lost: a snapshot of each topic
   * follows and replaces the state (missed fills are in `/execution/list`).
   */
  | {
      readonly kind: "resume"
      readonly recovered: boolean
      readonly topics: ReadonlyArray<PrivateTopic>
      readonly since: Since
    }
  | { readonly kind: "fault"; readonly topic: string; readonly fault: Fault }
  /** The gateway refused a topic or a message. */
  | { readonly kind: "refused"; readonly error: ErrorFrame }

export type FeedEvent = TopicMessage | FeedNotice
