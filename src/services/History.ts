/**
 * Port: the read model that the gateway builds from the event stream.
 *
 * Guarantee: a projection and its stream position are committed in one transaction, so after any crash the model
 * contains exactly the events up to {@link position}. A projection that does not follow the position is refused.
 * Lists are ordered newest first by (time, id). Rows that arrive later never shift, repeat or drop a row of a paged
 * read. Only a page without `next` is the last; a filter may leave other pages short.
 * Source: docs/contract/conventions.md#paging, docs/contract/boundary.md#read-models, #ownership.
 */
import { Context, type Effect, Schema } from "effect"
import type { Movement } from "../domain/Movement.ts"
import type { AccountRow, MarketRow } from "../domain/HourlyStats.ts"
import type { ClosedPnl } from "../domain/ClosedPnl.ts"
import type {
  ExecType,
  Interval,
  OpenInterestInterval,
  OrderStatus,
  Side,
  TransactionType
} from "../domain/Enumerations.ts"
import type { Closing, Execution } from "../domain/Execution.ts"
import type { FundingPayment, FundingRate } from "../domain/Funding.ts"
import type { AdlAlert, InsurancePool } from "../domain/InsurancePool.ts"
import type { LedgerState } from "../domain/Ledger.ts"
import type { StreamPosition } from "../domain/Event.ts"
import type { Candle, Instrument, OpenInterest, PublicTrade } from "../domain/Market.ts"
import type { Order } from "../domain/Order.ts"
import type { RowKey, Rows } from "../domain/Page.ts"
import {
  type CandleChange,
  type CandleKind,
  type ModelPosition,
  type OrderRow,
  type Projection,
  READ_MODEL_VERSION,
  type StreamHead
} from "../domain/Projection.ts"
import type { PrivateTopic } from "../domain/Topic.ts"
import type { Transaction } from "../domain/Transaction.ts"
import type { SubAccountState } from "../domain/User.ts"

/** The database does not respond. */
export class HistoryUnavailable extends Schema.TaggedError<HistoryUnavailable>()("HistoryUnavailable", {
  cause: Schema.optionalKey(Schema.Defect())
}) {
  readonly reason = "DatabaseUnavailable"
}

/** The version that this gateway writes; tests provide another one. */
export const ReadModelVersion = Context.Reference<number>("gateway/services/History/ReadModelVersion", {
  defaultValue: () => READ_MODEL_VERSION
})

/**
 * The projection does not follow the position of the model: it was committed before, another gateway also commits, or the
 * model has another version. Nothing was written; `position` is the position of the model.
 */
export class ProjectionRefused extends Schema.TaggedError<ProjectionRefused>()("ProjectionRefused", {
  position: Schema.UndefinedOr(
    Schema.Struct({
      epoch: Schema.String,
      seq: Schema.Int,
      began: Schema.Int,
      ts_ms: Schema.Int,
      fork: Schema.optional(Schema.String),
      checksum: Schema.optional(Schema.Int),
      stream: Schema.optional(Schema.String),
      version: Schema.optional(Schema.Int)
    })
  )
}) {}

/** Selects rows of a user. Times in Unix ms: `start_time` inclusive, `end_time` exclusive. */
export interface ListQuery {
  readonly user_id: string
  /** Sub-accounts to include; `undefined`: all of the user. */
  readonly sub_accounts: ReadonlyArray<string> | undefined
  readonly symbol: string | undefined
  readonly start_time: number | undefined
  readonly end_time: number | undefined
  readonly limit: number
  /** Rows after this key, in the order of the list. */
  readonly after: RowKey | undefined
}

export interface OrderQuery extends ListQuery {
  readonly order_id: string | undefined
  readonly order_link_id: string | undefined
  /** `undefined`: any status. */
  readonly statuses: ReadonlyArray<OrderStatus> | undefined
  readonly side?: Side | undefined
}

export interface ExecutionQuery extends ListQuery {
  readonly order_id: string | undefined
  readonly exec_type: ExecType | undefined
  readonly order_link_id?: string | undefined
  readonly side?: Side | undefined
}

/** An execution with its row id. */
export interface PastExecution {
  /** Increases along the stream, also across a restart of its numbering. Ids begin again where the model is cleared. */
  readonly id: number
  readonly user_id: string
  readonly execution: Execution
}

/** Rows of a market, newest first, in [start_time, end_time). */
export interface MarketQuery {
  readonly symbol: string
  readonly start_time: number | undefined
  readonly end_time: number | undefined
  readonly limit: number
  readonly after: RowKey | undefined
}
/** Rows of one market or of all. */
export type MarketsQuery = Omit<MarketQuery, "symbol" | "after"> & { readonly symbol: string | undefined }

/** Hours that begin in [start, end), of one user or of all. */
export interface HoursQuery {
  readonly user_id: string | undefined
  readonly start: number
  readonly end: number
}

/**
 * Open orders and positions at a stream position, read from the backend when the stream cannot be resumed from the
 * position of the model.
 */
export interface OpenState {
  readonly orders: ReadonlyArray<Pick<OrderRow, "user_id" | "order" | "record">>
  readonly subAccounts: ReadonlyArray<SubAccountState>
  readonly instruments: ReadonlyArray<Instrument>
  /** Balances and open positions, with seq 0. */
  readonly records: ReadonlyArray<LastRecord>
}

/** The last record of a position or balance, and the position of its event in the user's stream. */
export interface LastRecord {
  readonly user_id: string
  readonly topic: "position" | "account_balance"
  readonly sub_account_address: string
  /** Symbol or asset. */
  readonly subject: string
  /** 0: the record dates from the start of the stream, without an event in it. */
  readonly seq: number
  /** JSON text. */
  readonly record: string
}

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

/** A position of the model by which a writer names it. */
export type StoredPosition = StreamPosition & Pick<ModelPosition, "version">

type Read<A> = Effect.Effect<A, HistoryUnavailable>

export class History extends Context.Service<
  History,
  {
    /** Position of the model; `undefined` before the first commit. */
    readonly position: Read<ModelPosition | undefined>
    /** Runs reads on one consistent snapshot, unaffected by concurrent commits. */
    readonly moment: <A, E>(reads: Effect.Effect<A, E>) => Effect.Effect<A, E | HistoryUnavailable>
    /** The same, with the position of the snapshot. Unlike {@link position}, it does not prepare a commit. */
    readonly momentAndPosition: <A, E>(
      reads: Effect.Effect<A, E>
    ) => Effect.Effect<{ readonly at: ModelPosition | undefined; readonly value: A }, E | HistoryUnavailable>
    /** Commits a projection with its position, in one transaction. */
    readonly commit: (projection: Projection) => Effect.Effect<void, HistoryUnavailable | ProjectionRefused>
    /**
     * Restarts the numbering at `position`, in one transaction: deletes user streams and every open order that is not
     * in `open`, stores `open`, and keeps past records. Refused if the model is no longer at `after`; a model of an
     * older version may have moved on within its history, but not to another version.
     */
    readonly restart: (
      after: StoredPosition | undefined,
      position: ModelPosition,
      open: OpenState
    ) => Effect.Effect<void, HistoryUnavailable | ProjectionRefused>
    /** Deletes all rows and begins at `position`, in one transaction. Refused as {@link restart} is. */
    readonly clear: (
      after: StoredPosition,
      position: ModelPosition
    ) => Effect.Effect<void, HistoryUnavailable | ProjectionRefused>

    readonly orders: (query: OrderQuery) => Read<Rows<Order>>
    /** One order of a sub-account, by id or by order_link_id. */
    readonly order: (query: {
      readonly user_id: string
      readonly sub_account_address: string
      readonly order_id: string | undefined
      readonly order_link_id: string | undefined
    }) => Read<Order | undefined>
    readonly executions: (query: ExecutionQuery) => Read<Rows<Execution>>
    /** Executions of all users in stream order, after a row id; for consumers that count each execution once. */
    readonly executionsAfter: (id: number, limit: number) => Read<ReadonlyArray<PastExecution>>
    /** Id of the newest execution; 0 before the first. */
    readonly lastExecution: Read<number>
    /**
     * Executions newest first, after the first `offset`, and their total. Only the newest {@link OFFSET_MAX} of the
     * user can be read: `rows` ends there, `total` counts all.
     */
    readonly executionsAt: (
      query: Pick<ListQuery, "user_id" | "sub_accounts" | "symbol" | "limit"> & { readonly offset: number }
    ) => Read<{ readonly rows: ReadonlyArray<Execution>; readonly total: number }>
    /** Ordered by the first closing fill. */
    readonly closedPnls: (query: ListQuery & { readonly order_id?: string | undefined }) => Read<Rows<ClosedPnl>>
    readonly transactions: (
      query: ListQuery & { readonly type: TransactionType | undefined }
    ) => Read<Rows<Transaction>>
    /** Ordered by the time of settlement. */
    readonly fundingPayments: (query: ListQuery) => Read<Rows<FundingPayment>>
    readonly movements: (
      query: ListQuery & {
        readonly kind: Movement["kind"] | undefined
        /** Includes only transfers with both sides among these sub-accounts. */
        readonly within?: ReadonlyArray<string> | undefined
      }
    ) => Read<Rows<Movement>>
    readonly subAccounts: (user_id: string) => Read<ReadonlyArray<SubAccountState>>
    readonly instruments: Read<ReadonlyArray<Instrument>>

    /** Newest first; the last {@link TRADES_KEPT} of each market are stored. */
    readonly trades: (symbol: string, limit: number) => Read<ReadonlyArray<PublicTrade>>
    /** Candles with at least one change, including the open one, newest first, starting in [start, end). */
    readonly candles: (query: {
      readonly kind: CandleKind
      readonly symbol: string
      readonly interval: Interval
      readonly start: number
      readonly end: number
      readonly limit: number
    }) => Read<ReadonlyArray<Candle>>

    /** Settlements, ordered by time. */
    readonly fundingRates: (query: MarketQuery) => Read<Rows<FundingRate>>
    readonly openInterest: (
      query: MarketQuery & { readonly interval: OpenInterestInterval }
    ) => Read<Rows<OpenInterest>>
    readonly pools: (query: MarketsQuery) => Read<ReadonlyArray<InsurancePool>>
    readonly adlAlerts: (query: MarketsQuery) => Read<ReadonlyArray<AdlAlert>>

    /** Hours per sub-account and market, and per sub-account; including the current hour. */
    readonly marketHours: (query: HoursQuery) => Read<ReadonlyArray<MarketRow>>
    readonly accountHours: (query: HoursQuery) => Read<ReadonlyArray<AccountRow>>
    /** The last row before `hour` of every sub-account of a user, per market and in total. */
    readonly hoursBefore: (query: { readonly user_id: string; readonly hour: number }) => Read<{
      readonly markets: ReadonlyArray<MarketRow>
      readonly accounts: ReadonlyArray<AccountRow>
    }>
    /**
     * Executions of a user in [start, end) with the positions that they closed, oldest first; for ranges within an
     * hour.
     */
    readonly fills: (query: {
      readonly user_id: string
      readonly start: number
      readonly end: number
    }) => Read<ReadonlyArray<{ readonly execution: Execution; readonly closing: Closing | undefined }>>

    /** State from which the ledger of the projection resumes after a start. */
    readonly ledger: Read<LedgerState>
    /** The last candle of every interval, price and market; state from which candles resume after a start. */
    readonly lastCandles: Read<ReadonlyArray<Pick<CandleChange, "kind" | "symbol" | "last">>>
    /** Head of every user's stream and of each of its topics; state from which numbering resumes after a start. */
    readonly streamHeads: Read<ReadonlyArray<StreamHead>>
    /**
     * Events of a user after `seq`, oldest first. Retained are the newest {@link UserEventsKept} count or those
     * within its time, whichever is more. If older events are gone, the seq of the first event is not `after` + 1.
     */
    readonly userEvents: (user_id: string, after: number, limit: number) => Read<ReadonlyArray<UserEvent>>
    /**
     * The last records of a user's positions (by sub-account and symbol) or balances (by sub-account and asset), flat
     * positions included. A position or balance without an event in this stream, and without a state at its start,
     * has no record. Without a topic the records of both, as of one moment.
     */
    readonly lastRecords: (user_id: string, topic?: LastRecord["topic"]) => Read<ReadonlyArray<LastRecord>>
  }
>()("gateway/services/History") {}

/**
 * Rows of a user that one page scans for matches of a filter. A page of a filtered list may contain fewer rows than
 * its limit, even none, while `next` continues the list. The work of a page is bounded, and each row costs one index
 * entry for any number of filters.
 */
export const SCAN_MAX = 3_000
/** How deep the list by offset can be read: each page walks over all rows before it. */
export const OFFSET_MAX = 5_000
/** Stored trades per market: the maximum of /market/recent-trade. */
export const TRADES_KEPT = 1_000
/**
 * Least number of events retained per user, and the time for which all are retained;
 * docs/contract/websocket.md#resume.
 */
export const USER_EVENTS_KEPT = 10_000
export const USER_EVENTS_KEPT_MS = 86_400_000

/** The effective {@link USER_EVENTS_KEPT} and {@link USER_EVENTS_KEPT_MS}; provide another value to configure them. */
export const UserEventsKept = Context.Reference<{ readonly count: number; readonly ms: number }>(
  "gateway/services/History/UserEventsKept",
  { defaultValue: () => ({ count: USER_EVENTS_KEPT, ms: USER_EVENTS_KEPT_MS }) }
)
