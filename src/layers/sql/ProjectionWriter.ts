/** The statements that write the rows of projections, many rows each. */
import type { Instrument } from "../../domain/Market.ts"
import { isOpen } from "../../domain/Order.ts"
import type { OrderRow, Projection } from "../../domain/Projection.ts"
import type { SubAccountState } from "../../domain/User.ts"
import { type History, TRADES_KEPT, type UserEventsKept } from "../../services/History.ts"
import type { Dialect } from "./Dialect.ts"
import * as LedgerWriter from "./LedgerWriter.ts"
import type { Row, Statement, Tables } from "./Tables.ts"
import { lineOf } from "./UserEventLines.ts"

/** New rows of a user or market between two deletions of old ones. */
const PRUNE_EVERY = 1_024

type Statements = ReadonlyArray<Statement>

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

/** The insert statements of the read model's tables. */
const writersOf = ({ replace, writer }: Tables) => ({
  orders: writer(
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
  ),
  executions: writer(
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
  ),
  trades: writer("trades", ["symbol", "id", "n", "record"], ""),
  candles: writer(
    "candles",
    ["kind", "symbol", "span", "start_time", "record"],
    replace("kind, symbol, span, start_time", ["record"])
  ),
  lastCandles: writer("last_candles", ["kind", "symbol", "record"], replace("kind, symbol", ["record"])),
  movements: writer(
    "movements",
    ["user_id", "kind", "transfer_id", "id", "from_address", "to_address", "created_time", "record"],
    replace("user_id, kind, transfer_id", ["record"])
  ),
  subAccounts: writer(
    "known_sub_accounts",
    ["sub_account_address", "user_id", "place", "record"],
    replace("sub_account_address", ["record"])
  ),
  instruments: writer("instruments", ["symbol", "place", "record"], replace("symbol", ["record"])),
  userEvents: writer("user_events", ["user_id", "seq", "mts", "events"], ""),
  heads: writer(
    "stream_heads",
    ["user_id", "seq", "order_seq", "execution_seq", "position_seq", "balance_seq"],
    replace("user_id", ["seq", "order_seq", "execution_seq", "position_seq", "balance_seq"])
  ),
  lastRecords: writer(
    "last_seqs",
    ["user_id", "topic", "sub_account_address", "subject", "seq", "record"],
    replace("user_id, topic, sub_account_address, subject", ["seq", "record"])
  )
})
type Writers = ReturnType<typeof writersOf>

const executionRows = (executions: Projection["executions"], base: number): ReadonlyArray<Row> =>
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

const movementRows = (movements: Projection["movements"], base: number): ReadonlyArray<Row> =>
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

const writeCandles = (writers: Writers, candles: Projection["candles"]): Statements => [
  ...writers.candles(
    candles.flatMap(({ kind, symbol, closed }) =>
      closed.map(({ interval, candle }) => [kind, symbol, interval, candle.start_time, JSON.stringify(candle)])
    )
  ),
  ...writers.lastCandles(candles.map(({ kind, symbol, last }) => [kind, symbol, JSON.stringify(last)]))
]

/** Writes trades, and deletes all but the newest {@link TRADES_KEPT} of a market from time to time. */
const tradesWriter = (writers: Writers, { statement }: Dialect) => {
  const prune = statement(
    `DELETE FROM trades WHERE symbol = ? AND id < (
      SELECT id FROM trades WHERE symbol = ? ORDER BY id DESC, n DESC LIMIT 1 OFFSET ${TRADES_KEPT - 1})`
  )
  /** New trades of each market since its old ones were deleted. */
  const newTrades = new Map<string, number>()
  return (trades: Projection["trades"], base: number): Statements => {
    const statements = [
      ...writers.trades(trades.map(({ seq, trade }, n) => [trade.symbol, base + seq, n, JSON.stringify(trade)]))
    ]
    for (const { trade } of trades) newTrades.set(trade.symbol, (newTrades.get(trade.symbol) ?? 0) + 1)
    for (const [symbol, count] of newTrades) {
      if (count < PRUNE_EVERY) continue
      newTrades.delete(symbol)
      statements.push([prune, [symbol, symbol]])
    }
    return statements
  }
}

/** The lines of each user's events, and the last record of each subject. */
const groupEvents = (userEvents: Projection["userEvents"]) => {
  const lines = new Map<string, Array<string>>()
  const last = new Map<string, Row>()
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
  return { lines, last: [...last.values()] }
}

/** Writes users' events, and deletes those beyond the retention from time to time. */
const userEventsWriter = (writers: Writers, { statement }: Dialect, kept: (typeof UserEventsKept)["Service"]) => {
  const pruneEvery = Math.min(PRUNE_EVERY, kept.count)
  const prune = statement(
    `DELETE FROM user_events WHERE user_id = ? AND seq <= ?
     AND seq < (SELECT seq FROM user_events WHERE user_id = ? AND mts >= ? ORDER BY seq LIMIT 1)`
  )
  return ({ heads, position, userEvents }: Projection): Statements => {
    const { last, lines } = groupEvents(userEvents)
    const statements = [
      ...writers.userEvents(
        heads.map(({ user_id, seq }) => [user_id, seq, position.ts_ms, lines.get(user_id)!.join("\n")])
      ),
      ...writers.heads(
        heads.map(({ user_id, seq, topics }) => [
          user_id,
          seq,
          topics.order,
          topics.execution,
          topics.position,
          topics.account_balance
        ])
      ),
      ...writers.lastRecords(last)
    ]
    for (const { user_id, seq } of heads) {
      if (seq <= kept.count || seq % pruneEvery >= lines.get(user_id)!.length) continue
      statements.push([prune, [user_id, seq - kept.count, user_id, position.ts_ms - kept.ms]])
    }
    return statements
  }
}

/** The state with which a model begins anew. Source: {@link History}'s `restart`. */
type OpenState = Parameters<History["Service"]["restart"]>[2]

export const make = (tables: Tables, dialect: Dialect, kept: (typeof UserEventsKept)["Service"]) => {
  const writers = writersOf(tables)
  const writeTrades = tradesWriter(writers, dialect)
  const writeUserEvents = userEventsWriter(writers, dialect, kept)
  const writeLedger = LedgerWriter.make(tables)

  /** Writes all rows of a projection. `base` is added to an event's seq to form a row's id. */
  const write = (projection: Projection, base: number): Statements => [
    ...writers.orders(projection.orders.map((row) => orderRow(row, base + row.seq))),
    ...writers.executions(executionRows(projection.executions, base)),
    ...writeTrades(projection.trades, base),
    ...writeCandles(writers, projection.candles),
    ...writers.movements(movementRows(projection.movements, base)),
    ...writeLedger(projection, base),
    ...writers.subAccounts(projection.subAccounts.map(subAccountRow)),
    ...writers.instruments(instrumentRows(projection.instruments)),
    ...writeUserEvents(projection)
  ]

  /** Replaces users' events and open orders by those of a new stream; ids of its orders begin after `newest`. */
  const replaceOpen = (open: OpenState, newest: number): Statements => [
    ["DELETE FROM user_events", []],
    ["DELETE FROM stream_heads", []],
    ["DELETE FROM last_seqs", []],
    ["UPDATE orders SET is_open = 2 WHERE is_open = 1", []],
    ...writers.orders(open.orders.map((row, i) => orderRow(row, newest + 1 + i))),
    ["DELETE FROM orders WHERE is_open = 2", []],
    ...writers.subAccounts(open.subAccounts.map(subAccountRow)),
    ...writers.instruments(instrumentRows(open.instruments)),
    ...writers.lastRecords(
      open.records.map((row) => [row.user_id, row.topic, row.sub_account_address, row.subject, row.seq, row.record])
    )
  ]

  return { write, replaceOpen }
}
