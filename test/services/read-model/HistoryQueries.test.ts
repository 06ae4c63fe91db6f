import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Cursor from "../../../src/domain/Cursor.ts"
import type { Movement } from "../../../src/domain/Movement.ts"
import type { Execution } from "../../../src/domain/Execution.ts"
import type { Order } from "../../../src/domain/Order.ts"
import { DAY_MS } from "../../../src/domain/Time.ts"
import type { Caller } from "../../../src/domain/User.ts"
import { type ListQuery, OFFSET_MAX, type OrderQuery } from "../../../src/services/History.ts"
import type { ListRequest, Page, SpanRequest } from "../../../src/services/operations/Paging.ts"
import { HistoryQueries, type ListFailure } from "../../../src/services/read-model/HistoryQueries.ts"
import { UserStreams } from "../../../src/services/read-model/UserStreams.ts"
import { foreign, policies, tokenCaller, v0, v1, well } from "../../http/Fixture.ts"

const now = 1_767_225_600_000

describe("a cursor", () => {
  const key = new Uint8Array(32).fill(3)
  const text = Cursor.print(key, "order/history", ["u", undefined, 5], "12.7")
  it("needs no encoding in a query", () => assert.match(text, /^[A-Za-z0-9_-]+$/u))
  it("leads back to its row", () => {
    assert.strictEqual(Cursor.parse(key, "order/history", ["u", undefined, 5], text), "12.7")
  })
  it("is refused by another key, endpoint, filter or user", () => {
    assert.isUndefined(Cursor.parse(new Uint8Array(32), "order/history", ["u", undefined, 5], text))
    assert.isUndefined(Cursor.parse(key, "execution/list", ["u", undefined, 5], text))
    for (const filters of [["v", undefined, 5], ["u", undefined, 6], ["u", 5, undefined], ["u", undefined, "5"], []]) {
      assert.isUndefined(Cursor.parse(key, "order/history", filters, text))
    }
  })
  it("has one text, whatever its length", () => {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for (const place of ["1", "12", "123"]) {
      const own = Cursor.print(key, "order/history", [], place)
      for (const last of alphabet) {
        const parsed = Cursor.parse(key, "order/history", [], own.slice(0, -1) + last)
        assert.strictEqual(parsed, last === own.at(-1) ? place : undefined)
      }
    }
  })
  it("is refused with any one character altered, added or taken", () => {
    for (let i = 0; i < text.length; i++) {
      const other = text[i] === "A" ? "B" : "A"
      assert.isUndefined(
        Cursor.parse(key, "order/history", ["u", undefined, 5], text.slice(0, i) + other + text.slice(i + 1))
      )
      assert.isUndefined(Cursor.parse(key, "order/history", ["u", undefined, 5], text.slice(0, i)))
    }
    for (const more of ["A", "=", " ", "\n"]) {
      assert.isUndefined(Cursor.parse(key, "order/history", ["u", undefined, 5], text + more))
    }
    assert.isUndefined(Cursor.parse(key, "order/history", [], "A".repeat(10_000)))
  })
})

describe("the lists", () => {
  const order = (id: string) => ({ order_id: id }) as Order
  /** Answers two pages, and keeps what it was asked. */
  const world = () => {
    const asked: Array<OrderQuery> = []
    const layer = policies({
      history: {
        orders: (query) => {
          asked.push(query)
          return Effect.succeed(
            query.after === undefined
              ? { rows: [order("2")], next: { time: 9, id: 4 } }
              : { rows: [order("1")], next: undefined }
          )
        }
      }
    })
    return { asked, layer }
  }

  it.effect("go on where the page before ended", () => {
    const { asked, layer } = world()
    return Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const lists = yield* HistoryQueries
      const filters = { symbol: "BTC-USDC", order_status: ["Filled", "New"], start_time: now - DAY_MS } as const
      const first = yield* lists.orders(tokenCaller, { ...filters, limit: 1 })
      yield* TestClock.adjust("1 hour")
      const second = yield* lists.orders(tokenCaller, { ...filters, limit: 5, cursor: first.next_page_cursor })
      assert.deepStrictEqual([first.list, second.list], [[order("2")], [order("1")]])
      assert.strictEqual(second.next_page_cursor, "")
      assert.deepStrictEqual(asked[1]?.after, { time: 9, id: 4 })
      assert.deepInclude(asked[0]!, { limit: 1, start_time: now - DAY_MS, end_time: now + 1, sub_accounts: undefined })
      const foreignCursor = yield* Effect.flip(
        lists.orders({ ...tokenCaller, user_id: "somebody" }, { ...filters, cursor: first.next_page_cursor })
      )
      assert.deepInclude(foreignCursor, { reason: "InvalidCursor" })
      const otherFilter = yield* Effect.flip(lists.orders(tokenCaller, { cursor: first.next_page_cursor }))
      assert.deepInclude(otherFilter, { reason: "InvalidCursor" })
    }).pipe(Effect.provide(layer))
  })

  it.effect("hold the newest record where the clock of this gateway is behind engine time", () => {
    const engine_ms = now + 5_000
    const asked: Array<OrderQuery> = []
    const layer = policies({
      markets: { now: () => engine_ms },
      history: {
        orders: (query) => {
          asked.push(query)
          return Effect.succeed({ rows: [], next: undefined })
        }
      }
    })
    return Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const lists = yield* HistoryQueries
      // a client that polls with the time of the last record that it has
      yield* lists.orders(tokenCaller, { start_time: engine_ms })
      assert.deepInclude(asked[0]!, { start_time: engine_ms, end_time: engine_ms + 1 })
    }).pipe(Effect.provide(layer))
  })

  it.effect("refuse a market that does not exist, each of them", () =>
    Effect.gen(function* () {
      const lists = yield* HistoryQueries
      const request = { symbol: "NO-SUCH" }
      for (const list of [
        lists.openOrders,
        lists.orders,
        lists.executions,
        lists.executionsAt,
        lists.closedPnls,
        lists.fundingPayments,
        lists.transactions
      ])
        assert.deepInclude(yield* Effect.flip(list(tokenCaller, request) as Effect.Effect<unknown, unknown>), {
          reason: "SymbolNotFound"
        })
    }).pipe(Effect.provide(policies({})))
  )

  it.effect("accept any market before the markets are loaded, and find no rows", () =>
    Effect.gen(function* () {
      const lists = yield* HistoryQueries
      assert.deepInclude(yield* lists.orders(tokenCaller, { symbol: "BTC-USDC" }), { list: [], next_page_cursor: "" })
    }).pipe(Effect.provide(policies({ markets: { instrument: () => undefined, instruments: () => [] } })))
  )

  it.effect("show open orders with the position of the user stream that they hold", () => {
    const { asked, layer } = world()
    return Effect.gen(function* () {
      const lists = yield* HistoryQueries
      const page = yield* lists.openOrders(tokenCaller, {})
      assert.deepInclude(page, { stream_id: "s1", seq: 7 })
      assert.deepStrictEqual(asked[0]?.statuses, ["New", "PartiallyFilled", "Untriggered", "CancelRequested"])
      assert.deepInclude(asked[0]!, { start_time: undefined, end_time: undefined, limit: 50 })
    }).pipe(Effect.provide(layer))
  })

  it.effect("name the position from before the read, where an event is committed during the read", () => {
    let head = 7
    const streams = Layer.mock(UserStreams)({
      streamId: () => "s1",
      head: () => head,
      follow: () => () => {},
      onRestart: () => () => {}
    })
    const doubles = {
      history: {
        orders: () =>
          Effect.sync(() => {
            head = 8
            return { rows: [order("1")], next: undefined }
          })
      }
    }
    const layer = HistoryQueries.layer.pipe(Layer.fresh, Layer.provide(streams), Layer.provide(policies(doubles)))
    return Effect.gen(function* () {
      const lists = yield* HistoryQueries
      assert.deepInclude(yield* lists.openOrders(tokenCaller, {}), { stream_id: "s1", seq: 7 })
      assert.strictEqual(head, 8)
    }).pipe(Effect.provide(layer))
  })

  it.effect("show a bound key what it is bound to", () => {
    const { asked, layer } = world()
    const bound: Caller = { ...tokenCaller, bound_to: new Set([v1]) }
    return Effect.gen(function* () {
      const lists = yield* HistoryQueries
      yield* lists.orders(bound, {})
      yield* lists.orders(bound, { sub_account_address: v1 })
      assert.deepStrictEqual(
        asked.map((query) => query.sub_accounts),
        [[v1], [v1]]
      )
      for (const sub_account_address of [v0, foreign]) {
        const refused = yield* Effect.flip(lists.orders(bound, { sub_account_address }))
        assert.deepInclude(refused, { reason: "SubAccountNotFound" })
      }
      const somebody = yield* Effect.flip(lists.orders(tokenCaller, { sub_account_address: foreign }))
      assert.deepInclude(somebody, { reason: "SubAccountNotFound" })
    }).pipe(Effect.provide(layer))
  })

  it.effect("page what moved money and results by the same rules", () => {
    const asked: Array<ListQuery> = []
    const read = (query: ListQuery) => {
      asked.push(query)
      return Effect.succeed({ rows: [], next: query.after === undefined ? { time: 9, id: 4 } : undefined })
    }
    const layer = policies({
      history: { closedPnls: read, fundingPayments: read, transactions: read, movements: read }
    })
    const bound: Caller = { ...tokenCaller, bound_to: new Set([v1]) }
    return Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const lists = yield* HistoryQueries
      type Plain = (caller: Caller, asked: ListRequest & SpanRequest) => Effect.Effect<Page<unknown>, ListFailure>
      const all: ReadonlyArray<Plain> = [
        lists.closedPnls,
        lists.fundingPayments,
        lists.transactions,
        lists.transfers,
        lists.deposits,
        lists.withdrawals
      ]
      const cursors = new Set<string>()
      for (const list of all) {
        asked.length = 0
        const first = yield* list(tokenCaller, { limit: 1 })
        const second = yield* list(tokenCaller, { limit: 1, cursor: first.next_page_cursor })
        assert.strictEqual(second.next_page_cursor, "")
        assert.deepStrictEqual(asked[1]?.after, { time: 9, id: 4 })
        cursors.add(first.next_page_cursor)
        const other = yield* Effect.flip(list(bound, { cursor: first.next_page_cursor }))
        assert.deepInclude(other, { reason: "InvalidCursor" })
        yield* list(bound, {})
        assert.deepStrictEqual(asked.at(-1)!.sub_accounts, [v1])
        const hidden = yield* Effect.flip(list(bound, { sub_account_address: v0 }))
        assert.deepInclude(hidden, { reason: "SubAccountNotFound" })
        const somebody = yield* Effect.flip(list(tokenCaller, { sub_account_address: foreign }))
        assert.deepInclude(somebody, { reason: "SubAccountNotFound" })
      }
      assert.strictEqual(cursors.size, all.length, "a cursor belongs to its endpoint")
      for (const list of all.slice(0, 3)) {
        yield* list(tokenCaller, { start_time: 0 })
        assert.deepInclude(asked.at(-1)!, { start_time: 0, end_time: now + 1 })
        const backwards = yield* Effect.flip(list(tokenCaller, { start_time: 2, end_time: 1 }))
        assert.deepInclude(backwards, { reason: "OutOfRange" })
      }
      const first = yield* lists.transactions(tokenCaller, { type: "fee" })
      const typed = yield* Effect.flip(lists.transactions(tokenCaller, { cursor: first.next_page_cursor }))
      assert.deepInclude(typed, { reason: "InvalidCursor" })
      for (const list of all.slice(0, 3)) {
        const unlisted = yield* Effect.flip(list(tokenCaller, { symbol: "NO-PE" }))
        assert.deepInclude(unlisted, { reason: "SymbolNotFound" })
      }
    }).pipe(Effect.provide(layer))
  })

  it.effect("a cursor is valid only for its side, reference and closing order", () => {
    const next = { rows: [], next: { time: 9, id: 4 } }
    const read = () => Effect.succeed(next)
    const layer = policies({ history: { orders: read, executions: read, closedPnls: read, transactions: read } })
    return Effect.gen(function* () {
      const lists = yield* HistoryQueries
      const held = Effect.fnUntraced(function* <const A extends object>(
        list: (caller: Caller, asked: A & ListRequest) => Effect.Effect<Page<unknown>, ListFailure>,
        one: A,
        other: A
      ) {
        const { next_page_cursor } = yield* list(tokenCaller, one)
        yield* list(tokenCaller, { ...one, cursor: next_page_cursor })
        const refused = yield* Effect.flip(list(tokenCaller, { ...other, cursor: next_page_cursor }))
        assert.deepInclude(refused, { reason: "InvalidCursor" })
      })
      yield* held(lists.openOrders, { side: "Buy" }, { side: "Sell" })
      yield* held(lists.orders, { side: "Buy" }, { side: "Sell" })
      yield* held(lists.executions, { side: "Buy" }, { side: "Sell" })
      yield* held(lists.executions, { order_link_id: "a-1" }, { order_link_id: "a-2" })
      yield* held(lists.closedPnls, { order_id: "1" }, { order_id: "2" })
      yield* held(lists.transactions, { symbol: "BTC-USDC" }, {})
    }).pipe(Effect.provide(layer))
  })

  it.effect("hold what the user's acknowledged commands did", () => {
    let waits = 0
    const read = () =>
      Effect.sync(() => {
        assert.isAbove(waits, 0)
        return { rows: [], next: undefined, total: 0 }
      })
    const layer = policies({
      readYourWrites: {
        awaitUser: (user_id) =>
          Effect.sync(() => {
            assert.strictEqual(user_id, tokenCaller.user_id)
            waits++
          })
      },
      history: {
        orders: read,
        executions: read,
        executionsAt: read,
        closedPnls: read,
        fundingPayments: read,
        transactions: read
      }
    })
    return Effect.gen(function* () {
      const lists = yield* HistoryQueries
      const all = [
        lists.openOrders,
        lists.orders,
        lists.executions,
        lists.executionsAt,
        lists.closedPnls,
        lists.fundingPayments,
        lists.transactions
      ]
      for (const list of all) {
        waits = 0
        yield* list(tokenCaller, {})
        assert.isAbove(waits, 0)
      }
    }).pipe(Effect.provide(layer))
  })

  it.effect("page the executions by offset, as deep as they may be read", () => {
    const asked: Array<number> = []
    const layer = policies({
      history: {
        executionsAt: ({ limit, offset }) => {
          asked.push(offset)
          // the scan ends after 35 of them
          const left = Math.max(0, Math.min(limit, 35 - offset))
          return Effect.succeed({ rows: Array.from({ length: left }, () => ({}) as Execution), total: 41 })
        }
      }
    })
    return Effect.gen(function* () {
      const lists = yield* HistoryQueries
      assert.deepInclude(yield* lists.executionsAt(tokenCaller, {}), {
        page: 1,
        per_page: 20,
        total: 41,
        total_pages: 3
      })
      const beyond = yield* Effect.flip(lists.executionsAt(tokenCaller, { page: 4, per_page: 10 }))
      assert.deepInclude(beyond, { reason: "OutOfRange", details: { field: "page" } })
      yield* lists.executionsAt(tokenCaller, { page: OFFSET_MAX / 100, per_page: 100 })
      const deep = yield* Effect.flip(lists.executionsAt(tokenCaller, { page: OFFSET_MAX / 100 + 1, per_page: 100 }))
      assert.deepInclude(deep, { reason: "OutOfRange" })
      assert.deepStrictEqual(asked, [0, 30, OFFSET_MAX - 100])
    }).pipe(Effect.provide(layer))
  })

  it.effect("a cursor is valid for the sub-accounts of its key and for its statuses, in any order", () => {
    const next = { rows: [], next: { time: 9, id: 4 } }
    const layer = policies({ history: { orders: () => Effect.succeed(next) } })
    const bound = (...addresses: ReadonlyArray<string>): Caller => ({ ...tokenCaller, bound_to: new Set(addresses) })
    return Effect.gen(function* () {
      const { orders } = yield* HistoryQueries
      const { next_page_cursor: ofBoth } = yield* orders(bound(v0, v1), {})
      yield* orders(bound(v1, v0), { cursor: ofBoth })
      assert.deepInclude(yield* Effect.flip(orders(bound(v1), { cursor: ofBoth })), { reason: "InvalidCursor" })
      const { next_page_cursor: ofTwo } = yield* orders(tokenCaller, { order_status: ["New", "Filled"] })
      yield* orders(tokenCaller, { order_status: ["Filled", "New"], cursor: ofTwo })
      const other = yield* Effect.flip(orders(tokenCaller, { order_status: ["New"], cursor: ofTwo }))
      assert.deepInclude(other, { reason: "InvalidCursor" })
    }).pipe(Effect.provide(layer))
  })

  it.effect("name the source of a deposit, and show a bound key the transfers between its own sub-accounts", () => {
    const asked: Array<ReadonlyArray<string> | undefined> = []
    const layer = policies({
      history: {
        movements: ({ within }) => {
          asked.push(within)
          const rows = ["faucet", "0xabc"].map((reference) => ({ reference }) as Movement)
          return Effect.succeed({ rows, next: undefined })
        }
      }
    })
    return Effect.gen(function* () {
      const lists = yield* HistoryQueries
      const { list } = yield* lists.deposits(tokenCaller, {})
      assert.deepStrictEqual(
        list.map(({ source }) => source),
        ["faucet", "rail"]
      )
      const bound: Caller = { ...tokenCaller, bound_to: new Set([v1]) }
      yield* lists.transfers(bound, {})
      yield* lists.transfers(tokenCaller, {})
      yield* lists.deposits(bound, {})
      assert.deepStrictEqual(asked, [undefined, [v1], undefined, undefined])
    }).pipe(Effect.provide(layer))
  })

  it.effect("are refused while the sequencer is unhealthy, open orders too", () => {
    const layer = policies({ health: { sequencer: () => ({ ...well, connected: false, unhealthy: true }) } })
    return Effect.gen(function* () {
      const lists = yield* HistoryQueries
      for (const list of [lists.openOrders, lists.orders, lists.executions, lists.executionsAt, lists.transfers]) {
        const refused = yield* Effect.flip(list(tokenCaller, {}) as Effect.Effect<unknown, unknown>)
        assert.deepInclude(refused, { reason: "BackendUnavailable" })
      }
    }).pipe(Effect.provide(layer))
  })
})
