/**
 * Policy: the lists of a user's past: orders, executions, transfers, page by page.
 *
 * Source: contract 1.4 (spans), 1.7, 3.4, 3.5, 3.7.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { Transfer } from "../domain/Account.ts"
import { type ExecType, OrderStatus } from "../domain/Enumerations.ts"
import type { Execution } from "../domain/Execution.ts"
import { isOpen, type Order } from "../domain/Order.ts"
import { LIMIT_DEFAULT, type Rows } from "../domain/Page.ts"
import { DAY_MS } from "../domain/Time.ts"
import type { Caller } from "../domain/User.ts"
import { Cursors, type List, parseRowKey, printRowKey } from "./Cursors.ts"
import { Gate } from "./Gate.ts"
import { History, type ListQuery } from "./History.ts"
import { MarketView } from "./MarketView.ts"
import { Refused } from "./Refused.ts"
import { type SubAccountFailure, SubAccounts } from "./SubAccounts.ts"
import { UserStreams } from "./UserStreams.ts"

/** Span of a history query that names only one bound, and the longest one. */
export const SPAN_DEFAULT_MS = 7 * DAY_MS
export const SPAN_MAX_MS = 90 * DAY_MS

export interface ListAsked {
  readonly sub_account_address?: string
  readonly symbol?: string
  readonly limit?: number
  readonly cursor?: string
}
export interface SpanAsked {
  readonly start_time?: number
  readonly end_time?: number
}
export interface OpenOrdersAsked extends ListAsked {
  readonly order_id?: string
  readonly order_link_id?: string
}
export interface OrdersAsked extends OpenOrdersAsked, SpanAsked {
  readonly order_status?: ReadonlyArray<OrderStatus>
}
export interface ExecutionsAsked extends ListAsked, SpanAsked {
  readonly order_id?: string
  readonly exec_type?: ExecType
}

export interface Page<A> {
  readonly list: ReadonlyArray<A>
  readonly next_page_cursor: string
}

/** What a list says of the user stream that it holds; contract 5.8. */
export interface StreamMark {
  readonly stream_id: string
  readonly seq: number
}

type Listed<A> = Effect.Effect<Page<A>, SubAccountFailure>

/**
 * The bounds of a history query. Without either it is unbounded, so that plain paging reaches the first record; with
 * one, the other is 7 days away or now.
 */
export const spanOf = (asked: SpanAsked, now: number): { readonly start?: number; readonly end?: number } | Refused => {
  if (asked.start_time === undefined && asked.end_time === undefined) return {}
  const end = asked.end_time ?? now
  const start = asked.start_time ?? Math.max(0, end - SPAN_DEFAULT_MS)
  if (start > end) {
    return new Refused("OutOfRange", { field: "start_time", max: end }, "start_time lies after end_time")
  }
  if (end - start > SPAN_MAX_MS) {
    return new Refused("OutOfRange", { field: "start_time", min: end - SPAN_MAX_MS }, "a span is at most 90 days")
  }
  return { start, end }
}

const noSymbol = new Refused("SymbolNotFound", { field: "symbol" })
const openStatuses = OrderStatus.literals.filter(isOpen)

export class Lists extends Context.Service<
  Lists,
  {
    readonly openOrders: (
      caller: Caller,
      asked: OpenOrdersAsked
    ) => Effect.Effect<Page<Order> & StreamMark, SubAccountFailure>
    readonly orders: (caller: Caller, asked: OrdersAsked) => Listed<Order>
    readonly executions: (caller: Caller, asked: ExecutionsAsked) => Listed<Execution>
    readonly transfers: (caller: Caller, asked: ListAsked) => Listed<Transfer>
  }
>()("gateway/services/Lists") {
  static readonly layer: Layer.Layer<Lists, never, Cursors | Gate | History | MarketView | SubAccounts | UserStreams> =
    Layer.effect(
      Lists,
      Effect.gen(function* () {
        const cursors = yield* Cursors
        const gate = yield* Gate
        const history = yield* History
        const markets = yield* MarketView
        const subAccounts = yield* SubAccounts
        const streams = yield* UserStreams

        /** What all lists have in common: whose rows, since when, after which. */
        const queryOf = Effect.fnUntraced(function* (caller: Caller, asked: ListAsked & SpanAsked, list: List) {
          if (
            asked.symbol !== undefined &&
            markets.instrument(asked.symbol) === undefined &&
            markets.instruments().length > 0
          ) {
            return yield* Effect.fail(noSymbol)
          }
          const after = yield* cursors.read(list, asked.cursor)
          const span = spanOf(asked, yield* Clock.currentTimeMillis)
          if (span instanceof Refused) return yield* Effect.fail(span)
          // every row of a user is on record with the user: only a narrower view needs the addresses
          const narrow = asked.sub_account_address !== undefined || caller.bound_to !== undefined
          const query: ListQuery = {
            user_id: caller.user_id,
            sub_accounts: narrow ? yield* subAccounts.resolve(caller, asked.sub_account_address) : undefined,
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

        const listOf = (
          caller: Caller,
          endpoint: string,
          asked: ListAsked & SpanAsked,
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

        return Lists.of({
          openOrders: Effect.fnUntraced(function* (caller, asked) {
            const list = listOf(caller, "order/realtime", asked, asked.order_id, asked.order_link_id)
            const query = yield* queryOf(caller, asked, list)
            yield* gate.sequencer
            // the mark is read first: the list then holds every event up to it, and perhaps later ones
            const mark = { stream_id: streams.streamId(), seq: streams.head(caller.user_id) }
            const rows = yield* history.orders({
              ...query,
              order_id: asked.order_id,
              order_link_id: asked.order_link_id,
              statuses: openStatuses
            })
            return { ...pageOf(list, rows), ...mark }
          }),
          orders: Effect.fnUntraced(function* (caller, asked) {
            const statuses = asked.order_status
            const list = listOf(
              caller,
              "order/history",
              asked,
              asked.order_id,
              asked.order_link_id,
              statuses?.toSorted().join()
            )
            const query = yield* queryOf(caller, asked, list)
            yield* gate.sequencer
            const rows = yield* history.orders({
              ...query,
              order_id: asked.order_id,
              order_link_id: asked.order_link_id,
              statuses
            })
            return pageOf(list, rows)
          }),
          executions: Effect.fnUntraced(function* (caller, asked) {
            const list = listOf(caller, "execution/list", asked, asked.order_id, asked.exec_type)
            const query = yield* queryOf(caller, asked, list)
            yield* gate.sequencer
            const rows = yield* history.executions({ ...query, order_id: asked.order_id, exec_type: asked.exec_type })
            return pageOf(list, rows)
          }),
          transfers: Effect.fnUntraced(function* (caller, asked) {
            const list = listOf(caller, "account/transfer", asked)
            const query = yield* queryOf(caller, asked, list)
            yield* gate.sequencer
            const rows = yield* history.movements({ ...query, kind: "transfer" })
            const page = pageOf(list, rows)
            return {
              ...page,
              list: page.list.map((movement) => ({
                transfer_id: movement.transfer_id,
                from_sub_account_address: movement.from_sub_account_address!,
                to_sub_account_address: movement.to_sub_account_address!,
                asset: movement.asset,
                amount: movement.amount,
                status: movement.status,
                created_time: movement.created_time,
                updated_time: movement.updated_time
              }))
            }
          })
        })
      })
    )
}
