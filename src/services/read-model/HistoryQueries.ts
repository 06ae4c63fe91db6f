/**
 * Policy: the paged histories of a user: orders, executions, closed PnL, money movements.
 *
 * Source: docs/contract/conventions.md#time-ranges, #paging, docs/contract/rest-trading.md#order-endpoints,
 * #executions, docs/contract/rest-account.md.
 */
import { Context, Effect, Layer } from "effect"
import type { Deposit, Transfer, Withdrawal } from "../../domain/Account.ts"
import type { ClosedPnl } from "../../domain/ClosedPnl.ts"
import { type ExecType, OrderStatus, type Side, type TransactionType } from "../../domain/Enumerations.ts"
import type { Execution } from "../../domain/Execution.ts"
import type { FundingPayment } from "../../domain/Funding.ts"
import { isOpen, type Order } from "../../domain/Order.ts"
import { depositOf, type Movement, transferOf, withdrawalOf } from "../../domain/Movement.ts"
import { LIMIT_DEFAULT, type Rows } from "../../domain/Page.ts"
import type { Reason } from "../../domain/Reason.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { Caller } from "../../domain/User.ts"
import { Cursors, type List, parseRowKey, printRowKey } from "../operations/Cursors.ts"
import {
  endOf,
  type ListRequest,
  type Page,
  type SpanRequest,
  spanOf,
  type StatementRequest,
  type StreamMark
} from "../operations/Paging.ts"
import { BackendAvailability, type UnhealthyReason } from "../operations/BackendAvailability.ts"
import { History, type HistoryUnavailable, type ListQuery, OFFSET_MAX } from "../History.ts"
import { MarketView } from "../markets/MarketView.ts"
import { unknownOnceLoaded } from "../markets/UnknownMarket.ts"
import { WrittenHistory } from "./WrittenHistory.ts"
import { ReadYourWrites } from "./ReadYourWrites.ts"
import { DomainError } from "../DomainError.ts"
import type { ReadError } from "../Sequencer.ts"
import { type ResolveReason, SubAccounts } from "../identity/SubAccounts.ts"
import * as StreamMarks from "./StreamMarks.ts"
import type { UserStreams } from "./UserStreams.ts"

export interface OpenOrdersRequest extends ListRequest {
  readonly order_id?: string
  readonly order_link_id?: string
  readonly side?: Side
}
export interface OrdersRequest extends OpenOrdersRequest, SpanRequest {
  readonly order_status?: ReadonlyArray<OrderStatus>
}
export interface ExecutionsRequest extends ListRequest, SpanRequest {
  readonly order_id?: string
  readonly order_link_id?: string
  readonly side?: Side
  readonly exec_type?: ExecType
}
export interface ClosedPnlsRequest extends ListRequest, SpanRequest {
  readonly order_id?: string
}

export interface TransactionsRequest extends ListRequest, SpanRequest {
  readonly type?: TransactionType
}
export interface OffsetRequest {
  readonly sub_account_address?: string
  readonly symbol?: string
  readonly page?: number
  readonly per_page?: number
}

/** Rows per page of the only list paged by offset. */
const PER_PAGE_DEFAULT = 20

/** A page of the list paged by offset. */
export interface OffsetPage<A> {
  readonly list: ReadonlyArray<A>
  readonly page: number
  readonly per_page: number
  readonly total: number
  readonly total_pages: number
}

/** Why a list is refused: its filters, its cursor, its time range, or a backend that is unhealthy. */
export type ListReason = ResolveReason | UnhealthyReason | "InvalidCursor" | "OutOfRange" | "SymbolNotFound"
export type ListFailure<R extends Reason = ListReason> = DomainError<R> | HistoryUnavailable | ReadError

type PageRead<A> = Effect.Effect<Page<A>, ListFailure>
/** A list without a filter by symbol. */
type StatementRead<A> = Effect.Effect<Page<A>, ListFailure<Exclude<ListReason, "SymbolNotFound">>>

const tooDeep = new DomainError(
  "OutOfRange",
  { field: "page" },
  `expected a page within the newest ${OFFSET_MAX} executions; /execution/list lists all`
)

const openStatuses = OrderStatus.literals.filter(isOpen)

/** The filters of a list beside the common ones, and the read of its rows. */
type Reading<A> = readonly [
  filters: List["filters"],
  rows: (query: ListQuery) => Effect.Effect<Rows<A>, HistoryUnavailable>
]

/** The filters of a list without any: one that is not set, so that cursors of earlier releases stay valid. */
const NO_FILTERS: List["filters"] = [undefined]

export class HistoryQueries extends Context.Service<
  HistoryQueries,
  {
    readonly openOrders: (
      caller: Caller,
      request: OpenOrdersRequest
    ) => Effect.Effect<Page<Order> & StreamMark, ListFailure>
    readonly orders: (caller: Caller, request: OrdersRequest) => PageRead<Order>
    readonly executions: (caller: Caller, request: ExecutionsRequest) => PageRead<Execution>
    /** Paged by offset, for compatibility with an earlier version of the API. */
    readonly executionsAt: (
      caller: Caller,
      request: OffsetRequest
    ) => Effect.Effect<OffsetPage<Execution>, ListFailure<Exclude<ListReason, "InvalidCursor">>>
    readonly closedPnls: (caller: Caller, request: ClosedPnlsRequest) => PageRead<ClosedPnl>
    readonly fundingPayments: (caller: Caller, request: ListRequest & SpanRequest) => PageRead<FundingPayment>
    readonly transactions: (caller: Caller, request: TransactionsRequest) => PageRead<Transaction>
    readonly transfers: (caller: Caller, request: StatementRequest) => StatementRead<Transfer>
    readonly deposits: (caller: Caller, request: StatementRequest) => StatementRead<Deposit>
    readonly withdrawals: (caller: Caller, request: StatementRequest) => StatementRead<Withdrawal>
  }
>()("gateway/services/HistoryQueries") {
  static readonly layer: Layer.Layer<
    HistoryQueries,
    never,
    Cursors | BackendAvailability | History | WrittenHistory | MarketView | ReadYourWrites | SubAccounts | UserStreams
  > = Layer.effect(
    HistoryQueries,
    Effect.gen(function* () {
      const cursors = yield* Cursors
      const availability = yield* BackendAvailability
      const history = yield* History
      const markets = yield* MarketView
      const readYourWrites = yield* ReadYourWrites
      const subAccounts = yield* SubAccounts
      const markOf = yield* StreamMarks.make
      const written = yield* WrittenHistory

      const checkSymbol = (symbol: string | undefined) => {
        const unknown = unknownOnceLoaded(markets, symbol)
        return unknown === undefined ? Effect.void : Effect.fail(unknown)
      }
      // rows are stored by user; only a narrower selection needs addresses
      const addresses = (caller: Caller, request: ListRequest) =>
        request.sub_account_address !== undefined || caller.bound_to !== undefined
          ? subAccounts.resolveWithDeleted(caller, request.sub_account_address)
          : Effect.undefined

      /** Waits until the history may be read: the backend is well, and the records of the caller's commands are there. */
      const readable = (caller: Caller) =>
        Effect.andThen(availability.sequencer, readYourWrites.awaitUser(caller.user_id))

      /** The common part of all lists: user and filters, time range, cursor. The symbol is checked before. */
      const queryOf = Effect.fnUntraced(function* (caller: Caller, request: ListRequest & SpanRequest, list: List) {
        const after = yield* cursors.read(list, request.cursor)
        const span = spanOf(request, yield* endOf(markets))
        if (span instanceof DomainError) return yield* Effect.fail(span)
        const query: ListQuery = {
          user_id: caller.user_id,
          sub_accounts: yield* addresses(caller, request),
          symbol: request.symbol,
          start_time: span.start,
          end_time: span.end,
          limit: request.limit ?? LIMIT_DEFAULT,
          after: parseRowKey(after)
        }
        return query
      })

      /** A page whose rows are decoded only if they are read; a response is joined from the texts of those that have them. */
      const pageOf = <A>(list: List, rows: Rows<A>): Page<A> => ({
        get list() {
          return rows.rows
        },
        next_page_cursor: cursors.print(list, printRowKey(rows.next)),
        texts: rows.texts
      })

      const listOf = (
        caller: Caller,
        endpoint: string,
        request: ListRequest & SpanRequest,
        filters: List["filters"]
      ): List => ({
        endpoint,
        filters: [
          caller.user_id,
          caller.bound_to === undefined ? undefined : [...caller.bound_to].sort().join(),
          request.sub_account_address,
          request.symbol,
          request.start_time,
          request.end_time,
          ...filters
        ]
      })

      /** Reads a page of a list. */
      const read = Effect.fnUntraced(function* <A>(
        caller: Caller,
        endpoint: string,
        request: ListRequest & SpanRequest,
        ...[filters, rows]: Reading<A>
      ) {
        const list = listOf(caller, endpoint, request, filters)
        const query = yield* queryOf(caller, request, list)
        yield* readable(caller)
        return pageOf(list, yield* rows(query))
      })
      /** Reads a page of a list that can be filtered by symbol. */
      const readBySymbol = <A>(
        caller: Caller,
        endpoint: string,
        request: ListRequest & SpanRequest,
        ...rest: Reading<A>
      ) => Effect.andThen(checkSymbol(request.symbol), read(caller, endpoint, request, ...rest))
      /**
       * Reads a page of movements of one kind. A key bound to sub-accounts lists only transfers that it could have
       * made, with both sides among its sub-accounts. Other movements of its sub-accounts appear in the transactions.
       */
      const movements = <A>(
        caller: Caller,
        endpoint: string,
        request: ListRequest,
        kind: Movement["kind"],
        recordOf: (movement: Movement) => A
      ) =>
        Effect.map(
          read(caller, endpoint, request, NO_FILTERS, (query) => {
            const within = kind === "transfer" && caller.bound_to !== undefined ? [...caller.bound_to] : undefined
            return history.movements({ ...query, kind, within })
          }),
          ({ list, next_page_cursor }): Page<A> => ({ list: list.map(recordOf), next_page_cursor })
        )

      return HistoryQueries.of({
        openOrders: Effect.fnUntraced(function* (caller, request) {
          const { order_id, order_link_id, side } = request
          const list = listOf(caller, "order/realtime", request, [order_id, order_link_id, side])
          yield* checkSymbol(request.symbol)
          const query = yield* queryOf(caller, request, list)
          yield* readable(caller)
          const markOfList = markOf(caller.user_id)
          const shown = yield* written.openOrders({ ...query, order_id, order_link_id, side, statuses: openStatuses })
          return Object.assign(pageOf(list, shown.rows), markOfList(shown))
        }),
        orders: (caller, request) => {
          const { order_id, order_link_id, order_status: statuses, side } = request
          const filters = [order_id, order_link_id, statuses?.toSorted().join(), side]
          return readBySymbol(caller, "order/history", request, filters, (query) =>
            history.orders({ ...query, order_id, order_link_id, side, statuses })
          )
        },
        executions: (caller, request) => {
          const { exec_type, order_id, order_link_id, side } = request
          const filters = [order_id, exec_type, order_link_id, side]
          return readBySymbol(caller, "execution/list", request, filters, (query) =>
            history.executions({ ...query, order_id, exec_type, order_link_id, side })
          )
        },
        executionsAt: Effect.fnUntraced(function* (caller, request) {
          const { page = 1, per_page = PER_PAGE_DEFAULT, symbol } = request
          const offset = (page - 1) * per_page
          yield* checkSymbol(symbol)
          if (offset + per_page > OFFSET_MAX) return yield* Effect.fail(tooDeep)
          const sub_accounts = yield* addresses(caller, request)
          yield* readable(caller)
          const query = { user_id: caller.user_id, sub_accounts, symbol, limit: per_page, offset }
          const { rows, total } = yield* history.executionsAt(query)
          if (rows.length < Math.min(per_page, total - offset)) return yield* Effect.fail(tooDeep)
          return { list: rows, page, per_page, total, total_pages: Math.ceil(total / per_page) }
        }),
        closedPnls: (caller, request) => {
          const { order_id } = request
          return readBySymbol(caller, "position/closed-pnl", request, [order_id], (query) =>
            history.closedPnls({ ...query, order_id })
          )
        },
        fundingPayments: (caller, request) =>
          readBySymbol(caller, "account/funding", request, NO_FILTERS, history.fundingPayments),
        transactions: (caller, request) => {
          const { type } = request
          return readBySymbol(caller, "account/transactions", request, [type], (query) =>
            history.transactions({ ...query, type })
          )
        },
        transfers: (caller, request) => movements(caller, "account/transfer", request, "transfer", transferOf),
        deposits: (caller, request) => movements(caller, "account/deposits", request, "deposit", depositOf),
        withdrawals: (caller, request) => movements(caller, "account/withdrawals", request, "withdrawal", withdrawalOf)
      })
    })
  )
}
