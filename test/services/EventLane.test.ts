/** The event lane over the real backend: gRPC in, SQLite on disk, two lives of the gateway's side. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Backend from "../../src/backend/Backend.ts"
import { SIM_MAKER_ROOT, userIdOf } from "../../src/domain/Address.ts"
import type { Order } from "../../src/domain/Order.ts"
import type { UserStreamEvent } from "../../src/domain/Projection.ts"
import * as GrpcFeed from "../../src/layers/grpc/GrpcFeed.ts"
import * as GrpcPriceFeed from "../../src/layers/grpc/GrpcPriceFeed.ts"
import * as GrpcReferee from "../../src/layers/grpc/GrpcReferee.ts"
import * as GrpcSequencer from "../../src/layers/grpc/GrpcSequencer.ts"
import * as NodeSqlite from "../../src/layers/sql/NodeSqlite.ts"
import * as SqlHistory from "../../src/layers/sql/SqlHistory.ts"
import { BackendHealth } from "../../src/services/operations/BackendHealth.ts"
import { History } from "../../src/services/History.ts"
import { MarketView } from "../../src/services/markets/MarketView.ts"
import * as PriceFollower from "../../src/services/markets/PriceFollower.ts"
import { HistoryWriter } from "../../src/services/read-model/HistoryWriter.ts"
import { Projector } from "../../src/services/read-model/Projector.ts"
import { type CommandBody, Sequencer } from "../../src/services/Sequencer.ts"
import { UserStreams } from "../../src/services/read-model/UserStreams.ts"
import { symbol, userOf } from "../../verification/harness/Records.ts"

const secret = Redacted.make("a-secret-of-the-test")
const maker = userIdOf(SIM_MAKER_ROOT)
const alice = userOf(1)

const backend = (dataDir: string) =>
  Backend.serve({
    dataDir,
    port: 0,
    host: "127.0.0.1",
    marketsFile: undefined,
    faucetDailyLimit: "100000",
    indexSource: "simulated",
    simMaker: true,
    simTakers: false,
    eventsKept: 500_000,
    openOrdersMax: 1_000_000,
    poolBaseEquity: "1000000",
    secret,
    tlsCa: undefined,
    tlsCert: undefined,
    tlsKey: undefined,
    logLevel: "error"
  })

const gateway = (port: number, filename: string) => {
  const endpoint = { address: `127.0.0.1:${port}`, secret, tls: undefined }
  return PriceFollower.layer.pipe(
    Layer.provideMerge(Projector.layer({ houseUsers: new Set([maker]) })),
    Layer.provideMerge(HistoryWriter.layer()),
    Layer.provideMerge(SqlHistory.layer),
    Layer.provide(NodeSqlite.layer({ filename, synchronous: "NORMAL" })),
    Layer.provideMerge(BackendHealth.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        GrpcFeed.layer(endpoint),
        GrpcPriceFeed.layer(endpoint),
        GrpcReferee.layer(endpoint),
        GrpcSequencer.layer(endpoint)
      )
    )
  )
}

/** Waits, in real time, until something holds. */
const until = (what: string, condition: () => boolean) =>
  Effect.gen(function* () {
    for (let i = 0; i < 1_000; i++) {
      if (condition()) return
      yield* Effect.sleep("10 millis")
    }
    assert.fail(`it never came to this: ${what}`)
  })

const submit = (body: CommandBody) =>
  Effect.flatMap(Sequencer, (sequencer) =>
    sequencer.submit({
      command_id: randomUUID(),
      user_id: alice.user_id,
      sub_account_address: alice.account(0),
      body
    })
  )
const buy = (order_link_id: string): CommandBody => ({
  type: "place",
  order: {
    symbol,
    side: "Buy",
    order_type: "Market",
    qty: "0.01",
    price: undefined,
    time_in_force: "IOC",
    post_only: false,
    reduce_only: false,
    close_on_trigger: false,
    order_link_id,
    expire_time: undefined,
    trigger: undefined,
    tpsl: undefined,
    smp_type: "CancelTaker"
  }
})
const mine = {
  user_id: alice.user_id,
  sub_accounts: undefined,
  symbol: undefined,
  start_time: undefined,
  end_time: undefined,
  limit: 50,
  after: undefined
}

/** What every reader must find, whichever life this is. */
const sound = Effect.gen(function* () {
  const history = yield* History
  const view = yield* MarketView
  const sequencer = yield* Sequencer
  const projector = yield* Projector
  const head = yield* sequencer.head
  yield* until("level with the sequencer", () => (projector.position()?.seq ?? 0) >= head.head_seq)
  yield* until("books read", () => view.instruments().every((each) => view.book(each.symbol) !== undefined))
  // a book is compared where neither side moved on meanwhile
  let compared = 0
  for (const { symbol } of view.instruments()) {
    const read = yield* sequencer.orderBook(symbol)
    yield* until("the stream is as far", () => view.book(symbol)!.seq >= read.book_seq)
    const book = view.book(symbol)!
    if (book.seq !== read.book_seq) continue
    compared++
    assert.deepStrictEqual([book.bids, book.asks], [read.bids, read.asks])
  }
  assert.isAbove(compared, 0)
  const events = yield* history.userEvents(alice.user_id, 0, 1_000)
  events.forEach(({ seq }, i) => assert.strictEqual(seq, i + 1))
  const last = new Map<string, Order>()
  for (const { record, topic } of events) {
    if (topic === "order") last.set((JSON.parse(record) as Order).order_id, JSON.parse(record) as Order)
  }
  const { rows } = yield* history.orders({
    ...mine,
    order_id: undefined,
    order_link_id: undefined,
    statuses: undefined
  })
  assert.deepStrictEqual(rows.map((row) => row.order_id).sort(), [...last.keys()].sort(), "every order once")
  for (const row of rows) assert.deepStrictEqual(row, last.get(row.order_id), "as in its last event")
  assert.deepStrictEqual((yield* history.userEvents(maker, 0, 1)).length, 0)
  return { events, orders: rows }
})

describe("the event lane over the backend", () => {
  it.live("shows the results of orders, and continues after a restart", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "lane-"))),
        (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
      )
      const { port } = yield* backend(folder)
      const filename = join(folder, "history.sqlite")
      const received: Array<UserStreamEvent> = []

      const first = yield* Effect.gen(function* () {
        const view = yield* MarketView
        const streams = yield* UserStreams
        const health = yield* BackendHealth
        streams.follow(alice.user_id, (events) => received.push(...events))
        yield* until("the maker quotes", () => (view.book(symbol)?.asks.length ?? 0) > 0)
        yield* submit({ type: "create_sub_account", root_address: alice.root, index: 0 })
        yield* submit({ type: "deposit", deposit_id: randomUUID(), asset: "USDC", amount: "10000", source: "faucet" })
        yield* submit(buy("a-1"))
        yield* submit(buy("a-2"))
        const found = yield* sound
        assert.deepStrictEqual(
          found.orders.map((order) => [order.order_link_id, order.order_status]),
          [
            ["a-2", "Filled"],
            ["a-1", "Filled"]
          ]
        )
        assert.deepStrictEqual(
          received.map(({ seq, record }) => [seq, record]),
          found.events.map(({ seq, record }) => [seq, record])
        )
        const ticker = view.ticker(symbol)!
        assert.strictEqual(ticker.volume_24h, "0.02")
        assert.strictEqual(ticker.last_price, view.recentTrades(symbol, 1)[0]!.price)
        assert.isFalse(health.sequencer().unhealthy)
        assert.isFalse(health.referee().unhealthy)
        return found
      }).pipe(Effect.provide(gateway(port, filename)))

      yield* Effect.gen(function* () {
        const view = yield* MarketView
        const streams = yield* UserStreams
        yield* until("loaded", () => streams.head(alice.user_id) >= first.events.length)
        yield* submit(buy("a-3"))
        const found = yield* sound
        assert.deepStrictEqual(found.events.slice(0, first.events.length), first.events)
        assert.strictEqual(found.orders.length, 3)
        assert.strictEqual(view.ticker(symbol)!.volume_24h, "0.03")
      }).pipe(Effect.provide(gateway(port, filename)))

      // another backend in its place: another epoch, nothing open, numbers begin anew, the past stays
      const other = yield* backend(join(folder, "other"))
      yield* Effect.gen(function* () {
        const history = yield* History
        const projector = yield* Projector
        const streams = yield* UserStreams
        const view = yield* MarketView
        yield* until("the other epoch", () => projector.position()?.epoch === other.epoch)
        yield* until("books read", () => view.instruments().every((each) => view.book(each.symbol) !== undefined))
        assert.isTrue(streams.streamId().startsWith(other.epoch))
        assert.strictEqual(streams.head(alice.user_id), 0)
        assert.deepStrictEqual(yield* history.userEvents(alice.user_id, 0, 10), [])
        const { rows } = yield* history.orders({
          ...mine,
          order_id: undefined,
          order_link_id: undefined,
          statuses: undefined
        })
        assert.strictEqual(rows.length, 3)
        assert.strictEqual(view.recentTrades(symbol, 10).length, 3)
      }).pipe(Effect.provide(gateway(other.port, filename)))
    }).pipe(Effect.scoped)
  )
})
