/** What every history promises; each adapter of the port runs it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { Event } from "../../src/domain/Event.ts"
import type { RowKey } from "../../src/domain/Page.ts"
import { Projecting, type Projection, READ_MODEL_VERSION } from "../../src/domain/Projection.ts"
import * as RecordJson from "../../src/domain/RecordJson.ts"
import { DAY_MS, MINUTE_MS } from "../../src/domain/Time.ts"
import {
  type ExecutionQuery,
  History,
  type OrderQuery,
  TRADES_KEPT,
  USER_EVENTS_KEPT
} from "../../src/services/History.ts"
import { mergeProjections } from "../../src/services/read-model/MergeProjections.ts"
import { ledgerTests } from "./LedgerContract.ts"
import { body, event, instrument, order, START, symbol, userOf, uuid } from "../../verification/harness/Records.ts"

const alice = userOf(1)
const bob = userOf(2)
const EPOCH = "e1"

const ordersOf = (fields: Partial<OrderQuery> = {}): OrderQuery => ({
  user_id: alice.user_id,
  sub_accounts: undefined,
  symbol: undefined,
  start_time: undefined,
  end_time: undefined,
  limit: 50,
  after: undefined,
  order_id: undefined,
  order_link_id: undefined,
  statuses: undefined,
  ...fields
})
const executionsOf = (fields: Partial<ExecutionQuery> = {}): ExecutionQuery => ({
  user_id: alice.user_id,
  sub_accounts: undefined,
  symbol: undefined,
  start_time: undefined,
  end_time: undefined,
  limit: 50,
  after: undefined,
  order_id: undefined,
  exec_type: undefined,
  ...fields
})

/** Resumes from the position of the history. */
const projecting = Effect.gen(function* () {
  const history = yield* History
  return new Projecting({
    position: yield* history.position,
    heads: yield* history.streamHeads,
    candles: yield* history.lastCandles,
    ledger: yield* history.ledger
  })
})
export const commit = (events: ReadonlyArray<Event>, epoch = EPOCH) =>
  Effect.gen(function* () {
    const history = yield* History
    const projection = (yield* projecting).next(epoch, events)
    yield* history.commit(projection)
    return projection
  })

/** A few steps of two users: rests, fills, amounts move. */
const story = (): ReadonlyArray<Event> => [
  event(1, body.instrument()),
  event(2, body.order({ order_id: uuid(1), order_link_id: "a-1" })),
  event(3, body.balance()),
  event(
    4,
    body.order({
      order_id: uuid(2),
      side: "Sell",
      sub_account_address: bob.account(0),
      created_time: String(START + 4)
    }),
    { user_id: bob.user_id }
  ),
  event(5, body.execution()),
  event(6, body.order({ order_id: uuid(1), order_link_id: "a-1", order_status: "PartiallyFilled", leaves_qty: "0.3" })),
  event(7, body.position()),
  event(8, body.balance({ wallet_balance: "9986.8" })),
  event(9, body.trades({ trade_id: "7", timestamp: START + 9 })),
  event(10, body.order({ order_id: uuid(3), created_time: String(START + 10), order_status: "Rejected" })),
  event(11, body.prices({ ts_ms: START + 1_000 }), { ts_ms: START + 1_000 })
]

/** Later events: the position is sold in two parts, funding is settled, the pool reports its state. */
const sequel = (): ReadonlyArray<Event> => [
  event(12, body.closing({ order_id: uuid(1), exec_id: uuid(1_001), closed_size: "0.1" }), { ts_ms: START + 1_001 }),
  event(13, body.closing({ order_id: uuid(1), exec_id: uuid(1_002), closed_size: "0.1" }), { ts_ms: START + 1_002 }),
  event(14, body.funding(), { ts_ms: START + 1_003 }),
  event(15, body.funded({ exec_id: uuid(1_003) }), { ts_ms: START + 1_003 }),
  event(16, body.money("funding", "9977.8", { amount: "-9" }), { ts_ms: START + 1_003 }),
  event(17, body.pool(), { ts_ms: START + 1_004 }),
  event(18, body.adl(), { ts_ms: START + 1_004 })
]

/** Events without an order. */
const sorted = <A>(rows: ReadonlyArray<A>): ReadonlyArray<A> => {
  const text = (row: A) => JSON.stringify(row, (_, value) => (typeof value === "bigint" ? `${value}n` : value))
  return rows.toSorted((a, b) => (text(a) < text(b) ? -1 : 1))
}

/** Everything a reader may see. */
const everything = Effect.gen(function* () {
  const history = yield* History
  return {
    position: yield* history.position,
    orders: [yield* history.orders(ordersOf()), yield* history.orders(ordersOf({ user_id: bob.user_id }))],
    executions: yield* history.executions(executionsOf()),
    instruments: yield* history.instruments,
    trades: yield* history.trades(symbol, 10),
    candles: yield* history.candles({ kind: "trade", symbol, interval: "1", start: 0, end: START * 2, limit: 10 }),
    marks: yield* history.candles({ kind: "mark", symbol, interval: "D", start: 0, end: START * 2, limit: 10 }),
    heads: sorted(yield* history.streamHeads),
    events: yield* history.userEvents(alice.user_id, 0, 100),
    balances: yield* history.lastRecords(alice.user_id, "account_balance"),
    positions: yield* history.lastRecords(alice.user_id, "position"),
    holdings: sorted(yield* history.lastRecords(alice.user_id)),
    closed: yield* history.closedPnls(ordersOf()),
    transactions: yield* history.transactions({ ...ordersOf(), type: undefined }),
    payments: yield* history.fundingPayments(ordersOf()),
    rates: yield* history.fundingRates({ ...ordersOf(), symbol }),
    interest: yield* history.openInterest({ ...ordersOf(), symbol, interval: "5" }),
    pools: yield* history.pools(ordersOf()),
    alerts: yield* history.adlAlerts(ordersOf()),
    hours: sorted(yield* history.marketHours({ user_id: undefined, start: 0, end: START * 2 })),
    ledger: Object.values(yield* history.ledger).map(sorted)
  }
})

export const suite = <E>(name: string, layer: Layer.Layer<History, E>) =>
  describe(`History on ${name}`, () => {
    const test = <A, E2>(title: string, body: Effect.Effect<A, E2, History>) =>
      it.effect(title, () => body.pipe(Effect.provide(Layer.fresh(layer))))

    ledgerTests(test)

    test(
      "stands nowhere before the first commit",
      Effect.gen(function* () {
        const history = yield* History
        assert.isUndefined(yield* history.position)
        assert.deepStrictEqual(yield* history.streamHeads, [])
        assert.deepStrictEqual((yield* history.orders(ordersOf())).rows, [])
      })
    )

    test(
      "answers what a projection held, with its position",
      Effect.gen(function* () {
        yield* commit(story())
        const all = yield* everything
        assert.deepStrictEqual(all.position, {
          epoch: EPOCH,
          seq: 11,
          began: 0,
          ts_ms: START + 1_000,
          version: READ_MODEL_VERSION
        })
        assert.deepStrictEqual(
          all.orders.map(({ rows }) => rows.map((row) => [row.order_id, row.order_status])),
          [
            [
              [uuid(3), "Rejected"],
              [uuid(1), "PartiallyFilled"]
            ],
            [[uuid(2), "New"]]
          ]
        )
        assert.strictEqual(all.executions.rows[0]!.base_fee, "6.6")
        assert.deepStrictEqual(all.instruments, [instrument()])
        assert.strictEqual(all.trades[0]!.trade_id, "7")
        assert.strictEqual(all.candles[0]!.turnover, "12000")
        assert.deepStrictEqual(
          all.events.map(({ seq, prev_seq, topic }) => [seq, prev_seq, topic]),
          [
            [1, 0, "order"],
            [2, 0, "account_balance"],
            [3, 0, "execution"],
            [4, 1, "order"],
            [5, 0, "position"],
            [6, 2, "account_balance"],
            [7, 4, "order"]
          ]
        )
        const last = { user_id: alice.user_id, sub_account_address: alice.account(0) }
        assert.deepStrictEqual(all.balances, [
          { ...last, topic: "account_balance", subject: "USDC", seq: 6, record: all.events[5]!.record }
        ])
        assert.deepStrictEqual(all.positions, [
          { ...last, topic: "position", subject: symbol, seq: 5, record: all.events[4]!.record }
        ])
        assert.deepStrictEqual(JSON.parse(all.events[3]!.record), all.orders[0]!.rows[1])
      })
    )

    test(
      "holds the same, however the stream is cut, with a crash at every boundary",
      Effect.gen(function* () {
        const events = [...story(), ...sequel()]
        yield* commit(events)
        const whole = yield* everything
        for (let cut = 1; cut < events.length; cut++) {
          const parts = yield* Effect.gen(function* () {
            // every commit starts from what the history kept, as after a crash
            yield* commit(events.slice(0, cut))
            yield* commit(events.slice(cut))
            return yield* everything
          }).pipe(Effect.provide(Layer.fresh(layer)))
          assert.deepStrictEqual(parts, whole, `cut after event ${cut}`)
        }
      })
    )

    test(
      "holds the same where consecutive projections are merged into one commit",
      Effect.gen(function* () {
        const events = [...story(), ...sequel()]
        yield* commit(events)
        const whole = yield* everything
        for (const size of [1, 2, 3, 7]) {
          const merged = yield* Effect.gen(function* () {
            const projections: Array<Projection> = []
            const projecting = new Projecting({ position: undefined, heads: [], candles: [] })
            for (let at = 0; at < events.length; at += size) {
              projections.push(projecting.next(EPOCH, events.slice(at, at + size)))
            }
            yield* (yield* History).commit(mergeProjections(projections))
            return yield* everything
          }).pipe(Effect.provide(Layer.fresh(layer)))
          assert.deepStrictEqual(merged, whole, `${size} events a projection`)
        }
      })
    )

    test(
      "refuses a projection that is not the next one, and writes nothing of it",
      Effect.gen(function* () {
        const history = yield* History
        const events = story()
        const first = yield* commit(events.slice(0, 5))
        const before = yield* everything
        const again = yield* Effect.flip(history.commit(first))
        assert.strictEqual(again._tag, "ProjectionRefused")
        assert.deepStrictEqual(again._tag === "ProjectionRefused" && again.position, before.position)
        const jump = new Projecting({ position: { ...first.position, seq: 7 }, heads: [], candles: [] })
        const refused = yield* Effect.flip(history.commit(jump.next(EPOCH, events.slice(7))))
        assert.strictEqual(refused._tag, "ProjectionRefused")
        assert.deepStrictEqual(yield* everything, before)
      })
    )

    test(
      "refuses a writer whose position is behind, though its events are new to it",
      Effect.gen(function* () {
        const history = yield* History
        yield* commit([event(1, body.balance())])
        const behind = yield* projecting
        yield* commit([event(2, body.balance()), event(3, body.balance())])
        const before = yield* everything
        const refused = yield* Effect.flip(history.commit(behind.next(EPOCH, [event(2, body.balance())])))
        assert.strictEqual(refused._tag === "ProjectionRefused" && refused.position?.seq, 3)
        assert.deepStrictEqual(yield* everything, before)
      })
    )

    test(
      "walks a list by key without a repeated or lost row while rows arrive, at equal times too",
      Effect.gen(function* () {
        const history = yield* History
        const created_time = String(START)
        yield* commit(
          Array.from({ length: 9 }, (_, i) => event(i + 1, body.order({ order_id: uuid(i + 1), created_time })))
        )
        const walked: Array<string> = []
        let after: RowKey | undefined
        let seq = 9
        do {
          const page = yield* history.orders(ordersOf({ limit: 2, after }))
          walked.push(...page.rows.map((row) => row.order_id))
          after = page.next
          // one more of the same time, and an old one changes
          yield* commit([
            event(seq + 1, body.order({ order_id: uuid(100 + seq), created_time })),
            event(seq + 2, body.order({ order_id: uuid(5), created_time, order_status: "Filled", leaves_qty: "0" }))
          ])
          seq += 2
        } while (after !== undefined)
        assert.deepStrictEqual(
          walked,
          Array.from({ length: 9 }, (_, i) => uuid(9 - i))
        )
        const exact = yield* history.orders(ordersOf({ limit: 14 }))
        assert.isUndefined(exact.next, "a full last page names no next one")
        assert.strictEqual(exact.rows.length, 14)
      })
    )

    test(
      "Amendment 16: filters orders and executions by side and by the client's reference",
      Effect.gen(function* () {
        const history = yield* History
        const at = (n: number) => String(START + n)
        const link = "a-1"
        const other = { sub_account_address: alice.account(1) }
        const fill = { exec_qty: "0.1", order_link_id: link }
        const elsewhere = { order_link_id: link, sub_account_address: bob.account(0) }
        yield* commit([
          event(1, body.order({ order_id: uuid(1), created_time: at(1), order_link_id: link })),
          event(2, body.order({ order_id: uuid(2), created_time: at(2), side: "Sell" })),
          // the same reference in another sub-account, and of another user
          event(3, body.order({ order_id: uuid(3), created_time: at(3), side: "Sell", order_link_id: link, ...other })),
          event(4, body.order({ order_id: uuid(4), ...elsewhere }), { user_id: bob.user_id }),
          event(5, body.execution({ ...fill, order_id: uuid(1), exec_id: uuid(101), exec_time: at(5) })),
          event(6, body.execution({ order_id: uuid(2), exec_id: uuid(102), exec_time: at(6), side: "Sell" })),
          event(
            7,
            body.execution({
              ...fill,
              ...other,
              order_id: uuid(3),
              exec_id: uuid(103),
              exec_time: at(7),
              side: "Sell"
            })
          ),
          event(8, body.execution({ ...fill, order_id: uuid(1), exec_id: uuid(104), exec_time: at(8) })),
          event(9, body.execution({ ...elsewhere, order_id: uuid(4), exec_id: uuid(105) }), { user_id: bob.user_id })
        ])
        const orders = (fields: Partial<OrderQuery>) =>
          Effect.map(history.orders(ordersOf(fields)), ({ rows }) => rows.map((row) => Number(row.order_id.at(-1))))
        assert.deepStrictEqual(yield* orders({ side: "Sell" }), [3, 2])
        assert.deepStrictEqual(yield* orders({ side: "Buy", statuses: ["New"] }), [1])
        assert.deepStrictEqual(yield* orders({ side: "Sell", order_link_id: link }), [3])
        assert.deepStrictEqual(yield* orders({ side: "Sell", sub_accounts: [alice.account(0)] }), [2])
        const executions = (fields: Partial<ExecutionQuery>) =>
          Effect.map(history.executions(executionsOf(fields)), ({ rows }) =>
            rows.map((row) => Number(row.exec_id.at(-1)))
          )
        assert.deepStrictEqual(yield* executions({ side: "Sell" }), [3, 2])
        assert.deepStrictEqual(yield* executions({ order_link_id: link }), [4, 3, 1])
        assert.deepStrictEqual(yield* executions({ order_link_id: link, side: "Sell" }), [3])
        assert.deepStrictEqual(yield* executions({ order_link_id: link, sub_accounts: [alice.account(0)] }), [4, 1])
        assert.deepStrictEqual(yield* executions({ order_link_id: link, order_id: uuid(1) }), [4, 1])
        assert.deepStrictEqual(yield* executions({ order_link_id: link, order_id: uuid(2) }), [])
        assert.deepStrictEqual(yield* executions({ order_link_id: "a-2" }), [])
        // page by page over the orders of a reference
        const walked: Array<string> = []
        let after: RowKey | undefined
        do {
          const page = yield* history.executions(executionsOf({ order_link_id: link, limit: 1, after }))
          walked.push(...page.rows.map((row) => row.exec_id))
          after = page.next
        } while (after !== undefined)
        assert.deepStrictEqual(walked, [uuid(104), uuid(103), uuid(101)])
      })
    )

    test(
      "filters orders by status, reference, symbol, sub-account and time",
      Effect.gen(function* () {
        const history = yield* History
        const at = (n: number) => String(START + n)
        yield* commit([
          event(1, body.order({ order_id: uuid(1), created_time: at(1), order_link_id: "a-1" })),
          event(2, body.order({ order_id: uuid(2), created_time: at(2), order_status: "Filled" })),
          event(
            3,
            body.order({
              order_id: uuid(3),
              created_time: at(3),
              symbol: "ETH-USDC",
              order_status: "PartiallyFilled"
            })
          ),
          event(
            4,
            body.order({
              order_id: uuid(4),
              created_time: at(4),
              sub_account_address: alice.account(1),
              order_status: "Canceled"
            })
          )
        ])
        const ids = (fields: Partial<OrderQuery>) =>
          Effect.map(history.orders(ordersOf(fields)), ({ rows }) => rows.map((row) => Number(row.order_id.at(-1))))
        assert.deepStrictEqual(yield* ids({}), [4, 3, 2, 1])
        assert.deepStrictEqual(
          yield* ids({ statuses: ["New", "PartiallyFilled", "Untriggered", "CancelRequested"] }),
          [3, 1]
        )
        assert.deepStrictEqual(yield* ids({ statuses: ["New"] }), [1])
        assert.deepStrictEqual(yield* ids({ statuses: ["PartiallyFilled", "Untriggered"] }), [3])
        assert.deepStrictEqual(yield* ids({ statuses: ["New", "Filled"] }), [2, 1])
        assert.deepStrictEqual(yield* ids({ statuses: ["Filled"] }), [2])
        assert.deepStrictEqual(yield* ids({ statuses: ["Filled", "Canceled"] }), [4, 2])
        assert.deepStrictEqual(yield* ids({ order_link_id: "a-1" }), [1])
        assert.deepStrictEqual(yield* ids({ order_id: uuid(2) }), [2])
        assert.deepStrictEqual(yield* ids({ symbol: "ETH-USDC" }), [3])
        assert.deepStrictEqual(yield* ids({ sub_accounts: [alice.account(1)] }), [4])
        assert.deepStrictEqual(yield* ids({ sub_accounts: [] }), [])
        assert.deepStrictEqual(yield* ids({ start_time: START + 2, end_time: START + 4 }), [3, 2])
        assert.deepStrictEqual(yield* ids({ user_id: bob.user_id }), [])
        const find = (order_id: string | undefined, order_link_id: string | undefined, index = 0) =>
          Effect.map(
            history.order({
              user_id: alice.user_id,
              sub_account_address: alice.account(index),
              order_id,
              order_link_id
            }),
            (found) => found?.order_id
          )
        assert.strictEqual(yield* find(undefined, "a-1"), uuid(1))
        assert.strictEqual(yield* find(uuid(4), undefined, 1), uuid(4))
        assert.isUndefined(yield* find(uuid(4), undefined, 0))
        assert.isUndefined(yield* find(undefined, "a-2"))
      })
    )

    test(
      "hands executions of everybody to who counts them, in the order of the stream, each once",
      Effect.gen(function* () {
        const history = yield* History
        assert.strictEqual(yield* history.lastExecution, 0)
        assert.deepStrictEqual(yield* history.executionsAfter(0, 10), [])
        const fills = [1, 2, 3, 4, 5].map((n) =>
          event(n, body.execution({ exec_id: uuid(n), exec_time: String(START + n) }), {
            user_id: (n % 2 === 0 ? bob : alice).user_id
          })
        )
        yield* commit(fills.slice(0, 2))
        yield* commit(fills.slice(2))
        const seen: Array<string> = []
        let after = 0
        for (;;) {
          const rows = yield* history.executionsAfter(after, 2)
          if (rows.length === 0) break
          for (const { execution, user_id } of rows) {
            seen.push(`${execution.exec_id} ${user_id === bob.user_id ? "bob" : "alice"}`)
          }
          after = rows.at(-1)!.id
        }
        assert.deepStrictEqual(
          seen,
          [1, 2, 3, 4, 5].map((n) => `${uuid(n)} ${n % 2 === 0 ? "bob" : "alice"}`)
        )
        assert.strictEqual(yield* history.lastExecution, after)
      })
    )

    test(
      "filters executions by order and kind, newest first",
      Effect.gen(function* () {
        const history = yield* History
        const exec_time = (n: number) => String(START + n)
        yield* commit([
          event(1, body.execution({ exec_id: uuid(11), exec_time: exec_time(1) })),
          event(2, body.execution({ exec_id: uuid(12), exec_time: exec_time(2), order_id: uuid(2) })),
          event(3, body.execution({ exec_id: uuid(13), exec_time: exec_time(2), exec_type: "Funding" }))
        ])
        const ids = (fields: Partial<ExecutionQuery>) =>
          Effect.map(history.executions(executionsOf(fields)), ({ rows }) =>
            rows.map((row) => Number(row.exec_id.slice(-2)))
          )
        assert.deepStrictEqual(yield* ids({}), [13, 12, 11])
        assert.deepStrictEqual(yield* ids({ order_id: uuid(2) }), [12])
        assert.deepStrictEqual(yield* ids({ exec_type: "Funding" }), [13])
        const first = yield* history.executions(executionsOf({ limit: 1 }))
        assert.deepStrictEqual(yield* ids({ after: first.next, limit: 1 }), [12])
      })
    )

    test(
      "keeps movements of money and sub-accounts, the last state of each",
      Effect.gen(function* () {
        const history = yield* History
        const movement = {
          transfer_id: uuid(50),
          user_id: alice.user_id,
          kind: "withdrawal" as const,
          from_sub_account_address: alice.account(0),
          to_sub_account_address: undefined,
          asset: "USDC",
          amount: "5",
          status: "pending" as const,
          reference: "x",
          created_time: START,
          updated_time: START
        }
        const account = {
          sub_account_address: alice.account(0),
          user_id: alice.user_id,
          root_address: alice.root,
          index: 0,
          frozen: false,
          deleted: false,
          created_time: START
        }
        yield* commit([
          event(1, { type: "sub_account", sub_account: account }),
          event(2, { type: "movement", movement }),
          event(3, { type: "movement", movement: { ...movement, transfer_id: uuid(51), created_time: START + 1 } })
        ])
        yield* commit([
          event(4, { type: "movement", movement: { ...movement, status: "completed" } }),
          event(5, { type: "sub_account", sub_account: { ...account, frozen: true } })
        ])
        const query = ordersOf()
        const { rows } = yield* history.movements({ ...query, kind: undefined, sub_accounts: [alice.account(0)] })
        assert.deepStrictEqual(
          rows.map((row) => [row.transfer_id, row.status]),
          [
            [uuid(51), "pending"],
            [uuid(50), "completed"]
          ]
        )
        assert.deepStrictEqual((yield* history.movements({ ...query, kind: "deposit" })).rows, [])

        const transfer = { ...movement, kind: "transfer" as const, to_sub_account_address: alice.account(1) }
        yield* commit([event(6, { type: "movement", movement: { ...transfer, transfer_id: uuid(52) } })])
        const within = (...places: ReadonlyArray<number>) =>
          Effect.map(
            history.movements({ ...query, kind: "transfer", within: places.map((place) => alice.account(place)) }),
            (page) => page.rows.map((row) => row.transfer_id)
          )
        assert.deepStrictEqual(yield* within(0, 1), [uuid(52)])
        for (const places of [[0], [1], [0, 2], []]) assert.deepStrictEqual(yield* within(...places), [])
        assert.deepStrictEqual(yield* history.subAccounts(alice.user_id), [{ ...account, frozen: true }])
        assert.deepStrictEqual(yield* history.subAccounts(bob.user_id), [])
      })
    )

    test(
      "answers closed candles and the open one, newest first, and where each price stands",
      Effect.gen(function* () {
        const history = yield* History
        const at = (n: number) => START + n * MINUTE_MS
        yield* commit([event(1, body.trades({ timestamp: at(0), price: "10" }))])
        yield* commit([event(2, body.trades({ timestamp: at(2), price: "11" }))])
        yield* commit([
          event(3, body.prices({ ts_ms: at(3) })),
          event(4, body.trades({ timestamp: at(5), price: "12" }))
        ])
        const minutes = (start: number, end: number, limit = 10) =>
          Effect.map(history.candles({ kind: "trade", symbol, interval: "1", start, end, limit }), (candles) =>
            candles.map((c) => [(c.start_time - START) / MINUTE_MS, c.close, c.confirm])
          )
        assert.deepStrictEqual(yield* minutes(0, at(60)), [
          [5, "12", false],
          [2, "11", true],
          [0, "10", true]
        ])
        assert.deepStrictEqual(yield* minutes(at(1), at(5)), [[2, "11", true]])
        assert.deepStrictEqual(yield* minutes(0, at(60), 1), [[5, "12", false]])
        const last = yield* history.lastCandles
        assert.deepStrictEqual(last.map(({ kind, last }) => [kind, last.length]).sort(), [
          ["index", 13],
          ["mark", 13],
          ["trade", 13]
        ])
      })
    )

    test(
      `keeps the last ${TRADES_KEPT} trades of a market, newest first`,
      Effect.gen(function* () {
        const history = yield* History
        for (let batch = 0; batch < 3; batch++) {
          yield* commit([
            event(
              batch + 1,
              body.trades(
                ...Array.from({ length: 1_100 }, (_, i) => ({
                  trade_id: String(batch * 1_100 + i),
                  timestamp: START + batch
                }))
              )
            )
          ])
        }
        const trades = yield* history.trades(symbol, 1_000)
        assert.strictEqual(trades.length, 1_000)
        assert.strictEqual(trades[0]!.trade_id, "3299")
        assert.strictEqual(trades[999]!.trade_id, "2300")
        assert.strictEqual((yield* history.trades(symbol, 2))[1]!.trade_id, "3298")
      })
    )

    test(
      "keeps 10,000 events of a user, and all of 24 hours",
      Effect.gen(function* () {
        const history = yield* History
        let seq = 0
        const many = (count: number, ts_ms: number) =>
          Array.from({ length: count }, () => event(++seq, body.balance(), { ts_ms }))
        for (let batch = 0; batch < 13; batch++) yield* commit(many(USER_EVENTS_KEPT / 10, START))
        const oldest = Effect.map(history.userEvents(alice.user_id, 0, 1), ([first]) => first!.seq)
        assert.strictEqual(yield* oldest, 1, "all of the last 24 hours are kept")
        yield* commit(many(2_048, START + DAY_MS + 1))
        const kept = seq - (yield* oldest) + 1
        assert.isAtLeast(kept, USER_EVENTS_KEPT)
        assert.isAtMost(kept, USER_EVENTS_KEPT + 2_048, "old ones are let go now and then")
        const page = yield* history.userEvents(alice.user_id, seq - 3, 2)
        assert.deepStrictEqual(
          page.map((each) => each.seq),
          [seq - 2, seq - 1]
        )
        const all = yield* history.userEvents(alice.user_id, seq - 5_000, 10_000)
        assert.deepStrictEqual(
          all.map((each) => each.seq),
          Array.from({ length: 5_000 }, (_, i) => seq - 4_999 + i)
        )
      })
    )

    test(
      "lists rows of a new numbering before the older ones, though their seqs and times repeat",
      Effect.gen(function* () {
        const history = yield* History
        /** One row of each list, with the same seqs and times in each numbering. */
        const rowsOf = (n: number): ReadonlyArray<Event> => {
          const at = { ts_ms: START }
          const movement = {
            transfer_id: uuid(60 + n),
            user_id: alice.user_id,
            kind: "deposit" as const,
            from_sub_account_address: undefined,
            to_sub_account_address: alice.account(0),
            asset: "USDC",
            amount: String(n),
            status: "completed" as const,
            reference: "rail",
            created_time: START,
            updated_time: START
          }
          return [
            event(1, { type: "movement", movement }, at),
            event(2, body.trades({ trade_id: String(n), timestamp: START }), at),
            event(3, body.order({ order_id: uuid(n), side: "Sell", order_status: "Filled" }), at),
            event(4, body.closing({ order_id: uuid(n), exec_id: uuid(n) }), at),
            event(5, body.funding({ funding_rate: String(n) }), at),
            event(6, body.funded({ exec_id: uuid(10 + n), base_fee: String(n) }), at),
            event(7, body.money("funding", String(n), { amount: "-1", symbol }), at),
            event(8, body.pool({ cash_balance: String(n) }), at),
            event(9, body.adl({ equity: String(n) }), at)
          ]
        }
        yield* commit(rowsOf(1))
        const nothing = { orders: [], subAccounts: [], instruments: [], records: [] }
        yield* history.restart({ epoch: EPOCH, seq: 9 }, { epoch: "e2", seq: 0, began: 0, ts_ms: START }, nothing)
        yield* commit(rowsOf(2), "e2")
        const query = ordersOf()
        const executions = (yield* history.executions(executionsOf())).rows
        const moved = yield* history.movements({ ...query, kind: undefined, limit: 1 })
        const before = yield* history.movements({ ...query, kind: undefined, limit: 1, after: moved.next })
        assert.deepStrictEqual(
          {
            movements: [...moved.rows, ...before.rows].map(({ amount }) => amount),
            trades: (yield* history.trades(symbol, 10)).map(({ trade_id }) => trade_id),
            orders: (yield* history.orders(query)).rows.map(({ order_id }) => order_id),
            executions: executions.map(({ exec_id }) => exec_id),
            closed: (yield* history.closedPnls(query)).rows.map(({ order_id }) => order_id),
            rates: (yield* history.fundingRates({ ...query, symbol })).rows.map(({ funding_rate }) => funding_rate),
            payments: (yield* history.fundingPayments(query)).rows.length,
            balances: (yield* history.transactions({ ...query, type: "funding" })).rows.map((row) => row.balance_after),
            pools: (yield* history.pools(query)).map(({ cash_balance }) => cash_balance),
            alerts: (yield* history.adlAlerts(query)).map(({ equity }) => equity)
          },
          {
            movements: ["2", "1"],
            trades: ["2", "1"],
            orders: [uuid(2), uuid(1)],
            executions: [uuid(12), uuid(2), uuid(11), uuid(1)],
            closed: [uuid(2), uuid(1)],
            rates: ["2", "1"],
            payments: 2,
            balances: ["2", "1"],
            pools: ["2", "1"],
            alerts: ["2", "1"]
          }
        )
      })
    )

    test(
      "pages from an open order of a new numbering to the last order before it, though their times are equal",
      Effect.gen(function* () {
        const history = yield* History
        yield* commit([event(1, body.order({ order_id: uuid(1), order_status: "Filled" }))])
        const fresh = order({ order_id: uuid(2) })
        yield* history.restart(
          { epoch: EPOCH, seq: 1 },
          { epoch: "e2", seq: 0, began: 0, ts_ms: START },
          {
            orders: [{ user_id: alice.user_id, order: fresh, record: RecordJson.order(fresh) }],
            subAccounts: [],
            instruments: ["ETH-USDC", symbol].map((of) => instrument({ symbol: of })),
            records: []
          }
        )
        const first = yield* history.orders(ordersOf({ limit: 1 }))
        const second = yield* history.orders(ordersOf({ limit: 1, after: first.next }))
        assert.deepStrictEqual(
          [first, second].map(({ rows }) => rows.map(({ order_id }) => order_id)),
          [[uuid(2)], [uuid(1)]]
        )
        // in the order of the sequencer
        assert.deepStrictEqual(
          (yield* history.instruments).map((row) => row.symbol),
          ["ETH-USDC", symbol]
        )
      })
    )

    test(
      "starts numbering anew: forgets streams and what is not open any more, keeps what is past",
      Effect.gen(function* () {
        const history = yield* History
        yield* commit(story())
        const still = order({ order_id: uuid(1), order_link_id: "a-1", leaves_qty: "0.1" })
        const fresh = order({ order_id: uuid(9), created_time: String(START) })
        const open = [still, fresh].map((each) => ({
          user_id: alice.user_id,
          order: each,
          record: RecordJson.order(each)
        }))
        const of = { user_id: alice.user_id, sub_account_address: alice.account(0) }
        const records = [{ ...of, topic: "account_balance" as const, subject: "USDC", seq: 0, record: "{}" }]
        const to = { epoch: "e2", seq: 3, began: 3, ts_ms: START + 5_000 }
        const anew = { orders: open, subAccounts: [], instruments: [instrument({ status: "ReduceOnly" })], records }
        const before = yield* everything
        assert.isNotEmpty(before.positions)
        assert.deepStrictEqual(before.holdings, sorted([...before.balances, ...before.positions]))
        for (const elsewhere of [undefined, { epoch: EPOCH, seq: 10 }, { epoch: "e0", seq: 11 }]) {
          const refused = yield* Effect.flip(history.restart(elsewhere, to, anew))
          assert.strictEqual(refused._tag, "ProjectionRefused")
          assert.deepStrictEqual(refused._tag === "ProjectionRefused" && refused.position, before.position)
          assert.deepStrictEqual(yield* everything, before, "nothing of what is refused is written")
        }
        yield* history.restart({ epoch: EPOCH, seq: 11 }, to, anew)
        assert.deepStrictEqual(yield* history.position, { ...to, version: READ_MODEL_VERSION })
        assert.deepStrictEqual(yield* history.streamHeads, [])
        assert.deepStrictEqual(yield* history.userEvents(alice.user_id, 0, 10), [])
        assert.deepStrictEqual(yield* history.lastRecords(alice.user_id, "account_balance"), anew.records)
        assert.deepStrictEqual(yield* history.lastRecords(alice.user_id, "position"), [])
        assert.deepStrictEqual((yield* history.orders(ordersOf({ user_id: bob.user_id }))).rows, [])
        assert.strictEqual((yield* history.executions(executionsOf())).rows.length, 1)
        assert.strictEqual((yield* history.trades(symbol, 10)).length, 1)
        assert.strictEqual((yield* history.instruments)[0]!.status, "ReduceOnly")
        // at equal times, later rows precede earlier ones
        yield* commit([event(4, body.order({ order_id: uuid(10), created_time: String(START) }))], "e2")
        const { rows } = yield* history.orders(ordersOf())
        assert.deepStrictEqual(
          rows.map((row) => [row.order_id, row.leaves_qty]),
          [
            [uuid(3), "0.5"],
            [uuid(10), "0.5"],
            [uuid(9), "0.5"],
            [uuid(1), "0.1"]
          ]
        )
        assert.strictEqual((yield* history.userEvents(alice.user_id, 0, 10))[0]!.seq, 1)
        assert.strictEqual((yield* history.position)!.began, 3)
      })
    )
  })
