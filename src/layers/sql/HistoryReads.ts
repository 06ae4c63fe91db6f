/** The reads of the read model in SQL: lists, latest records and stream positions. The ledger's are in `LedgerReads`. */
import { Effect } from "effect"
import type { Movement } from "../../domain/Movement.ts"
import type { IntervalCandle } from "../../domain/Candles.ts"
import type { Execution } from "../../domain/Execution.ts"
import type { Candle, Instrument, PublicTrade } from "../../domain/Market.ts"
import type { Order } from "../../domain/Order.ts"
import type { CandleKind, StreamHead } from "../../domain/Projection.ts"
import type { SubAccountState } from "../../domain/User.ts"
import type { ExecutionQuery, History, LastRecord, UserEvent } from "../../services/History.ts"
import { executionRange, movementRange, orderRange } from "./HistoryRanges.ts"
import { decode, type RecordRow, type Tables, Where } from "./Tables.ts"
import { eventOf } from "./UserEventLines.ts"

/** Batches of a user's events per read. */
const BATCHES_READ = 256

type Reads = Pick<
  History["Service"],
  | "orders"
  | "order"
  | "executions"
  | "executionsAfter"
  | "lastExecution"
  | "movements"
  | "subAccounts"
  | "instruments"
  | "trades"
  | "candles"
  | "lastCandles"
  | "streamHeads"
  | "userEvents"
  | "lastRecords"
>

/** Orders, executions, movements and sub-accounts. */
const accountReads = ({
  list,
  merged,
  query
}: Tables): Pick<
  Reads,
  "orders" | "order" | "executions" | "executionsAfter" | "lastExecution" | "movements" | "subAccounts"
> => {
  /** Ids of the user's orders with this reference. */
  const orderIdsOf = (filters: ExecutionQuery & { readonly order_link_id: string }) => {
    const where = new Where()
      .and("user_id = ? AND order_link_id = ?", filters.user_id, filters.order_link_id)
      .when(filters.order_id, "order_id = ?")
      .among("sub_account_address", filters.sub_accounts)
    return Effect.map(
      query<{ readonly order_id: string }>(`SELECT order_id FROM orders WHERE ${where}`, where.values),
      (rows) => rows.map(({ order_id }) => order_id)
    )
  }
  return {
    orders: (filters) => list<Order>(orderRange(filters), filters),
    order: ({ user_id, sub_account_address, order_id, order_link_id }) => {
      const where = new Where().and("user_id = ? AND sub_account_address = ?", user_id, sub_account_address)
      if (order_id !== undefined) where.and("order_id = ?", order_id)
      if (order_link_id !== undefined) where.and("order_link_id = ?", order_link_id)
      return Effect.map(
        query<RecordRow>(`SELECT record FROM orders WHERE ${where} ORDER BY id DESC LIMIT 1`, where.values),
        ([row]) => row && decode<Order>(row)
      )
    },
    executions: Effect.fnUntraced(function* (filters) {
      if (filters.order_link_id === undefined) return yield* list<Execution>(executionRange(filters), filters)
      // a reference is unique in a sub-account: it names at most one order in each
      const orders = yield* orderIdsOf({ ...filters, order_link_id: filters.order_link_id })
      return yield* merged<Execution>(
        orders.map((order_id) => executionRange({ ...filters, order_id })),
        filters
      )
    }),
    executionsAfter: (id, limit) =>
      Effect.map(
        query<RecordRow & { readonly id: number; readonly user_id: string }>(
          "SELECT id, user_id, record FROM executions WHERE id > ? ORDER BY id LIMIT ?",
          [id, limit]
        ),
        (rows) => rows.map((row) => ({ id: row.id, user_id: row.user_id, execution: decode<Execution>(row) }))
      ),
    lastExecution: Effect.map(
      query<{ readonly id: number | null }>("SELECT MAX(id) AS id FROM executions"),
      ([row]) => row?.id ?? 0
    ),
    movements: (filters) => list<Movement>(movementRange(filters), filters),
    subAccounts: (user_id) =>
      Effect.map(
        query<RecordRow>("SELECT record FROM known_sub_accounts WHERE user_id = ? ORDER BY place", [user_id]),
        (rows) => rows.map(decode<SubAccountState>)
      )
  }
}

/** Instruments, trades and candles. */
const marketReads = ({ query }: Tables): Pick<Reads, "instruments" | "trades" | "candles" | "lastCandles"> => ({
  instruments: Effect.map(query<RecordRow>("SELECT record FROM instruments ORDER BY place, symbol"), (rows) =>
    rows.map(decode<Instrument>)
  ),
  trades: (symbol, limit) =>
    Effect.map(
      query<RecordRow>("SELECT record FROM trades WHERE symbol = ? ORDER BY id DESC, n DESC LIMIT ?", [symbol, limit]),
      (rows) => rows.map(decode<PublicTrade>)
    ),
  candles: ({ kind, symbol, interval, start, end, limit }) =>
    Effect.map(
      // the open candle first: if it closes between the two reads, the closed one is in the second
      Effect.all([
        query<RecordRow>("SELECT record FROM last_candles WHERE kind = ? AND symbol = ?", [kind, symbol]),
        query<RecordRow>(
          `SELECT record FROM candles WHERE kind = ? AND symbol = ? AND span = ? AND start_time >= ? AND start_time < ?
           ORDER BY start_time DESC LIMIT ?`,
          [kind, symbol, interval, start, end, limit]
        )
      ]),
      ([[heads], rows]) => {
        const closed = rows.map(decode<Candle>)
        const open =
          heads && decode<ReadonlyArray<IntervalCandle>>(heads).find((each) => each.interval === interval)?.candle
        if (open === undefined || open.confirm || open.start_time < start || open.start_time >= end) return closed
        // it has closed between the two reads, and perhaps later ones with it
        const isOutdated = closed[0] !== undefined && closed[0].start_time >= open.start_time
        return isOutdated ? closed : [open, ...closed].slice(0, limit)
      }
    ),
  lastCandles: Effect.map(
    query<RecordRow & { readonly kind: CandleKind; readonly symbol: string }>(
      "SELECT kind, symbol, record FROM last_candles"
    ),
    (rows) =>
      rows.map((row) => ({ kind: row.kind, symbol: row.symbol, last: decode<ReadonlyArray<IntervalCandle>>(row) }))
  )
})

/** Users' events and the positions of their streams. */
const streamReads = ({ query }: Tables): Pick<Reads, "streamHeads" | "userEvents" | "lastRecords"> => ({
  streamHeads: Effect.map(
    query<Omit<StreamHead, "topics"> & StreamHead["topics"]>(
      `SELECT user_id, seq, order_seq AS "order", execution_seq AS execution, position_seq AS position,
         balance_seq AS account_balance FROM stream_heads`
    ),
    (rows) => rows.map(({ user_id, seq, ...topics }) => ({ user_id, seq, topics }))
  ),
  userEvents: Effect.fnUntraced(function* (user_id, after, limit) {
    const events: Array<UserEvent> = []
    let from = after
    while (events.length < limit) {
      const rows = yield* query<{ readonly seq: number; readonly events: string }>(
        "SELECT seq, events FROM user_events WHERE user_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        [user_id, from, Math.min(limit - events.length, BATCHES_READ)]
      )
      for (const row of rows) {
        from = row.seq
        const lines = row.events.split("\n")
        lines.forEach((line, i) => {
          const seq = from - lines.length + 1 + i
          if (seq > after && events.length < limit) events.push(eventOf(line, seq))
        })
      }
      if (rows.length < BATCHES_READ) break
    }
    return events
  }),
  lastRecords: (user_id, topic) =>
    query<LastRecord>(
      `SELECT user_id, topic, sub_account_address, subject, seq, record FROM last_seqs
       WHERE user_id = ?${topic === undefined ? "" : " AND topic = ?"} AND record IS NOT NULL`,
      topic === undefined ? [user_id] : [user_id, topic]
    )
})

export const make = (tables: Tables): Reads => ({
  ...accountReads(tables),
  ...marketReads(tables),
  ...streamReads(tables)
})
