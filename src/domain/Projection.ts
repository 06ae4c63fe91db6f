/**
 * What a batch of events means for the read model: rows to write, user-stream events to number, candles to move.
 *
 * A projection is a pure function of the event stream, so every gateway that reads the same stream derives the same rows
 * and the same user-stream numbers. Source: contract 5.8, 8.5.
 */
import type { Movement } from "./Account.ts"
import type { Interval } from "./Enumerations.ts"
import type { StreamPosition } from "./Event.ts"
import type { Closing, Execution } from "./Execution.ts"
import type { Candle, Instrument, PublicTrade } from "./Market.ts"
import type { Order } from "./Order.ts"
import type { PrivateTopic } from "./Topic.ts"
import type { SubAccountState } from "./User.ts"

export interface UserStreamEvent {
  readonly user_id: string
  readonly seq: number
  readonly topic: PrivateTopic
  readonly prev_seq: number
  readonly sub_account_address: string
  /** Position and balance records: the symbol or asset, for `seq` of a record. */
  readonly subject: string | undefined
  readonly mts: number
  /** JSON text of the record as the API sends it, encoded once for database and sockets. */
  readonly record: string
}

export interface CandleChange {
  readonly kind: "trade" | "mark" | "index"
  readonly symbol: string
  readonly interval: Interval
  readonly candle: Candle
}

export interface Projection {
  /** Position before the batch; `undefined`: the beginning. A commit on another position is refused. */
  readonly after: StreamPosition | undefined
  /** Position of the last event of the batch. */
  readonly position: StreamPosition
  /** Last state of each order that changed, with its owner and the seq of its first event (the id of its row). */
  readonly orders: ReadonlyArray<{ readonly user_id: string; readonly seq: number; readonly order: Order }>
  readonly executions: ReadonlyArray<{
    readonly user_id: string
    readonly seq: number
    readonly execution: Execution
    readonly closing: Closing | undefined
  }>
  readonly trades: ReadonlyArray<PublicTrade>
  readonly candles: ReadonlyArray<CandleChange>
  readonly movements: ReadonlyArray<Movement>
  readonly subAccounts: ReadonlyArray<SubAccountState>
  readonly instruments: ReadonlyArray<Instrument>
  readonly userEvents: ReadonlyArray<UserStreamEvent>
}
