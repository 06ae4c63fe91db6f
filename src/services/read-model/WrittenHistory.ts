/**
 * Port of readers: what the history holds of the events that this gateway has shown. A read may wait for it, for a
 * bounded time; the wait starts a commit. Reads of the current state of a user do not wait: the unwritten rows are laid over
 * the stored ones.
 * Source: docs/contract/boundary.md#read-models.
 */
import { Context, Duration, Effect } from "effect"
import type { Order } from "../../domain/Order.ts"
import type { Rows } from "../../domain/Page.ts"
import type { SubAccountState } from "../../domain/User.ts"
import { History, type HistoryUnavailable, type LastRecord, type OrderQuery } from "../History.ts"

/** Longest wait of a reader for what it was shown. */
export const WRITTEN_WAIT = Duration.seconds(1)

/** Rows of a user, and whether they contain all that this gateway had shown of the user when the read began. */
export interface Shown<A> {
  readonly rows: A
  readonly isComplete: boolean
}
type ShownRead<A> = Effect.Effect<Shown<A>, HistoryUnavailable>

/** Each wait returns false if the history does not hold the events after {@link WRITTEN_WAIT}. */
export class WrittenHistory extends Context.Service<
  WrittenHistory,
  {
    /** Waits for the stream up to a seq. */
    readonly reached: (seq: number) => Effect.Effect<boolean>
    /** Waits for what was shown of a user, of a market, or of all. */
    readonly user: (user_id: string) => Effect.Effect<boolean>
    readonly market: (symbol: string) => Effect.Effect<boolean>
    readonly all: Effect.Effect<boolean>
    /** Head of a user's stream in the history; undefined if it is the one shown. */
    readonly head: (user_id: string) => number | undefined
    /** A page of open orders; `statuses` are statuses of open orders. It may be shorter than its limit. */
    readonly openOrders: (query: OrderQuery) => ShownRead<Rows<Order>>
    /** As {@link History} has them. */
    readonly lastRecords: (user_id: string, topic?: LastRecord["topic"]) => ShownRead<ReadonlyArray<LastRecord>>
    readonly subAccounts: (user_id: string) => ShownRead<ReadonlyArray<SubAccountState>>
  }
>()("gateway/services/WrittenHistory") {}

/**
 * A history whose reads contain what was shown of the user or market that they name; most wait for it. Reads of positions and
 * for a start do not wait.
 */
export const shownHistory = (stored: History["Service"], waits: WrittenHistory["Service"]): History["Service"] => {
  const market = (symbol: string | undefined) => (symbol === undefined ? waits.all : waits.market(symbol))
  const ofUser =
    <Q extends { readonly user_id: string }, A, E>(read: (query: Q) => Effect.Effect<A, E>) =>
    (query: Q) =>
      Effect.andThen(waits.user(query.user_id), read(query))
  const ofMarket =
    <Q extends { readonly symbol: string | undefined }, A, E>(read: (query: Q) => Effect.Effect<A, E>) =>
    (query: Q) =>
      Effect.andThen(market(query.symbol), read(query))
  const hours =
    <Q extends { readonly user_id: string | undefined }, A, E>(read: (query: Q) => Effect.Effect<A, E>) =>
    (query: Q) =>
      Effect.andThen(query.user_id === undefined ? waits.all : waits.user(query.user_id), read(query))
  return History.of({
    ...stored,
    orders: ofUser(stored.orders),
    order: ofUser(stored.order),
    executions: ofUser(stored.executions),
    executionsAt: ofUser(stored.executionsAt),
    closedPnls: ofUser(stored.closedPnls),
    transactions: ofUser(stored.transactions),
    fundingPayments: ofUser(stored.fundingPayments),
    movements: ofUser(stored.movements),
    fills: ofUser(stored.fills),
    hoursBefore: ofUser(stored.hoursBefore),
    marketHours: hours(stored.marketHours),
    accountHours: hours(stored.accountHours),
    subAccounts: (user_id) => Effect.map(waits.subAccounts(user_id), ({ rows }) => rows),
    userEvents: (user_id, after, limit) =>
      Effect.andThen(waits.user(user_id), stored.userEvents(user_id, after, limit)),
    lastRecords: (user_id, topic) => Effect.map(waits.lastRecords(user_id, topic), ({ rows }) => rows),
    trades: (symbol, limit) => Effect.andThen(waits.market(symbol), stored.trades(symbol, limit)),
    instruments: Effect.andThen(waits.all, stored.instruments),
    candles: ofMarket(stored.candles),
    fundingRates: ofMarket(stored.fundingRates),
    openInterest: ofMarket(stored.openInterest),
    pools: ofMarket(stored.pools),
    adlAlerts: ofMarket(stored.adlAlerts)
  })
}
