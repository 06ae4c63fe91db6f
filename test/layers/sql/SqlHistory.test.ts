import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { Event } from "../../../src/domain/Event.ts"
import { noFlows, print } from "../../../src/domain/HourlyStats.ts"
import { Projecting } from "../../../src/domain/Projection.ts"
import { DAY_MS, HOUR_MS } from "../../../src/domain/Time.ts"
import { BACKFILL_PAGE } from "../../../src/layers/sql/Backfill.ts"
import * as NodeSqlite from "../../../src/layers/sql/NodeSqlite.ts"
import * as SqliteCommits from "../../../src/layers/sql/SqliteCommits.ts"
import * as SqlHistory from "../../../src/layers/sql/SqlHistory.ts"
import { History, TRADES_KEPT } from "../../../src/services/History.ts"
import { suite } from "../../contracts/HistoryContract.ts"
import { body, event, START, userOf, uuid } from "../../../verification/harness/Records.ts"

const on = (filename: string) =>
  SqlHistory.layer.pipe(Layer.provide(NodeSqlite.layer({ filename, synchronous: "NORMAL" })))

suite("SQLite", on(":memory:"))

/** Path of a database in a folder of its own, which is deleted with the scope. */
const databaseFile = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "history-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
  ),
  (folder) => join(folder, "history.sqlite")
)

/** A file of its own, committed to by a thread. */
const threaded = Layer.unwrap(
  Effect.gen(function* () {
    const filename = yield* databaseFile
    const options = { filename, synchronous: "NORMAL" } as const
    return SqlHistory.layer.pipe(Layer.provide(SqliteCommits.layer(options)), Layer.provide(NodeSqlite.layer(options)))
  })
)
suite("SQLite with a commit thread", threaded)

/** The newest rows of a list of the first user. */
const newest = {
  user_id: userOf(1).user_id,
  sub_accounts: undefined,
  symbol: undefined,
  start_time: undefined,
  end_time: undefined,
  limit: 50,
  after: undefined
}

/** A page of each list, with the queries of its callers. */
const pages = Effect.gen(function* () {
  const history = yield* History
  const after = { time: START, id: 5 }
  const own = { ...newest, user_id: "u", start_time: START, end_time: START + 1, after }
  const market = { symbol: "BTC-USDC", start_time: START, end_time: START + 1, limit: 50 }
  yield* history.orders({ ...own, order_id: undefined, order_link_id: undefined, statuses: undefined })
  yield* history.orders({ ...own, order_id: undefined, order_link_id: undefined, statuses: ["New"] })
  yield* history.orders({ ...own, order_id: undefined, order_link_id: undefined, statuses: ["Filled"] })
  yield* history.executions({ ...own, order_id: undefined, exec_type: undefined })
  yield* history.executionsAt({ ...own, offset: 0 })
  yield* history.closedPnls(own)
  yield* history.transactions({ ...own, type: undefined })
  yield* history.transactions({ ...own, type: "fee" })
  yield* history.fundingPayments(own)
  yield* history.movements({ ...own, kind: "deposit" })
  yield* history.fundingRates({ ...market, after })
  yield* history.openInterest({ ...market, after, interval: "5" })
  yield* history.pools(market)
  yield* history.pools({ ...market, symbol: undefined })
  yield* history.adlAlerts(market)
  yield* history.adlAlerts({ ...market, symbol: undefined })
  yield* history.candles({ kind: "mark", symbol: "BTC-USDC", interval: "1", start: 0, end: START, limit: 5 })
  yield* history.marketHours({ user_id: "u", start: 0, end: START })
  yield* history.marketHours({ user_id: undefined, start: 0, end: START })
  yield* history.accountHours({ user_id: "u", start: 0, end: START })
  yield* history.hoursBefore({ user_id: "u", hour: START })
  yield* history.fills({ user_id: "u", start: START, end: START + 1 })
})

describe("SqlHistory on SQLite, at any size", () => {
  it.effect("reads every page as one range of an index, in its order", () =>
    Effect.gen(function* () {
      const asked: Array<readonly [string, ReadonlyArray<unknown>]> = []
      const recording = Layer.effect(
        SqlClient.SqlClient,
        Effect.map(
          SqlClient.SqlClient,
          (sql) =>
            new Proxy(sql, {
              get: (target, key) =>
                key === "unsafe"
                  ? (text: string, values: ReadonlyArray<unknown> = []) => {
                      asked.push([text, values])
                      return target.unsafe(text, values)
                    }
                  : Reflect.get(target, key)
            })
        )
      )
      yield* Effect.gen(function* () {
        asked.length = 0
        yield* pages
        const sql = yield* SqlClient.SqlClient
        const selects = [...asked].filter(([text]) => text.startsWith("SELECT"))
        assert.isAbove(selects.length, 20)
        for (const [text, values] of selects) {
          const plan = yield* sql.unsafe<{ readonly detail: string }>(`EXPLAIN QUERY PLAN ${text}`, values)
          const details = plan.map(({ detail }) => detail).join("; ")
          assert.match(details, /^SEARCH /u, text)
          assert.notMatch(details, /SCAN|TEMP B-TREE/u, text)
        }
      }).pipe(
        Effect.provide(
          SqlHistory.layer.pipe(
            Layer.provideMerge(recording),
            Layer.provide(NodeSqlite.layer({ filename: ":memory:", synchronous: "NORMAL" }))
          )
        )
      )
    })
  )
})

describe("SqlHistory on SQLite, over years of hours", () => {
  it.effect("reads them in parts, so that others are served in between, and each of them once", () =>
    Effect.gen(function* () {
      const sqlite = yield* Layer.build(NodeSqlite.layer({ filename: ":memory:", synchronous: "NORMAL" }))
      const sql = Context.get(sqlite, SqlClient.SqlClient)
      const parts: Array<number> = []
      const counting = new Proxy(sql, {
        get: (target, name) =>
          name !== "unsafe"
            ? Reflect.get(target, name)
            : (...args: Parameters<typeof sql.unsafe>) =>
                Effect.tap(sql.unsafe(...args), (rows) =>
                  Effect.sync(() => (args[0].includes("FROM market_hours") ? parts.push(rows.length) : 0))
                )
      })
      const history = yield* Effect.map(
        Layer.build(SqlHistory.layer.pipe(Layer.provide(Layer.succeed(SqlClient.SqlClient, counting)))),
        Context.get(History)
      )
      const { user_id } = userOf(1)
      const record = print({ flows: noFlows, size: 0n, cost: 0n, executions: 1 })
      const row = (sub_account_address: string, symbol: string, hour: number, of = user_id) =>
        sql`INSERT INTO market_hours ${sql.insert({ user_id: of, sub_account_address, symbol, hour: hour * HOUR_MS, record })}`
      // a part ends within an hour of three markets
      for (let hour = 0; hour < 900; hour++)
        for (const symbol of ["A-USDC", "B-USDC", "C-USDC"]) yield* row("0x1", symbol, hour)
      const read = (of: string | undefined) =>
        Effect.map(history.marketHours({ user_id: of, start: 0, end: Number.MAX_SAFE_INTEGER }), (rows) => {
          const keys = rows.map(({ hour, sub_account_address, symbol }) => `${hour} ${sub_account_address} ${symbol}`)
          return [keys.length, new Set(keys).size]
        })
      assert.deepStrictEqual(yield* read(user_id), [2_700, 2_700])
      assert.isAtMost(Math.max(...parts), 1_000)
      // one hour of more rows than a part
      for (let account = 0; account < 1_500; account++) yield* row(`0x2${account}`, "A-USDC", 900, userOf(2).user_id)
      assert.deepStrictEqual(yield* read(undefined), [4_200, 4_200])
    })
  )
})

/** Reverts the third migration, for the tables that the first one creates. */
const withoutLists = [
  "DROP INDEX orders_list",
  "DROP INDEX orders_open",
  "DROP INDEX orders_final",
  "DROP INDEX orders_link",
  "DROP INDEX executions_list",
  "DROP INDEX executions_order",
  "ALTER TABLE orders DROP COLUMN side",
  "ALTER TABLE executions DROP COLUMN side",
  "CREATE INDEX orders_list ON orders (user_id, created_time, id)",
  "CREATE INDEX orders_open ON orders (user_id, created_time, id) WHERE is_open = 1",
  "CREATE INDEX orders_link ON orders (order_link_id, sub_account_address) WHERE order_link_id IS NOT NULL",
  "CREATE INDEX orders_status ON orders (user_id, status, created_time, id)",
  "CREATE INDEX executions_list ON executions (user_id, exec_time, id)",
  "CREATE INDEX executions_order ON executions (order_id)"
]

/** Reverts the migrations from the sixth on. */
const withoutForks = ["fork", "checksum", "stream", "version", "checksum_seq"].map(
  (column) => `ALTER TABLE history_position DROP COLUMN ${column}`
)

describe("SqlHistory on a database of an earlier version", () => {
  it.effect("names no checksum for a position that a gateway from before forks has advanced", () =>
    Effect.gen(function* () {
      const history = yield* History
      const sql = yield* SqlClient.SqlClient
      const projecting = new Projecting({ position: undefined, heads: [], candles: [] })
      yield* history.commit(projecting.next("e1", [event(1, body.balance())], { fork: "f", checksum: 7 }))
      assert.deepInclude(yield* history.position, { seq: 1, fork: "f", checksum: 7 })
      // its statement, which neither reads nor writes the newer columns
      yield* sql`UPDATE history_position SET epoch = ${"e1"}, seq = 2, began = 0, ts_ms = ${START} WHERE one = 1 AND seq = 1`
      const moved = yield* history.position
      assert.strictEqual(moved?.seq, 2)
      assert.notProperty(moved, "checksum")
      assert.notProperty(moved, "fork")
    }).pipe(
      Effect.provide(
        SqlHistory.layer.pipe(Layer.provideMerge(NodeSqlite.layer({ filename: ":memory:", synchronous: "NORMAL" })))
      )
    )
  )

  const later = START + 3_600_000

  /** What a history derives from `events`: as it writes it, from a file that an older version left, and after `more`. */
  const derived = Effect.fnUntraced(function* (events: ReadonlyArray<Event>, more: ReadonlyArray<Event>) {
    const filename = yield* databaseFile
    const run = <A, E>(body: Effect.Effect<A, E, History>) => body.pipe(Effect.provide(Layer.fresh(on(filename))))
    const known = Effect.gen(function* () {
      const history = yield* History
      return {
        closed: (yield* history.closedPnls(newest)).rows,
        payments: (yield* history.fundingPayments(newest)).rows,
        hours: yield* history.marketHours({ user_id: newest.user_id, start: 0, end: later + DAY_MS }),
        ledger: yield* history.ledger
      }
    })
    const write = (events: ReadonlyArray<Event>) =>
      Effect.gen(function* () {
        const history = yield* History
        const projecting = new Projecting({
          position: yield* history.position,
          heads: yield* history.streamHeads,
          candles: yield* history.lastCandles,
          ledger: yield* history.ledger
        })
        yield* history.commit(projecting.next("e1", events))
        return yield* known
      })
    const before = yield* run(write(events))
    // as the earlier version left it: without the tables of the ledger
    const database = new DatabaseSync(filename)
    const tables = database.prepare(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN (SELECT value FROM json_each(?))"
    )
    const ledgers = [
      "closed_pnls",
      "transactions",
      "funding_payments",
      "funding_rates",
      "open_interest",
      "insurance_pools",
      "adl_alerts",
      "market_hours",
      "last_market_hours",
      "account_hours",
      "last_account_hours"
    ]
    assert.strictEqual(tables.all(JSON.stringify(ledgers)).length, ledgers.length)
    for (const table of ledgers) database.exec(`DROP TABLE ${table}`)
    database.exec("DROP INDEX movements_kind")
    database.exec("ALTER TABLE last_seqs DROP COLUMN record")
    for (const statement of withoutLists) database.exec(statement)
    for (const statement of withoutForks) database.exec(statement)
    database.exec("DELETE FROM history_migrations WHERE migration_id > 1")
    database.close()
    return { before, after: yield* run(known), went: yield* run(write(more)) }
  })

  const sell = body.order({ order_id: uuid(2), side: "Sell" })
  /** A fill of that order which closes a part of a position. */
  const closes = (seq: number, ts_ms: number) =>
    event(seq, body.closing({ order_id: uuid(2), exec_id: uuid(seq), exec_time: String(ts_ms) }), { ts_ms })

  it.effect("derives closed PnL, funding and statistics from the executions, and continues", () =>
    Effect.gen(function* () {
      const { after, before, went } = yield* derived(
        [
          event(1, body.order({ order_id: uuid(1) })),
          event(2, body.execution({ exec_time: String(START) }), { ts_ms: START }),
          event(3, body.funded({ exec_time: String(later + 40) }), { ts_ms: later + 40 }),
          event(4, sell, { ts_ms: later + 50 }),
          closes(5, later + 50)
        ],
        [closes(6, later + 60)]
      )
      assert.strictEqual(after.closed[0]!.closed_pnl, "186.69")
      assert.strictEqual(after.payments[0]!.funding_time_ms, later)
      assert.deepStrictEqual(after, before)
      assert.strictEqual(went.closed[0]!.fill_count, 2, "what was half closed goes on")
    })
  )

  it.effect("derives them over more executions than it reads at once, with an order and an hour in two pages", () =>
    Effect.gen(function* () {
      // the first page ends between the fills of the order, and within the second hour
      const others = BACKFILL_PAGE - 3
      const other = body.execution({ sub_account_address: userOf(2).account(0), exec_time: String(START) })
      const { after, before, went } = yield* derived(
        [
          event(1, sell, { ts_ms: START }),
          ...Array.from({ length: others }, (_, n) =>
            event(2 + n, other, { ts_ms: START, user_id: userOf(2).user_id })
          ),
          closes(others + 2, START + 1),
          ...Array.from({ length: 5 }, (_, n) => closes(others + 3 + n, later + n))
        ],
        [closes(others + 8, later + 60)]
      )
      assert.strictEqual(after.closed[0]!.fill_count, 6)
      assert.strictEqual(after.closed[0]!.closed_size, "1.2")
      assert.strictEqual(after.hours.length, 2)
      assert.deepStrictEqual(after, before)
      assert.strictEqual(went.closed[0]!.fill_count, 7)
    })
  )
})

describe("SqlHistory from before liquidation_fee", () => {
  it.effect("Amendment 14: takes liquidation fees from the transactions", () =>
    Effect.gen(function* () {
      const filename = yield* databaseFile
      const known = Effect.gen(function* () {
        const history = yield* History
        return {
          closed: (yield* history.closedPnls(newest)).rows,
          hours: yield* history.marketHours({ user_id: newest.user_id, start: 0, end: START + DAY_MS })
        }
      })
      const run = <A, E>(body: Effect.Effect<A, E, History>) => body.pipe(Effect.provide(Layer.fresh(on(filename))))
      const at = { ts_ms: START }
      const symbol = "BTC-USDC"
      const fee = (order_id: string, amount: string) =>
        body.money("liquidation_fee", "17.66", { amount, order_id, symbol })
      const closing = (order_id: string, exec_id: string) =>
        body.closing({ order_id, exec_id, exec_time: String(START), create_type: "CreateByLiq" })
      const before = yield* run(
        Effect.gen(function* () {
          const history = yield* History
          // two orders at one time: the fee of the first one, and what the last one got back
          const events = [
            event(1, closing(uuid(2), uuid(1_001)), at),
            event(2, fee(uuid(2), "-60.44"), at),
            event(3, closing(uuid(4), uuid(1_002)), at),
            event(4, fee(uuid(4), "10"), at)
          ]
          yield* history.commit(new Projecting({ position: undefined, heads: [], candles: [] }).next("e1", events))
          return yield* known
        })
      )
      assert.deepStrictEqual(
        before.closed.map(({ liquidation_fee, order_id }) => [order_id, liquidation_fee]),
        [
          [uuid(4), "-10"],
          [uuid(2), "60.44"]
        ]
      )
      const database = new DatabaseSync(filename)
      for (const [table, key] of [
        ["closed_pnls", "$.liquidation_fee"],
        ["last_market_hours", "$.flows.liquidation_fees"]
      ] as const)
        database.prepare(`UPDATE ${table} SET record = json_remove(record, ?)`).run(key)
      for (const statement of withoutForks) database.exec(statement)
      database.exec("DELETE FROM history_migrations WHERE migration_id >= 5")
      database.close()
      assert.deepStrictEqual(yield* run(known), before)
    })
  )
})

describe("SqlHistory on SQLite, when it prunes", () => {
  it.effect("leaves exactly the trades that it keeps", () =>
    Effect.gen(function* () {
      const history = yield* History
      const sql = yield* SqlClient.SqlClient
      const events = Array.from({ length: 1_024 }, (_, i) => event(i + 1, body.trades({ trade_id: String(i + 1) })))
      const projecting = new Projecting({ position: undefined, heads: [], candles: [] })
      const stored = Effect.map(
        sql<{ readonly n: number; readonly first: number }>`SELECT COUNT(*) AS n, MIN(id) AS first FROM trades`,
        ([row]) => ({ ...row! })
      )
      // it prunes seldom: the last of so many trades is the first that makes it do so
      yield* history.commit(projecting.next("e1", events.slice(0, -1)))
      assert.deepStrictEqual(yield* stored, { n: 1_023, first: 1 })
      yield* history.commit(projecting.next("e1", events.slice(-1)))
      assert.deepStrictEqual(yield* stored, { n: TRADES_KEPT, first: 1_024 - TRADES_KEPT + 1 })
    }).pipe(
      Effect.provide(
        SqlHistory.layer.pipe(Layer.provideMerge(NodeSqlite.layer({ filename: ":memory:", synchronous: "NORMAL" })))
      )
    )
  )
})

describe("SqlHistory on a file", () => {
  it.effect("lists an hour that ends between the two reads of a list of hours", () =>
    Effect.gen(function* () {
      const filename = yield* databaseFile
      const sqlite = yield* Layer.build(Layer.fresh(NodeSqlite.layer({ filename, synchronous: "NORMAL" })))
      const sql = Context.get(sqlite, SqlClient.SqlClient)
      const over = (layer: Layer.Layer<SqlClient.SqlClient>) =>
        Effect.map(Layer.build(Layer.fresh(SqlHistory.layer).pipe(Layer.provide(layer))), Context.get(History))
      const writer = yield* over(Layer.succeedContext(sqlite))
      const projecting = new Projecting({ position: undefined, heads: [], candles: [] })
      yield* writer.commit(projecting.next("e1", [event(1, body.execution(), { ts_ms: START + 1 })]))
      // the reader stops after its first statement, and the hour ends
      let reads = 0
      const nextHour = writer.commit(projecting.next("e1", [event(2, body.execution(), { ts_ms: START + 3_600_001 })]))
      const stopping = new Proxy(sql, {
        get: (target, name) =>
          name !== "unsafe"
            ? Reflect.get(target, name)
            : (...args: Parameters<typeof sql.unsafe>) =>
                Effect.tap(sql.unsafe(...args), () => (reads++ === 0 ? nextHour : Effect.void))
      })
      const reader = yield* over(Layer.succeed(SqlClient.SqlClient, stopping))
      reads = 0
      const hours = yield* reader.marketHours({ user_id: userOf(1).user_id, start: START, end: START + 3_600_000 })
      assert.isAtLeast(reads, 2)
      assert.lengthOf(hours, 1)
    })
  )

  it.effect("refuses the commit of a gateway that has not read the restart of the numbering for it", () =>
    Effect.gen(function* () {
      const layer = on(yield* databaseFile)
      const history = Effect.map(Layer.build(Layer.fresh(layer)), Context.get(History))
      const [ours, other] = [yield* history, yield* history]
      const projecting = new Projecting({ position: undefined, heads: [], candles: [] })
      yield* ours.commit(projecting.next("e1", [event(1, body.order()), event(2, body.balance())]))
      const late = projecting.next("e1", [event(3, body.balance())])
      // the new numbering happens to begin at the same position
      const restarted = { epoch: "e1", seq: 2, began: 2, ts_ms: START }
      yield* other.restart({ epoch: "e1", seq: 2 }, restarted, {
        orders: [],
        subAccounts: [],
        instruments: [],
        records: []
      })
      const { at, value } = yield* ours.momentAndPosition(ours.streamHeads)
      assert.deepInclude(at, restarted)
      assert.deepStrictEqual(value, [])
      assert.strictEqual((yield* Effect.flip(ours.commit(late)))._tag, "ProjectionRefused")
    })
  )

  it.effect("names what to do where a record is damaged and SQLite has not noticed", () =>
    Effect.gen(function* () {
      const filename = yield* databaseFile
      const history = Context.get(yield* Layer.build(on(filename)), History)
      const db = new DatabaseSync(filename)
      db.prepare("INSERT INTO instruments (symbol, place, record) VALUES ('BTC-USDC', 1, '{')").run()
      db.close()
      const defect = yield* Effect.flip(Effect.sandbox(history.instruments))
      assert.include(String(Cause.squash(defect)), 'docs/operations/backup.md, "Another damaged file"')
    })
  )

  it.effect("continues at its position after a restart", () =>
    Effect.gen(function* () {
      const filename = yield* databaseFile
      const layer = on(filename)
      const run = <A, E>(body: Effect.Effect<A, E, History>) => body.pipe(Effect.provide(Layer.fresh(layer)))
      yield* run(
        Effect.gen(function* () {
          const history = yield* History
          const projecting = new Projecting({ position: undefined, heads: [], candles: [] })
          yield* history.commit(projecting.next("e1", [event(1, body.order()), event(2, body.balance())]))
        })
      )
      const [position, heads] = yield* run(
        Effect.gen(function* () {
          const history = yield* History
          return [yield* history.position, yield* history.streamHeads] as const
        })
      )
      assert.strictEqual(position!.seq, 2)
      assert.strictEqual(heads[0]!.seq, 2)
    })
  )
})
