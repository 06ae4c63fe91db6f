/**
 * Policy: the lists of a user's past: orders, executions, closed PnL, movements of money, page by page.
 *
 * Source: docs/contract/conventions.md#time-ranges, #paging, docs/contract/rest-trading.md#order-endpoints,
 * #executions, docs/contract/rest-account.md.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { Deposit, Movement, Transfer, Withdrawal } from "../../domain/Account.ts"
import type { ClosedPnl } from "../../domain/ClosedPnl.ts"
import { type ExecType, OrderStatus, type Side, type TransactionType } from "../../domain/Enumerations.ts"
import type { Execution } from "../../domain/Execution.ts"
import type { FundingPayment } from "../../domain/Funding.ts"
import { isOpen, type Order } from "../../domain/Order.ts"
import { LIMIT_DEFAULT, type Rows } from "../../domain/Page.ts"
import { DAY_MS } from "../../domain/Time.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { Caller } from "../../domain/User.ts"
import { Cursors, type List, parseRowKey, printRowKey } from "../operations/Cursors.ts"
import { BackendAvailability } from "../operations/BackendAvailability.ts"
import { History, type HistoryUnavailable, type ListQuery, OFFSET_MAX } from "../History.ts"
import { MarketView } from "../markets/MarketView.ts"
import { ReadYourWrites } from "./ReadYourWrites.ts"
import { DomainError } from "../DomainError.ts"
import { type SubAccountFailure, SubAccounts } from "../identity/SubAccounts.ts"
import { UserStreams } from "./UserStreams.ts"

/** Span of a history query that names only its end. */
export const SPAN_DEFAULT_MS = 7 * DAY_MS

export interface ListRequest {
  readonly sub_account_address?: string
  readonly symbol?: string
  readonly limit?: number
  readonly cursor?: string
}
export interface SpanRequest {
  readonly start_time?: number
  readonly end_time?: number
}
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

/** Rows a page of the one list by offset. */
const PER_PAGE_DEFAULT = 20

/** A page of the one list by offset. */
export interface OffsetPage<A> {
  readonly list: ReadonlyArray<A>
  readonly page: number
  readonly per_page: number
  readonly total: number
  readonly total_pages: number
}

export interface Page<A> {
  readonly list: ReadonlyArray<A>
  readonly next_page_cursor: string
  /** JSON text of each row of the list, where it is listed as the history keeps it. */
  readonly texts?: ReadonlyArray<string> | undefined
}

/** What a list says of the user stream that it holds; docs/contract/websocket.md#lists-and-the-stream. */
export interface StreamMark {
  readonly stream_id: string
  readonly seq: number
}

type Listed<A> = Effect.Effect<Page<A>, SubAccountFailure>

/**
 * The bounds of a history query. Without either it is unbounded, so that plain paging reaches the first record. The end is
 * now by default; the start, where only the end is given, 7 days before it. A span has no maximum: the cursor bounds the work.
 * Source: docs/contract/conventions.md#times, #time-ranges.
 */
export const spanOf = (
  asked: SpanRequest,
  now: number
): { readonly start?: number; readonly end?: number } | DomainError => {
  if (asked.start_time === undefined && asked.end_time === undefined) return {}
  const end = asked.end_time ?? now
  const start = asked.start_time ?? Math.max(0, end - SPAN_DEFAULT_MS)
  if (start > end) {
    return new DomainError(
      "OutOfRange",
      { field: "start_time", max: end },
      `expected a time no later than the end of the span, ${end}`
    )
  }
  return { start, end }
}

const tooDeep = new DomainError(
  "OutOfRange",
  { field: "page" },
  `expected a page within the newest ${OFFSET_MAX} executions; /execution/list lists all`
)

const transferOf = (movement: Movement): Transfer => ({
  transfer_id: movement.transfer_id,
  from_sub_account_address: movement.from_sub_account_address!,
  to_sub_account_address: movement.to_sub_account_address!,
  asset: movement.asset,
  amount: movement.amount,
  status: movement.status,
  created_time: movement.created_time,
  updated_time: movement.updated_time
})
const depositOf = (movement: Movement): Deposit => ({
  deposit_id: movement.transfer_id,
  sub_account_address: movement.to_sub_account_address!,
  asset: movement.asset,
  amount: movement.amount,
  status: movement.status,
  source: movement.reference === "faucet" ? "faucet" : "rail",
  created_time: movement.created_time,
  updated_time: movement.updated_time
})
const withdrawalOf = (movement: Movement): Withdrawal => ({
  withdrawal_id: movement.transfer_id,
  sub_account_address: movement.from_sub_account_address!,
  asset: movement.asset,
  amount: movement.amount,
  status: movement.status,
  destination: movement.reference,
  created_time: movement.created_time,
  updated_time: movement.updated_time
})

const noSymbol = new DomainError("SymbolNotFound", { field: "symbol" })
const openStatuses = OrderStatus.literals.filter(isOpen)

export class HistoryQueries extends Context.Service<
  HistoryQueries,
  {
    readonly openOrders: (
      caller: Caller,
      asked: OpenOrdersRequest
    ) => Effect.Effect<Page<Order> & StreamMark, SubAccountFailure>
    readonly orders: (caller: Caller, asked: OrdersRequest) => Listed<Order>
    readonly executions: (caller: Caller, asked: ExecutionsRequest) => Listed<Execution>
    /** By offset, as an earlier version of the API listed them. */
    readonly executionsAt: (
      caller: Caller,
      asked: OffsetRequest
    ) => Effect.Effect<OffsetPage<Execution>, SubAccountFailure>
    readonly closedPnls: (caller: Caller, asked: ClosedPnlsRequest) => Listed<ClosedPnl>
    readonly fundingPayments: (caller: Caller, asked: ListRequest & SpanRequest) => Listed<FundingPayment>
    readonly transactions: (caller: Caller, asked: TransactionsRequest) => Listed<Transaction>
    readonly transfers: (caller: Caller, asked: ListRequest) => Listed<Transfer>
    readonly deposits: (caller: Caller, asked: ListRequest) => Listed<Deposit>
    readonly withdrawals: (caller: Caller, asked: ListRequest) => Listed<Withdrawal>
  }
>()("gateway/services/Lists") {
  static readonly layer: Layer.Layer<
    HistoryQueries,
    never,
    Cursors | BackendAvailability | History | MarketView | ReadYourWrites | SubAccounts | UserStreams
  > = Layer.effect(
    HistoryQueries,
    Effect.gen(function* () {
      const cursors = yield* Cursors
      const gate = yield* BackendAvailability
      const history = yield* History
      const markets = yield* MarketView
      const ownWrites = yield* ReadYourWrites
      const subAccounts = yield* SubAccounts
      const streams = yield* UserStreams

      const known = (symbol: string | undefined): Effect.Effect<void, DomainError> =>
        symbol !== undefined && markets.instrument(symbol) === undefined && markets.instruments().length > 0
          ? Effect.fail(noSymbol)
          : Effect.void
      // every row of a user is on record with the user: only a narrower view needs the addresses
      const addresses = (caller: Caller, asked: ListRequest) =>
        asked.sub_account_address !== undefined || caller.bound_to !== undefined
          ? subAccounts.resolve(caller, asked.sub_account_address)
          : Effect.undefined

      /** What all lists have in common: whose rows, since when, after which. */
      const queryOf = Effect.fnUntraced(function* (caller: Caller, asked: ListRequest & SpanRequest, list: List) {
        yield* known(asked.symbol)
        const after = yield* cursors.read(list, asked.cursor)
        const span = spanOf(asked, yield* Clock.currentTimeMillis)
        if (span instanceof DomainError) return yield* Effect.fail(span)
        const query: ListQuery = {
          user_id: caller.user_id,
          sub_accounts: yield* addresses(caller, asked),
          symbol: asked.symbol,
          start_time: span.start,
          end_time: span.end,
          limit: asked.limit ?? LIMIT_DEFAULT,
          after: parseRowKey(after)
        }
        return query
      })

      const pageOf = <A>(list: List, rows: Rows<A>): Page<A> => ({
        list: rows.rows,
        next_page_cursor: cursors.print(list, printRowKey(rows.next))
      })
      /** The same, with its rows left alone: a list that is joined from their texts is never decoded. */
      const keptPageOf = <A>(list: List, rows: Rows<A>): Page<A> => ({
        get list() {
          return rows.rows
        },
        next_page_cursor: cursors.print(list, printRowKey(rows.next)),
        texts: rows.texts
      })

      const listOf = (
        caller: Caller,
        endpoint: string,
        asked: ListRequest & SpanRequest,
        ...filters: List["filters"]
      ): List => ({
        endpoint,
        filters: [
          caller.user_id,
          caller.bound_to === undefined ? undefined : [...caller.bound_to].sort().join(),
          asked.sub_account_address,
          asked.symbol,
          asked.start_time,
          asked.end_time,
          ...filters
        ]
      })

      /** A page of a plain list. */
      const read = Effect.fnUntraced(function* <A>(
        caller: Caller,
        endpoint: string,
        asked: ListRequest & SpanRequest,
        filter: string | undefined,
        rows: (query: ListQuery) => Effect.Effect<Rows<A>, HistoryUnavailable>
      ) {
        const list = listOf(caller, endpoint, asked, filter)
        const query = yield* queryOf(caller, asked, list)
        yield* gate.sequencer
        return pageOf(list, yield* rows(query))
      })
      /**
       * A page of movements of one kind, as its records. A bound key lists the transfers that it might have made: the other
       * side of any other is not its business, and what reached or left its own shows among the transactions.
       */
      const moved = <A>(
        caller: Caller,
        endpoint: string,
        asked: ListRequest,
        kind: Movement["kind"],
        recordOf: (movement: Movement) => A
      ) =>
        Effect.map(
          read(caller, endpoint, asked, undefined, (query) => {
            const within = kind === "transfer" && caller.bound_to !== undefined ? [...caller.bound_to] : undefined
            return history.movements({ ...query, kind, within })
          }),
          (page) => ({ ...page, list: page.list.map(recordOf) })
        )

      return HistoryQueries.of({
        openOrders: Effect.fnUntraced(function* (caller, asked) {
          const list = listOf(caller, "order/realtime", asked, asked.order_id, asked.order_link_id, asked.side)
          const query = yield* queryOf(caller, asked, list)
          yield* gate.sequencer
          yield* ownWrites.held(caller.user_id)
          // the mark is read first: the list then holds every event up to it, and perhaps later ones
          const mark = { stream_id: streams.streamId(), seq: streams.head(caller.user_id) }
          const rows = yield* history.orders({
            ...query,
            order_id: asked.order_id,
            order_link_id: asked.order_link_id,
            side: asked.side,
            statuses: openStatuses
          })
          return Object.assign(keptPageOf(list, rows), mark)
        }),
        orders: Effect.fnUntraced(function* (caller, asked) {
          const statuses = asked.order_status
          const list = listOf(
            caller,
            "order/history",
            asked,
            asked.order_id,
            asked.order_link_id,
            statuses?.toSorted().join(),
            asked.side
          )
          const query = yield* queryOf(caller, asked, list)
          yield* gate.sequencer
          yield* ownWrites.held(caller.user_id)
          const rows = yield* history.orders({
            ...query,
            order_id: asked.order_id,
            order_link_id: asked.order_link_id,
            side: asked.side,
            statuses
          })
          return keptPageOf(list, rows)
        }),
        executions: Effect.fnUntraced(function* (caller, asked) {
          const { exec_type, order_id, order_link_id, side } = asked
          const list = listOf(caller, "execution/list", asked, order_id, exec_type, order_link_id, side)
          const query = yield* queryOf(caller, asked, list)
          yield* gate.sequencer
          const rows = yield* history.executions({ ...query, order_id, exec_type, order_link_id, side })
          return keptPageOf(list, rows)
        }),
        executionsAt: Effect.fnUntraced(function* (caller, asked) {
          const { page = 1, per_page = PER_PAGE_DEFAULT, symbol } = asked
          const offset = (page - 1) * per_page
          yield* known(symbol)
          if (offset + per_page > OFFSET_MAX) return yield* Effect.fail(tooDeep)
          const sub_accounts = yield* addresses(caller, asked)
          yield* gate.sequencer
          const query = { user_id: caller.user_id, sub_accounts, symbol, limit: per_page, offset }
          const { rows, total } = yield* history.executionsAt(query)
          if (rows.length < Math.min(per_page, total - offset)) return yield* Effect.fail(tooDeep)
          return { list: rows, page, per_page, total, total_pages: Math.ceil(total / per_page) }
        }),
        closedPnls: (caller, asked) =>
          read(caller, "position/closed-pnl", asked, asked.order_id, (query) =>
            history.closedPnls({ ...query, order_id: asked.order_id })
          ),
        fundingPayments: (caller, asked) => read(caller, "account/funding", asked, undefined, history.fundingPayments),
        transactions: (caller, asked) =>
          read(caller, "account/transactions", asked, asked.type, (query) =>
            history.transactions({ ...query, type: asked.type })
          ),
        transfers: (caller, asked) => moved(caller, "account/transfer", asked, "transfer", transferOf),
        deposits: (caller, asked) => moved(caller, "account/deposits", asked, "deposit", depositOf),
        withdrawals: (caller, asked) => moved(caller, "account/withdrawals", asked, "withdrawal", withdrawalOf)
      })
    })
  )
}
