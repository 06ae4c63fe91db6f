/**
 * The read model in SQL, the same on SQLite and PostgreSQL.
 *
 * A commit is a handful of many-row statements in one transaction, whose first one moves the position and finds out in
 * passing whether the projection is the next one. Texts of statements are made once; rows carry the JSON text of their
 * record, so nothing is encoded here but what the projection has not.
 */
import { Effect, Layer } from "effect"
import { Migrator, SqlClient, type SqlConnection, SqlError } from "effect/sql"
import type { Movement } from "../../domain/Account.ts"
import type { IntervalCandle } from "../../domain/Candles.ts"
import { OrderStatus } from "../../domain/Enumerations.ts"
import type { Execution } from "../../domain/Execution.ts"
import type { Candle, Instrument, PublicTrade } from "../../domain/Market.ts"
import { isOpen, type Order } from "../../domain/Order.ts"
import type { CandleKind, ModelPosition, OrderRow, Projection } from "../../domain/Projection.ts"
import type { PrivateTopic } from "../../domain/Topic.ts"
import type { SubAccountState } from "../../domain/User.ts"
import {
  type ExecutionQuery,
  History,
  HistoryUnavailable,
  type LastRecord,
  type OrderQuery,
  ProjectionRefused,
  TRADES_KEPT,
  UserEventsKept,
  type UserEvent
} from "../../services/History.ts"
import { dialect } from "./Dialect.ts"
import * as SqlLedger from "./SqlLedger.ts"
import * as Tables from "./Tables.ts"
import { type Ranged, type RecordRow, type Row, Where } from "./Tables.ts"
import { history as migrations } from "./migrations/history.ts"

/** Old rows of a user or market are looked for once in so many new ones. */
const PRUNE_EVERY = 1_024
/** In how many statuses an order is open. */
const OPEN_STATUSES = OrderStatus.literals.filter(isOpen).length
/** Batches of a user's events that are read at once. */
const BATCHES_READ = 256

interface Position {
  readonly epoch: string
  readonly seq: number
  readonly began: number
  readonly ts_ms: number
  /** What makes a row's id of an event's seq: ids grow even where numbering starts anew. */
  readonly base: number
}

/** An event of a user as a line: JSON text holds no line break, and what stands before it no blank. */
const lineOf = ({ topic, prev_seq, sub_account_address, mts, record }: Omit<UserEvent, "seq">): string =>
  `${topic} ${prev_seq} ${sub_account_address} ${mts} ${record}`
const LINE = /^(\S+) (\S+) (\S+) (\S+) (.*)$/su
const eventOf = (line: string, seq: number): UserEvent => {
  const [, topic, prev_seq, sub_account_address, mts, record] = LINE.exec(line)!
  return {
    seq,
    topic: topic as PrivateTopic,
    prev_seq: Number(prev_seq),
    sub_account_address: sub_account_address!,
    mts: Number(mts),
    record: record!
  }
}

const decode = <A>(row: RecordRow): A => JSON.parse(row.record) as A

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const kept = yield* UserEventsKept
  const pruneEvery = Math.min(PRUNE_EVERY, kept.count)
  const { moment, statement } = yield* dialect
  const tables = yield* Tables.make
  const { list, merged, query, replace, writer } = tables

  const ledger = SqlLedger.make(tables)

  const writeOrders = writer(
    "orders",
    [
      "order_id",
      "id",
      "user_id",
      "sub_account_address",
      "symbol",
      "order_link_id",
      "status",
      "is_open",
      "created_time",
      "record",
      "side"
    ],
    replace("order_id", ["status", "is_open", "record"])
  )
  const writeExecutions = writer(
    "executions",
    [
      "id",
      "user_id",
      "sub_account_address",
      "symbol",
      "order_id",
      "exec_type",
      "exec_time",
      "record",
      "closing",
      "side"
    ],
    ""
  )
  const writeTrades = writer("trades", ["symbol", "id", "n", "record"], "")
  const writeCandles = writer(
    "candles",
    ["kind", "symbol", "span", "start_time", "record"],
    replace("kind, symbol, span, start_time", ["record"])
  )
  const writeLastCandles = writer("last_candles", ["kind", "symbol", "record"], replace("kind, symbol", ["record"]))
  const writeMovements = writer(
    "movements",
    ["user_id", "kind", "transfer_id", "id", "from_address", "to_address", "created_time", "record"],
    replace("user_id, kind, transfer_id", ["record"])
  )
  const writeSubAccounts = writer(
    "known_sub_accounts",
    ["sub_account_address", "user_id", "place", "record"],
    replace("sub_account_address", ["record"])
  )
  const writeInstruments = writer("instruments", ["symbol", "place", "record"], replace("symbol", ["record"]))
  const writeUserEvents = writer("user_events", ["user_id", "seq", "mts", "events"], "")
  const writeHeads = writer(
    "stream_heads",
    ["user_id", "seq", "order_seq", "execution_seq", "position_seq", "balance_seq"],
    replace("user_id", ["seq", "order_seq", "execution_seq", "position_seq", "balance_seq"])
  )
  const writeLastRecords = writer(
    "last_seqs",
    ["user_id", "topic", "sub_account_address", "subject", "seq", "record"],
    replace("user_id, topic, sub_account_address, subject", ["seq", "record"])
  )

  const begin = statement(
    `INSERT INTO history_position (one, epoch, seq, began, ts_ms, base) VALUES (1, ?, ?, ?, ?, ?)
     ON CONFLICT (one) DO NOTHING RETURNING base`
  )
  const advance = statement(
    `UPDATE history_position SET epoch = ?, seq = ?, began = ?, ts_ms = ? WHERE one = 1 AND epoch = ? AND seq = ? RETURNING base`
  )
  const renumber = statement(
    `UPDATE history_position SET epoch = ?, seq = ?, began = ?, ts_ms = ?, base = ? WHERE one = 1 AND epoch = ? AND seq = ?
     RETURNING base`
  )
  const pruneEvents = statement(
    `DELETE FROM user_events WHERE user_id = ? AND seq <= ?
     AND seq < (SELECT seq FROM user_events WHERE user_id = ? AND mts >= ? ORDER BY seq LIMIT 1)`
  )
  const pruneTrades = statement(
    `DELETE FROM trades WHERE symbol = ? AND id < (
      SELECT id FROM trades WHERE symbol = ? ORDER BY id DESC, n DESC LIMIT 1 OFFSET ${TRADES_KEPT - 1})`
  )

  const orderRow = ({ user_id, order, record }: Pick<OrderRow, "user_id" | "order" | "record">, id: number): Row => [
    order.order_id,
    id,
    user_id,
    order.sub_account_address,
    order.symbol,
    order.order_link_id ?? null,
    order.order_status,
    isOpen(order.order_status) ? 1 : 0,
    Number(order.created_time),
    record,
    order.side
  ]
  const subAccountRow = (account: SubAccountState): Row => [
    account.sub_account_address,
    account.user_id,
    account.index,
    JSON.stringify(account)
  ]
  const instrumentRows = (instruments: ReadonlyArray<Instrument>): ReadonlyArray<Row> =>
    instruments.map((instrument, i) => [instrument.symbol, i, JSON.stringify(instrument)])

  /** Runs with the one connection of a transaction. */
  const transaction = <A, E>(
    body: (connection: SqlConnection.Connection) => Effect.Effect<A, E | SqlError.SqlError>
  ): Effect.Effect<A, Exclude<E, SqlError.SqlError> | HistoryUnavailable> =>
    sql
      .withTransaction(Effect.flatMap(sql.transactionService, ([connection]) => body(connection)))
      .pipe(
        Effect.mapError((error) =>
          (error as { readonly _tag?: string })._tag === "SqlError" ? new HistoryUnavailable({ cause: error }) : error
        )
      ) as Effect.Effect<A, Exclude<E, SqlError.SqlError> | HistoryUnavailable>

  const readPosition = Effect.map(
    query<{ [K in keyof Position]: number | string }>(
      "SELECT epoch, seq, began, ts_ms, base FROM history_position WHERE one = 1"
    ),
    ([row]): Position | undefined =>
      row && {
        epoch: String(row.epoch),
        seq: Number(row.seq),
        began: Number(row.began),
        ts_ms: Number(row.ts_ms),
        base: Number(row.base)
      }
  )
  const position = Effect.map(readPosition, (row): ModelPosition | undefined => {
    if (row === undefined) return undefined
    const { base: _, ...standing } = row
    return standing
  })

  /** Trades of each market since its old ones were last looked for. */
  const newTrades = new Map<string, number>()

  const write = Effect.fnUntraced(function* (
    connection: SqlConnection.Connection,
    projection: Projection,
    base: number
  ) {
    const { orders, executions, trades, candles, movements, userEvents, heads } = projection
    if (orders.length > 0) {
      yield* writeOrders(
        connection,
        orders.map((row) => orderRow(row, base + row.seq))
      )
    }
    if (executions.length > 0) {
      yield* writeExecutions(
        connection,
        executions.map(({ user_id, seq, execution, record, closing }) => [
          base + seq,
          user_id,
          execution.sub_account_address,
          execution.symbol,
          execution.order_id,
          execution.exec_type,
          Number(execution.exec_time),
          record,
          closing === undefined ? null : JSON.stringify(closing),
          execution.side
        ])
      )
    }
    if (trades.length > 0) {
      yield* writeTrades(
        connection,
        trades.map(({ seq, trade }, n) => [trade.symbol, base + seq, n, JSON.stringify(trade)])
      )
      for (const { trade } of trades) newTrades.set(trade.symbol, (newTrades.get(trade.symbol) ?? 0) + 1)
      for (const [symbol, count] of newTrades) {
        if (count < PRUNE_EVERY) continue
        newTrades.delete(symbol)
        yield* connection.executeRaw(pruneTrades, [symbol, symbol])
      }
    }
    if (candles.length > 0) {
      yield* writeCandles(
        connection,
        candles.flatMap(({ kind, symbol, closed }) =>
          closed.map(({ interval, candle }) => [kind, symbol, interval, candle.start_time, JSON.stringify(candle)])
        )
      )
      yield* writeLastCandles(
        connection,
        candles.map(({ kind, symbol, last }) => [kind, symbol, JSON.stringify(last)])
      )
    }
    if (movements.length > 0) {
      yield* writeMovements(
        connection,
        movements.map(({ seq, movement }) => [
          movement.user_id,
          movement.kind,
          movement.transfer_id,
          base + seq,
          movement.from_sub_account_address ?? null,
          movement.to_sub_account_address ?? null,
          movement.created_time,
          JSON.stringify(movement)
        ])
      )
    }
    yield* ledger.write(connection, projection, base)
    yield* writeSubAccounts(connection, projection.subAccounts.map(subAccountRow))
    yield* writeInstruments(connection, instrumentRows(projection.instruments))
    if (userEvents.length > 0) {
      const last = new Map<string, Row>()
      const lines = new Map<string, Array<string>>()
      for (const event of userEvents) {
        const { user_id, topic, sub_account_address, subject, seq, record } = event
        const own = lines.get(user_id)
        if (own === undefined) lines.set(user_id, [lineOf(event)])
        else own.push(lineOf(event))
        if (subject === undefined) continue
        last.set(`${user_id}|${topic}|${sub_account_address}|${subject}`, [
          user_id,
          topic,
          sub_account_address,
          subject,
          seq,
          record
        ])
      }
      yield* writeUserEvents(
        connection,
        heads.map(({ user_id, seq }) => [user_id, seq, projection.position.ts_ms, lines.get(user_id)!.join("\n")])
      )
      yield* writeHeads(
        connection,
        heads.map(({ user_id, seq, topics }) => [
          user_id,
          seq,
          topics.order,
          topics.execution,
          topics.position,
          topics.account_balance
        ])
      )
      yield* writeLastRecords(connection, [...last.values()])
      for (const { user_id, seq } of heads) {
        if (seq <= kept.count || seq % pruneEvery >= lines.get(user_id)!.length) continue
        yield* connection.executeRaw(pruneEvents, [
          user_id,
          seq - kept.count,
          user_id,
          projection.position.ts_ms - kept.ms
        ])
      }
    }
  })

  /** Nothing is written where the model does not stand as was thought: whoever was there first has won. */
  const fenced = (write: Effect.Effect<void, HistoryUnavailable | ProjectionRefused>) =>
    Effect.catchTag(write, "ProjectionRefused", () =>
      Effect.flatMap(position, (standing) => Effect.fail(new ProjectionRefused({ position: standing })))
    )

  const commit = (projection: Projection) => {
    const { after, position: to } = projection
    const moved = [to.epoch, to.seq, to.began, to.ts_ms]
    return fenced(
      transaction((connection) =>
        Effect.flatMap(
          after === undefined
            ? connection.execute(begin, [...moved, 0], undefined)
            : connection.execute(advance, [...moved, after.epoch, after.seq], undefined),
          ([row]): Effect.Effect<void, SqlError.SqlError | ProjectionRefused> =>
            row === undefined
              ? Effect.fail(new ProjectionRefused({ position: undefined }))
              : write(connection, projection, Number((row as { readonly base: number | string }).base))
        )
      )
    )
  }

  const restart: History["Service"]["restart"] = (after, to, open) =>
    fenced(
      transaction((connection) =>
        Effect.gen(function* () {
          const from = yield* readPosition
          // ids go on growing: those of the open orders first, then those of the events to come
          const newest = from === undefined ? to.seq : from.base + from.seq
          const base = newest + open.orders.length - to.seq
          const moved = [to.epoch, to.seq, to.began, to.ts_ms, base]
          const [row] = yield* after === undefined
            ? connection.execute(begin, moved, undefined)
            : connection.execute(renumber, [...moved, after.epoch, after.seq], undefined)
          if (row === undefined) return yield* new ProjectionRefused({ position: undefined })
          yield* connection.executeRaw("DELETE FROM user_events", [])
          yield* connection.executeRaw("DELETE FROM stream_heads", [])
          yield* connection.executeRaw("DELETE FROM last_seqs", [])
          yield* connection.executeRaw("UPDATE orders SET is_open = 2 WHERE is_open = 1", [])
          yield* writeOrders(
            connection,
            open.orders.map((row, i) => orderRow(row, newest + 1 + i))
          )
          yield* connection.executeRaw("DELETE FROM orders WHERE is_open = 2", [])
          yield* writeSubAccounts(connection, open.subAccounts.map(subAccountRow))
          yield* writeInstruments(connection, instrumentRows(open.instruments))
          yield* writeLastRecords(
            connection,
            open.records.map((row) => [
              row.user_id,
              row.topic,
              row.sub_account_address,
              row.subject,
              row.seq,
              row.record
            ])
          )
        })
      )
    )

  const orderRange = (asked: OrderQuery): Ranged => {
    const { order_id, order_link_id, side, statuses, sub_accounts, symbol, user_id } = asked
    const on = { table: "orders", time: "created_time" }
    const filter = new Where()
      .among("sub_account_address", sub_accounts)
      .when(symbol, "symbol = ?")
      .when(side, "side = ?")
    const own = new Where().and("user_id = ?", user_id)
    // of one user and reference there are as many orders as there are sub-accounts
    if (order_id !== undefined || order_link_id !== undefined) {
      const range = own.when(order_id, "order_id = ?").when(order_link_id, "order_link_id = ?")
      return { ...on, range: range.with(filter.among("status", statuses)) }
    }
    if (statuses?.length === 1 && filter.isEmpty && !isOpen(statuses[0]!)) {
      return { ...on, index: "orders_final", range: own.and("status = ? AND is_open = 0", statuses[0]!) }
    }
    if (statuses !== undefined && statuses.length > 0 && statuses.every(isOpen)) {
      if (statuses.length < OPEN_STATUSES) filter.among("status", statuses)
      return { ...on, index: "orders_open", range: own.and("is_open = 1"), filter }
    }
    return { ...on, index: "orders_list", range: own, filter: filter.among("status", statuses) }
  }
  const executionRange = (asked: Omit<ExecutionQuery, "order_link_id">): Ranged => {
    const { exec_type, order_id, side, sub_accounts, symbol, user_id } = asked
    const filter = new Where()
      .among("sub_account_address", sub_accounts)
      .when(symbol, "symbol = ?")
      .when(exec_type, "exec_type = ?")
      .when(side, "side = ?")
    const on = { table: "executions", time: "exec_time", filter }
    const own = new Where().and("user_id = ?", user_id)
    return order_id === undefined
      ? { ...on, index: "executions_list", range: own }
      : { ...on, index: "executions_order", range: own.and("order_id = ?", order_id), covers: false }
  }
  const movementRange = (asked: Parameters<History["Service"]["movements"]>[0]): Ranged => {
    const { kind, sub_accounts, user_id, within } = asked
    const filter = new Where().among("from_address", within).among("to_address", within)
    if (sub_accounts !== undefined) {
      const either = ["from_address", "to_address"].map((column) => new Where().among(column, sub_accounts))
      filter.and(`(${either.join(" OR ")})`, ...either.flatMap(({ values }) => values))
    }
    const own = new Where().and("user_id = ?", user_id)
    const on = { table: "movements", time: "created_time", filter }
    return kind === undefined
      ? { ...on, index: "movements_list", range: own, covers: false }
      : { ...on, index: "movements_kind", range: own.and("kind = ?", kind) }
  }
  /** Ids of the orders that a user gave this reference. */
  const ordersNamed = (asked: ExecutionQuery & { readonly order_link_id: string }) => {
    const where = new Where()
      .and("user_id = ? AND order_link_id = ?", asked.user_id, asked.order_link_id)
      .when(asked.order_id, "order_id = ?")
      .among("sub_account_address", asked.sub_accounts)
    return Effect.map(
      query<{ readonly order_id: string }>(`SELECT order_id FROM orders WHERE ${where}`, where.values),
      (rows) => rows.map(({ order_id }) => order_id)
    )
  }

  return History.of({
    position,
    moment: (reads) =>
      moment(reads).pipe(
        Effect.catchIf(SqlError.isSqlError, (cause) => Effect.fail(new HistoryUnavailable({ cause })))
      ),
    commit,
    restart,
    ...ledger.reads,
    orders: (asked) => list<Order>(orderRange(asked), asked),
    order: ({ user_id, sub_account_address, order_id, order_link_id }) => {
      const where = new Where().and("user_id = ? AND sub_account_address = ?", user_id, sub_account_address)
      if (order_id !== undefined) where.and("order_id = ?", order_id)
      if (order_link_id !== undefined) where.and("order_link_id = ?", order_link_id)
      return Effect.map(
        query<RecordRow>(`SELECT record FROM orders WHERE ${where} ORDER BY id DESC LIMIT 1`, where.values),
        ([row]) => row && decode<Order>(row)
      )
    },
    executions: Effect.fnUntraced(function* (asked) {
      if (asked.order_link_id === undefined) return yield* list<Execution>(executionRange(asked), asked)
      // the reference is unique in a sub-account: it names as many orders as there are sub-accounts at most
      const orders = yield* ordersNamed({ ...asked, order_link_id: asked.order_link_id })
      return yield* merged<Execution>(
        orders.map((order_id) => executionRange({ ...asked, order_id })),
        asked
      )
    }),
    executionsAfter: (id, limit) =>
      Effect.map(
        query<RecordRow & { readonly id: number | string; readonly user_id: string }>(
          "SELECT id, user_id, record FROM executions WHERE id > ? ORDER BY id LIMIT ?",
          [id, limit]
        ),
        (rows) => rows.map((row) => ({ id: Number(row.id), user_id: row.user_id, execution: decode<Execution>(row) }))
      ),
    lastExecution: Effect.map(
      query<{ readonly id: number | string | null }>("SELECT MAX(id) AS id FROM executions"),
      ([row]) => Number(row?.id ?? 0)
    ),
    movements: (asked) => list<Movement>(movementRange(asked), asked),
    subAccounts: (user_id) =>
      Effect.map(
        query<RecordRow>("SELECT record FROM known_sub_accounts WHERE user_id = ? ORDER BY place", [user_id]),
        (rows) => rows.map(decode<SubAccountState>)
      ),
    instruments: Effect.map(query<RecordRow>("SELECT record FROM instruments ORDER BY place, symbol"), (rows) =>
      rows.map(decode<Instrument>)
    ),
    trades: (symbol, limit) =>
      Effect.map(
        query<RecordRow>("SELECT record FROM trades WHERE symbol = ? ORDER BY id DESC, n DESC LIMIT ?", [
          symbol,
          limit
        ]),
        (rows) => rows.map(decode<PublicTrade>)
      ),
    candles: ({ kind, symbol, interval, start, end, limit }) =>
      Effect.map(
        // the open one first: should it close in between, the closed one is among the others
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
          return closed[0]?.start_time === open.start_time ? closed : [open, ...closed].slice(0, limit)
        }
      ),
    lastCandles: Effect.map(
      query<RecordRow & { readonly kind: CandleKind; readonly symbol: string }>(
        "SELECT kind, symbol, record FROM last_candles"
      ),
      (rows) =>
        rows.map((row) => ({ kind: row.kind, symbol: row.symbol, last: decode<ReadonlyArray<IntervalCandle>>(row) }))
    ),
    streamHeads: Effect.map(
      query<{ readonly user_id: string; readonly [column: string]: number | string }>(
        "SELECT user_id, seq, order_seq, execution_seq, position_seq, balance_seq FROM stream_heads"
      ),
      (rows) =>
        rows.map((row) => ({
          user_id: row.user_id,
          seq: Number(row["seq"]),
          topics: {
            order: Number(row["order_seq"]),
            execution: Number(row["execution_seq"]),
            position: Number(row["position_seq"]),
            account_balance: Number(row["balance_seq"])
          }
        }))
    ),
    userEvents: Effect.fnUntraced(function* (user_id, after, limit) {
      const events: Array<UserEvent> = []
      let from = after
      while (events.length < limit) {
        const rows = yield* query<{ readonly seq: number | string; readonly events: string }>(
          "SELECT seq, events FROM user_events WHERE user_id = ? AND seq > ? ORDER BY seq LIMIT ?",
          [user_id, from, Math.min(limit - events.length, BATCHES_READ)]
        )
        for (const row of rows) {
          from = Number(row.seq)
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
      Effect.map(
        query<Omit<LastRecord, "seq"> & { readonly seq: number | string }>(
          `SELECT user_id, topic, sub_account_address, subject, seq, record FROM last_seqs
           WHERE user_id = ? AND topic = ? AND record IS NOT NULL`,
          [user_id, topic]
        ),
        (rows) => rows.map((row) => ({ ...row, seq: Number(row.seq) }))
      )
  })
})

/** Brings the tables up to date, then serves the read model from them. */
export const layer = Layer.effect(
  History,
  Effect.andThen(Migrator.make({})({ loader: migrations, table: "history_migrations" }), make)
)
