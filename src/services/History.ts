/**
 * Port: the read model that the gateway builds from the event stream.
 *
 * Guarantee: a projection and its stream position are committed in one transaction, so that after any crash the model
 * holds exactly the events up to {@link position}; a projection that is not the next one is refused. Lists are ordered
 * newest first by (time, id), and rows that arrive later never shift, repeat or drop a row of a walk.
 * Source: contract 1.7, 8, 8.5.
 */
import { Context, type Effect, Schema } from "effect"
import type { Movement } from "../domain/Account.ts"
import type { ExecType, Interval, OrderStatus } from "../domain/Enumerations.ts"
import type { StreamPosition } from "../domain/Event.ts"
import type { Execution } from "../domain/Execution.ts"
import type { Candle, Instrument, PublicTrade } from "../domain/Market.ts"
import type { Order } from "../domain/Order.ts"
import type { RowKey, Rows } from "../domain/Page.ts"
import type { Projection } from "../domain/Projection.ts"
import type { PrivateTopic } from "../domain/Topic.ts"
import type { SubAccountState } from "../domain/User.ts"

/** The database does not answer. */
export class HistoryUnavailable extends Schema.TaggedError<HistoryUnavailable>()("HistoryUnavailable", {
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** Which rows of a user are asked for. Times in Unix ms: `start_time` inclusive, `end_time` exclusive. */
export interface ListQuery {
  readonly user_id: string
  /** Sub-accounts to look at; `undefined`: all of the user. */
  readonly sub_accounts: ReadonlyArray<string> | undefined
  readonly symbol: string | undefined
  readonly start_time: number | undefined
  readonly end_time: number | undefined
  readonly limit: number
  /** Rows after this one, in the list's order. */
  readonly after: RowKey | undefined
}

export interface OrderQuery extends ListQuery {
  readonly order_id: string | undefined
  readonly order_link_id: string | undefined
  /** `undefined`: any status. */
  readonly statuses: ReadonlyArray<OrderStatus> | undefined
}

export interface ExecutionQuery extends ListQuery {
  readonly order_id: string | undefined
  readonly exec_type: ExecType | undefined
}

/** Candles of trades, of the mark price or of the index price. */
export type CandleKind = "trade" | "mark" | "index"

/** One event of a user's stream. */
export interface UserEvent {
  readonly seq: number
  readonly topic: PrivateTopic
  /** Seq of the previous event of this topic, 0 if none. */
  readonly prev_seq: number
  readonly sub_account_address: string
  /** Engine time, Unix ms. */
  readonly mts: number
  /** JSON text of the record. */
  readonly record: string
}

type Read<A> = Effect.Effect<A, HistoryUnavailable>

export class History extends Context.Service<
  History,
  {
    /** Where the model stands; `undefined` before the first commit. */
    readonly position: Read<StreamPosition | undefined>
    /** Commits a projection with its position, in one transaction. */
    readonly commit: (projection: Projection) => Effect.Effect<void, HistoryUnavailable>
    /** Numbering starts anew: forgets open state, user streams and position; keeps what is past. */
    readonly restart: (position: StreamPosition) => Effect.Effect<void, HistoryUnavailable>

    readonly orders: (query: OrderQuery) => Read<Rows<Order>>
    /** One order of a sub-account, by id or by the client's reference. */
    readonly order: (query: {
      readonly sub_account_address: string
      readonly order_id: string | undefined
      readonly order_link_id: string | undefined
    }) => Read<Order | undefined>
    readonly executions: (query: ExecutionQuery) => Read<Rows<Execution>>
    readonly movements: (query: ListQuery & { readonly kind: Movement["kind"] | undefined }) => Read<Rows<Movement>>
    readonly subAccounts: (user_id: string) => Read<ReadonlyArray<SubAccountState>>
    readonly instruments: Read<ReadonlyArray<Instrument>>

    /** Newest first. */
    readonly trades: (symbol: string, limit: number) => Read<ReadonlyArray<PublicTrade>>
    /** Candles that had at least one change, newest first, starting in [start, end). */
    readonly candles: (query: {
      readonly kind: CandleKind
      readonly symbol: string
      readonly interval: Interval
      readonly start: number
      readonly end: number
      readonly limit: number
    }) => Read<ReadonlyArray<Candle>>

    /** Head of every user's stream and of each of its topics, to count on from after a start. */
    readonly streamHeads: Read<ReadonlyArray<StreamHead>>
    /** Events of a user after `seq`, oldest first. */
    readonly userEvents: (user_id: string, after: number, limit: number) => Read<ReadonlyArray<UserEvent>>
    /** User-stream position of the last event of each position (by sub-account and symbol) and balance (and asset). */
    readonly lastSeqs: (user_id: string, topic: "position" | "account_balance") => Read<ReadonlyMap<string, number>>
  }
>()("gateway/services/History") {}

export interface StreamHead {
  readonly user_id: string
  readonly seq: number
  readonly topics: { readonly [T in PrivateTopic]: number }
}

/** Key of {@link History.lastSeqs}: `<sub_account_address>|<symbol or asset>`. */
export const lastSeqKey = (sub_account_address: string, symbolOrAsset: string): string =>
  `${sub_account_address}|${symbolOrAsset}`
