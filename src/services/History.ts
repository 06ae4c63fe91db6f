/**
 * Port: the read model that the gateway builds from the event stream.
 *
 * Guarantee: a projection and its stream position are committed in one transaction, so that after any crash the model
 * holds exactly the events up to {@link position}; a projection that is not the next one is refused. Lists are ordered
 * newest first by (time, id), and rows that arrive later never shift, repeat or drop a row of a walk. Only a page without
 * `next` is the last: one that a filter leaves short is not.
 * Source: docs/contract/conventions.md#paging, docs/contract/boundary.md#read-models, #ownership.
 */
import { Context, type Effect, Schema } from "effect"
import type { Movement } from "../domain/Account.ts"
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
import type { CandleChange, CandleKind, ModelPosition, OrderRow, Projection, StreamHead } from "../domain/Projection.ts"
import type { PrivateTopic } from "../domain/Topic.ts"
import type { Transaction } from "../domain/Transaction.ts"
import type { SubAccountState } from "../domain/User.ts"

/** The database does not answer. */
export class HistoryUnavailable extends Schema.TaggedError<HistoryUnavailable>()("HistoryUnavailable", {
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/**
 * The projection does not follow the position of the model: it was committed before, or somebody else commits too.
 * Nothing was written; `position` is where the model stands.
 */
export class ProjectionRefused extends Schema.TaggedError<ProjectionRefused>()("ProjectionRefused", {
  position: Schema.UndefinedOr(
    Schema.Struct({ epoch: Schema.String, seq: Schema.Int, began: Schema.Int, ts_ms: Schema.Int })
  )
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
  readonly side?: Side | undefined
}

export interface ExecutionQuery extends ListQuery {
  readonly order_id: string | undefined
  readonly exec_type: ExecType | undefined
  readonly order_link_id?: string | undefined
  readonly side?: Side | undefined
}

/** An execution as its row stands in the stream. */
export interface PastExecution {
  /** Grows with the stream, even where its numbering starts anew. */
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
/** The same, of one market or of all. */
export type MarketsQuery = Omit<MarketQuery, "symbol" | "after"> & { readonly symbol: string | undefined }

/** Hours that begin in [start, end), of a user or of everybody. */
export interface HoursQuery {
  readonly user_id: string | undefined
  readonly start: number
  readonly end: number
}

/** What is open at a position, read from the backend when the stream cannot be followed from where the model stood. */
export interface OpenState {
  readonly orders: ReadonlyArray<Pick<OrderRow, "user_id" | "order" | "record">>
  readonly subAccounts: ReadonlyArray<SubAccountState>
  readonly instruments: ReadonlyArray<Instrument>
  /** Balances and open positions, with seq 0. */
  readonly records: ReadonlyArray<LastRecord>
}

/** The last record of a position or balance, and the place of its event in the user's stream. */
export interface LastRecord {
  readonly user_id: string
  readonly topic: "position" | "account_balance"
  readonly sub_account_address: string
  /** Symbol or asset. */
  readonly subject: string
  /** 0: no event of this stream; the record is that of where the stream began. */
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

type Read<A> = Effect.Effect<A, HistoryUnavailable>

export class History extends Context.Service<
  History,
  {
    /** Where the model stands; `undefined` before the first commit. */
    readonly position: Read<ModelPosition | undefined>
    /** Runs reads that are all of one moment, whatever is committed meanwhile. */
    readonly moment: <A, E>(reads: Effect.Effect<A, E>) => Effect.Effect<A, E | HistoryUnavailable>
    /** Commits a projection with its position, in one transaction. */
    readonly commit: (projection: Projection) => Effect.Effect<void, HistoryUnavailable | ProjectionRefused>
    /**
     * Numbering starts anew at `position`: forgets user streams and every open order that is not in `open`, takes `open`
     * in and keeps what is past, all in one transaction. Refused where the model does not stand at `after` any more.
     */
    readonly restart: (
      after: StreamPosition | undefined,
      position: ModelPosition,
      open: OpenState
    ) => Effect.Effect<void, HistoryUnavailable | ProjectionRefused>

    readonly orders: (query: OrderQuery) => Read<Rows<Order>>
    /** One order of a sub-account, by id or by the client's reference. */
    readonly order: (query: {
      readonly user_id: string
      readonly sub_account_address: string
      readonly order_id: string | undefined
      readonly order_link_id: string | undefined
    }) => Read<Order | undefined>
    readonly executions: (query: ExecutionQuery) => Read<Rows<Execution>>
    /** Executions of all users in the order of the stream, from after a row on: for who counts every one of them once. */
    readonly executionsAfter: (id: number, limit: number) => Read<ReadonlyArray<PastExecution>>
    /** Id of the newest execution; 0 before the first. */
    readonly lastExecution: Read<number>
    /**
     * Executions newest first behind the first `offset`, and how many there are. They are read from the newest
     * {@link OFFSET_MAX} of the user only: `rows` ends there, `total` counts all.
     */
    readonly executionsAt: (
      query: Pick<ListQuery, "user_id" | "sub_accounts" | "symbol" | "limit"> & { readonly offset: number }
    ) => Read<{ readonly rows: ReadonlyArray<Execution>; readonly total: number }>
    /** By the first fill that closed. */
    readonly closedPnls: (query: ListQuery & { readonly order_id?: string | undefined }) => Read<Rows<ClosedPnl>>
    readonly transactions: (
      query: ListQuery & { readonly type: TransactionType | undefined }
    ) => Read<Rows<Transaction>>
    /** By the time of settlement. */
    readonly fundingPayments: (query: ListQuery) => Read<Rows<FundingPayment>>
    readonly movements: (
      query: ListQuery & {
        readonly kind: Movement["kind"] | undefined
        /** Sub-accounts among which a transfer has both its sides. */
        readonly within?: ReadonlyArray<string> | undefined
      }
    ) => Read<Rows<Movement>>
    readonly subAccounts: (user_id: string) => Read<ReadonlyArray<SubAccountState>>
    readonly instruments: Read<ReadonlyArray<Instrument>>

    /** Newest first; the last {@link TRADES_KEPT} of a market are kept. */
    readonly trades: (symbol: string, limit: number) => Read<ReadonlyArray<PublicTrade>>
    /** Candles that had at least one change, the open one too, newest first, starting in [start, end). */
    readonly candles: (query: {
      readonly kind: CandleKind
      readonly symbol: string
      readonly interval: Interval
      readonly start: number
      readonly end: number
      readonly limit: number
    }) => Read<ReadonlyArray<Candle>>

    /** Settlements, by their time. */
    readonly fundingRates: (query: MarketQuery) => Read<Rows<FundingRate>>
    readonly openInterest: (
      query: MarketQuery & { readonly interval: OpenInterestInterval }
    ) => Read<Rows<OpenInterest>>
    readonly pools: (query: MarketsQuery) => Read<ReadonlyArray<InsurancePool>>
    readonly adlAlerts: (query: MarketsQuery) => Read<ReadonlyArray<AdlAlert>>

    /** Hours of sub-accounts in markets, and as a whole; the running one too. */
    readonly marketHours: (query: HoursQuery) => Read<ReadonlyArray<MarketRow>>
    readonly accountHours: (query: HoursQuery) => Read<ReadonlyArray<AccountRow>>
    /** The last hour that began before `hour`, of every sub-account of a user in every market, and as a whole. */
    readonly hoursBefore: (query: { readonly user_id: string; readonly hour: number }) => Read<{
      readonly markets: ReadonlyArray<MarketRow>
      readonly accounts: ReadonlyArray<AccountRow>
    }>
    /** Executions of a user in [start, end), with what they closed, oldest first; for spans within an hour. */
    readonly fills: (query: {
      readonly user_id: string
      readonly start: number
      readonly end: number
    }) => Read<ReadonlyArray<{ readonly execution: Execution; readonly closing: Closing | undefined }>>

    /** What the ledger of the projection goes on from after a start. */
    readonly ledger: Read<LedgerState>
    /** The last candle of every interval, of every price of every market, to go on from after a start. */
    readonly lastCandles: Read<ReadonlyArray<Pick<CandleChange, "kind" | "symbol" | "last">>>
    /** Head of every user's stream and of each of its topics, to count on from after a start. */
    readonly streamHeads: Read<ReadonlyArray<StreamHead>>
    /**
     * Events of a user after `seq`, oldest first. The newest {@link UserEventsKept} or those of its time are kept,
     * whichever is more: where older ones are gone, the first event's seq is not `after` + 1.
     */
    readonly userEvents: (user_id: string, after: number, limit: number) => Read<ReadonlyArray<UserEvent>>
    /**
     * The last records of a user's positions (by sub-account and symbol) or balances (and asset), flat positions too. What
     * never had an event in this stream, nor anything where it began, is not among them.
     */
    readonly lastRecords: (user_id: string, topic: LastRecord["topic"]) => Read<ReadonlyArray<LastRecord>>
  }
>()("gateway/services/History") {}

/**
 * Rows of a user that one page reads to find those that a filter takes. A page of a filtered list may therefore hold fewer
 * rows than its limit, even none, while `next` leads on: the work of a page is bounded, and each row costs one index entry
 * however many filters there are.
 */
export const SCAN_MAX = 3_000
/** How deep the list by offset can be read: each page walks over all rows before it. */
export const OFFSET_MAX = 5_000
/** Trades that are kept of each market: what /market/recent-trade can ask for. */
export const TRADES_KEPT = 1_000
/** Events that are kept of each user at least, and for how long all are; docs/contract/websocket.md#resume. */
export const USER_EVENTS_KEPT = 10_000
export const USER_EVENTS_KEPT_MS = 86_400_000

/** {@link USER_EVENTS_KEPT} and {@link USER_EVENTS_KEPT_MS} as they are in force; provide others to configure them. */
export const UserEventsKept = Context.Reference<{ readonly count: number; readonly ms: number }>(
  "gateway/services/History/UserEventsKept",
  { defaultValue: () => ({ count: USER_EVENTS_KEPT, ms: USER_EVENTS_KEPT_MS }) }
)
