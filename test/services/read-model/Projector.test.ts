import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Deferred, Duration, Effect, Fiber, Layer, Logger, Stream } from "effect"
import { TestClock } from "effect/testing"
import { monotonicMillis } from "../../../src/services/operations/Monotonic.ts"
import { aheadOf } from "../../../verification/harness/Clocks.ts"
import * as RecordJson from "../../../src/domain/RecordJson.ts"
import { Projecting, type UserStreamEvent } from "../../../src/domain/Projection.ts"
import { BackendHealth } from "../../../src/services/operations/BackendHealth.ts"
import { Feed } from "../../../src/services/Feed.ts"
import { History, HistoryUnavailable } from "../../../src/services/History.ts"
import { type MarketChange, MarketView } from "../../../src/services/markets/MarketView.ts"
import { HistoryWriter } from "../../../src/services/read-model/HistoryWriter.ts"
import { Projector } from "../../../src/services/read-model/Projector.ts"
import { WrittenHistory } from "../../../src/services/read-model/WrittenHistory.ts"
import { UserStreams } from "../../../src/services/read-model/UserStreams.ts"
import {
  alert,
  body,
  event,
  instrument,
  order,
  pool,
  prices,
  START,
  symbol,
  userOf,
  uuid
} from "../../../verification/harness/Records.ts"
import { eventually } from "../../doubles/Eventually.ts"
import { ScriptedBackend } from "../../doubles/ScriptedBackend.ts"
import { ScriptedFeed } from "../../doubles/ScriptedFeed.ts"
import * as SqliteStores from "../../doubles/SqliteStores.ts"

const alice = userOf(1).user_id

/** A history in memory that fails on demand. */
const faulty = (state: { failing: boolean }) =>
  Layer.effect(
    History,
    Effect.map(History, (history) =>
      History.of({
        ...history,
        commit: (projection) =>
          Effect.suspend(() => (state.failing ? Effect.fail(new HistoryUnavailable({})) : history.commit(projection)))
      })
    )
  ).pipe(Layer.provide(Layer.fresh(SqliteStores.history)))

const setting = (
  options: { readonly houseUsers?: ReadonlySet<string>; readonly history?: Layer.Layer<History> } = {}
) => {
  const feed = new ScriptedFeed()
  const backend = new ScriptedBackend()
  const faults = { failing: false }
  const layer = Projector.layer(options).pipe(
    Layer.provideMerge(HistoryWriter.layer()),
    Layer.provideMerge(options.history ?? faulty(faults)),
    Layer.provideMerge(BackendHealth.layer),
    Layer.provide([feed.layer, backend.layer, Logger.layer([])])
  )
  return { feed, backend, faults, layer }
}

const reached = (seq: number) =>
  Effect.flatMap(Projector, (projector) => eventually(`position ${seq}`, () => projector.position()?.seq === seq))

const emptyBook = { bids: [], asks: [], book_seq: 0, mts: START, as_of_seq: 3 }
const oneBid = { ...emptyBook, bids: [["59000", "1"]], book_seq: 1 } as const

describe("Projector", () => {
  it.effect("shows committed events to followers, in order", () => {
    const { feed, backend, layer } = setting()
    backend.book = () => emptyBook
    return Effect.gen(function* () {
      const streams = yield* UserStreams
      const view = yield* MarketView
      const history = yield* History
      const received: Array<UserStreamEvent> = []
      const lane: Array<string> = []
      view.follow(() => lane.push("market"))
      streams.follow(alice, (events) => {
        lane.push("user")
        received.push(...events)
      })
      yield* eventually("followed", () => feed.isFollowed)
      feed.tell(event(1, body.instrument()), event(2, body.order()), event(3, body.balance()))
      yield* reached(3)
      feed.tell(
        event(4, body.execution()),
        event(5, body.order({ order_status: "PartiallyFilled" })),
        event(6, body.trades({ trade_id: "1" })),
        event(7, body.book(1, [], [["60000", "0.5"]]))
      )
      yield* reached(7)
      assert.deepStrictEqual(
        received.map(({ seq, prev_seq, topic }) => [seq, prev_seq, topic]),
        [
          [1, 0, "order"],
          [2, 0, "account_balance"],
          [3, 0, "execution"],
          [4, 1, "order"]
        ]
      )
      assert.strictEqual(streams.head(alice), 4)
      assert.strictEqual(streams.streamId(), "e1-0")
      assert.strictEqual(lane.at(-2), "market", "books before private events")
      assert.strictEqual(lane.at(-1), "user")
      assert.deepStrictEqual(
        (yield* history.userEvents(alice, 0, 10)).map(({ record }) => record),
        received.map(({ record }) => record)
      )
      assert.strictEqual(received[0]!.record, RecordJson.order(order()))
      assert.deepStrictEqual(view.instruments(), [instrument()])
      yield* eventually("book read", () => view.book(symbol) !== undefined)
      assert.deepStrictEqual(view.book(symbol)!.asks, [["60000", "0.5"]])
      assert.strictEqual(view.recentTrades(symbol, 10)[0]!.trade_id, "1")
    }).pipe(Effect.provide(layer))
  })

  it.effect("serves others between the parts of a step of many events", () => {
    const { feed, layer } = setting()
    return Effect.gen(function* () {
      const projector = yield* Projector
      /** Events shown at once. */
      const shown: Array<number> = []
      let before = 0
      projector.onMoved(({ seq }) => {
        shown.push(seq - before)
        before = seq
      })
      yield* eventually("followed", () => feed.isFollowed)
      let turns = 0
      const count = () => {
        turns++
        if (before < 3_000) setImmediate(count)
      }
      setImmediate(count)
      const events = Array.from({ length: 3_000 }, (_, i) => event(i + 1, body.balance()))
      for (let i = 0; i < 30; i++) feed.push(events.slice(100 * i, 100 * (i + 1)))
      yield* reached(3_000)
      assert.isAtMost(Math.max(...shown), 611)
      assert.isAtLeast(turns, shown.length)
    }).pipe(Effect.provide(layer))
  })

  it.effect("reports position and balance after a move of the mark price, without a transaction", () => {
    const { feed, layer } = setting()
    return Effect.gen(function* () {
      const streams = yield* UserStreams
      const history = yield* History
      const received: Array<UserStreamEvent> = []
      streams.follow(alice, (events) => received.push(...events))
      yield* eventually("followed", () => feed.isFollowed)
      const marked = { ...body.balance({ unrealised_pnl: "50" }), reason: "mark", amount: "0", fee: "0" } as const
      feed.tell(event(1, body.position({ unrealised_pnl: "50", mark_price: "60250" })), event(2, marked))
      yield* reached(2)
      assert.deepStrictEqual(
        received.map(({ seq, topic }) => [seq, topic]),
        [
          [1, "position"],
          [2, "account_balance"]
        ]
      )
      assert.deepInclude(JSON.parse(received[0]!.record), { unrealised_pnl: "50", mark_price: "60250" })
      assert.deepInclude(JSON.parse(received[1]!.record), {
        reason: "mark",
        unrealised_pnl: "50",
        wallet_balance: "9993.4"
      })
      const all = { sub_accounts: undefined, symbol: undefined, start_time: undefined, end_time: undefined }
      const query = { ...all, user_id: alice, type: undefined, limit: 10, after: undefined }
      const { rows } = yield* history.transactions(query)
      assert.deepStrictEqual(rows, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("applies repeated events once and subscribes again from its position where some are missing", () => {
    const { feed, layer } = setting()
    return Effect.gen(function* () {
      const history = yield* History
      yield* eventually("followed", () => feed.isFollowed)
      const events = Array.from({ length: 6 }, (_, i) => event(i + 1, body.balance({ wallet_balance: String(i) })))
      feed.log.push(...events)
      feed.push(events.slice(0, 2))
      yield* reached(2)
      feed.push(events.slice(0, 3))
      yield* reached(3)
      feed.push(events.slice(4))
      yield* reached(6)
      assert.deepStrictEqual(
        feed.followed.map((at) => at?.seq),
        [undefined, 3]
      )
      const kept = yield* history.userEvents(alice, 0, 10)
      assert.deepStrictEqual(
        kept.map(({ record }) => (JSON.parse(record) as { wallet_balance: string }).wallet_balance),
        ["0", "1", "2", "3", "4", "5"]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("subscribes again with the checksum of its last event, where a frame repeats events and lacks one", () => {
    const { feed, layer } = setting()
    return Effect.gen(function* () {
      yield* eventually("followed", () => feed.isFollowed)
      const events = Array.from({ length: 5 }, (_, i) => event(i + 1, body.balance()))
      const sent = (...seqs: ReadonlyArray<number>) => {
        const frame = seqs.map((seq) => events[seq - 1]!)
        feed.push(frame, feed.epoch, { fork: "a fork", checksums: seqs.map((seq) => seq * 100) })
      }
      sent(1, 2)
      yield* reached(2)
      sent(2, 3, 5)
      yield* eventually("subscribed again", () => feed.followed.length === 2)
      const { checksum, seq } = feed.followed[1]!
      assert.deepStrictEqual({ seq, checksum }, { seq: 3, checksum: 300 })
    }).pipe(Effect.provide(layer))
  })

  it.effect("continues after the feed ended or failed", () => {
    const { feed, layer } = setting()
    return Effect.gen(function* () {
      yield* eventually("followed", () => feed.isFollowed)
      feed.tell(event(1, body.balance()))
      yield* reached(1)
      feed.end()
      yield* eventually("followed again", () => feed.followed.length === 2)
      feed.tell(event(2, body.balance()))
      yield* reached(2)
      feed.die("a bug")
      yield* eventually("followed once more", () => feed.followed.length === 3)
      feed.tell(event(3, body.balance()))
      yield* reached(3)
      assert.deepStrictEqual(
        feed.followed.map((at) => at?.seq),
        [undefined, 1, 2]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("loads the read model again after a failure within a batch, and its followers start anew", () => {
    const { feed, layer } = setting()
    return Effect.gen(function* () {
      const [streams, view] = [yield* UserStreams, yield* MarketView]
      yield* eventually("followed", () => feed.isFollowed)
      feed.tell(event(1, body.instrument()))
      yield* reached(1)
      const seen: Array<string> = []
      streams.onRestart(() => seen.push("restart"))
      streams.follow(alice, (events) => seen.push(...events.map(({ topic }) => topic)))
      let isFaulty = true
      view.follow(() => {
        if (!isFaulty) return
        isFaulty = false
        throw new Error("a follower fails")
      })
      feed.tell(event(2, body.trades({ trade_id: "1" })))
      yield* eventually("followed again", () => feed.followed.length === 2)
      assert.deepStrictEqual(seen, ["restart"])
      feed.tell(event(3, body.order()))
      yield* reached(3)
      assert.deepStrictEqual(seen, ["restart", "order"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("loads the read model once a damaged record of it is repaired", () => {
    let isDamaged = true
    const damaged = Layer.effect(
      History,
      Effect.map(History, (history) =>
        History.of({
          ...history,
          instruments: Effect.suspend(() => {
            if (isDamaged) throw new Error("the history is damaged: a record is no JSON")
            return history.instruments
          })
        })
      )
    ).pipe(Layer.provide(Layer.fresh(SqliteStores.history)))
    const { feed, layer } = setting({ history: damaged })
    return Effect.gen(function* () {
      yield* Projector
      yield* TestClock.adjust("5 seconds")
      assert.isFalse(feed.isFollowed)
      isDamaged = false
      yield* eventually("followed", () => feed.isFollowed)
      feed.tell(event(1, body.instrument()))
      yield* reached(1)
    }).pipe(Effect.provide(layer))
  })

  it.effect("follows a feed that ends again and again after longer pauses, until one lasts for ten seconds", () => {
    let follows = 0
    let lasts_ms = 0
    const feed = Layer.succeed(Feed, {
      follow: () =>
        Stream.fromEffectDrain(
          Effect.suspend(() => {
            follows++
            return Effect.sleep(lasts_ms)
          })
        )
    })
    const layer = Projector.layer().pipe(
      Layer.provide(HistoryWriter.layer()),
      Layer.provide(Layer.fresh(SqliteStores.history)),
      Layer.provide([feed, new ScriptedBackend().layer, BackendHealth.layer, Logger.layer([])])
    )
    /** In steps: each pause begins when the fiber runs. */
    const pass = (ms: number) =>
      Effect.forEach(Array.from({ length: ms / 50 }), () => TestClock.adjust("50 millis"), { discard: true })
    return Effect.gen(function* () {
      yield* eventually("followed", () => follows === 1)
      // 50 ms, doubled up to 2 s
      yield* pass(3_150)
      assert.strictEqual(follows, 7)
      yield* pass(4_000)
      assert.strictEqual(follows, 9)
      lasts_ms = 10_050
      yield* pass(2_000)
      assert.strictEqual(follows, 10)
      yield* pass(10_050)
      assert.strictEqual(follows, 10)
      yield* pass(50)
      assert.strictEqual(follows, 11)
    }).pipe(Effect.provide(layer))
  })

  it.effect("shows what arrives while the history fails, reports the failure after 5 s, and loses nothing", () => {
    const { feed, backend, faults, layer } = setting()
    backend.book = () => oneBid
    return Effect.gen(function* () {
      const view = yield* MarketView
      const streams = yield* UserStreams
      const health = yield* BackendHealth
      const history = yield* History
      yield* eventually("followed", () => feed.isFollowed)
      feed.tell(event(1, body.instrument()), event(2, body.book(1, [["59000", "1"]], [])), event(3, body.prices({})))
      yield* reached(3)
      yield* eventually("book read", () => view.book(symbol) !== undefined)
      yield* TestClock.adjust("1 second")
      faults.failing = true
      feed.heartbeat(3, START)
      feed.tell(event(4, body.order()), event(5, body.book(2, [["59001", "1"]], [])))
      yield* reached(5)
      assert.deepStrictEqual(view.book(symbol)!.bids, [
        ["59001", "1"],
        ["59000", "1"]
      ])
      assert.strictEqual(streams.head(alice), 1)
      const second = Effect.suspend(() => {
        feed.heartbeat(5, START)
        return TestClock.adjust("1 second")
      })
      for (let s = 0; s < 4; s++) yield* second
      assert.isFalse(health.sequencer().unhealthy)
      for (let s = 0; s < 2; s++) yield* second
      assert.strictEqual(health.sequencer().fault, "stalled")
      assert.strictEqual((yield* history.position)!.seq, 3)
      faults.failing = false
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* history.position)!.seq, 5)
      assert.strictEqual((yield* history.userEvents(alice, 0, 10)).length, 1)
      for (let s = 0; s < 3; s++) yield* second
      assert.isFalse(health.sequencer().unhealthy)
      assert.strictEqual(feed.followed.length, 1)
    }).pipe(Effect.provide(layer))
  })

  it.effect("rebuilds the open state if the position is gone, and notifies followers", () => {
    const { feed, backend, layer } = setting()
    backend.book = () => oneBid
    return Effect.gen(function* () {
      const streams = yield* UserStreams
      const view = yield* MarketView
      const history = yield* History
      const changes: Array<MarketChange> = []
      let restarts = 0
      yield* eventually("followed", () => feed.isFollowed)
      feed.tell(event(1, body.instrument()), event(2, body.order()), event(3, body.book(1, [["59000", "1"]], [])))
      yield* reached(3)
      yield* eventually("book read", () => view.book(symbol) !== undefined)
      streams.onRestart(() => restarts++)
      view.follow((all) => changes.push(...all))
      // another epoch, at seq 40, with another open order
      backend.head = { epoch: "e2", head_seq: 41 }
      backend.as_of_seq = 40
      backend.openOrders = [{ user_id: alice, order: order({ order_id: uuid(7), price: "58000" }) }]
      backend.instruments = [instrument()]
      backend.book = () => ({ bids: [["58000", "2"]], asks: [], book_seq: 9, mts: START, as_of_seq: 41 })
      feed.epoch = "e2"
      feed.log.length = 0
      feed.log.push(event(41, body.balance()))
      feed.forget()
      yield* reached(41)
      assert.deepStrictEqual(
        feed.followed.map((at) => [at?.epoch, at?.seq]),
        [
          [undefined, undefined],
          ["e2", 40]
        ]
      )
      assert.strictEqual(streams.streamId(), "e2-40")
      assert.strictEqual(view.streamId(), "e2-40")
      assert.strictEqual(streams.head(alice), 1)
      assert.strictEqual(restarts, 1)
      const found = yield* history.order({
        user_id: alice,
        sub_account_address: userOf(1).account(0),
        order_id: uuid(7),
        order_link_id: undefined
      })
      assert.strictEqual(found!.price, "58000")
      yield* eventually("book read", () => view.book(symbol)?.seq === 9)
      assert.isTrue(changes.some(({ reset }) => reset))
    }).pipe(Effect.provide(layer))
  })

  it.effect("loads the read model once after a rebuild, though the feed ends again before the next event", () => {
    const { feed, backend, layer } = setting()
    return Effect.gen(function* () {
      const streams = yield* UserStreams
      let loads = 0
      yield* eventually("followed", () => feed.isFollowed)
      feed.tell(event(1, body.balance()))
      yield* reached(1)
      // each load restarts the streams
      streams.onRestart(() => loads++)
      backend.head = { epoch: "e2", head_seq: 40 }
      backend.as_of_seq = 40
      feed.log.length = 0
      feed.forget()
      yield* eventually("rebuilt", () => feed.followed.length === 2)
      for (const follows of [3, 4]) {
        feed.end()
        yield* eventually("followed again", () => feed.followed.length === follows)
      }
      assert.strictEqual(loads, 1)
    }).pipe(Effect.provide(layer))
  })

  it.effect("reads pools and alerts after a gap in the stream, until it reports them", () => {
    const { feed, backend, layer } = setting()
    return Effect.gen(function* () {
      const view = yield* MarketView
      yield* eventually("followed", () => feed.isFollowed)
      feed.tell(event(1, body.instrument()), event(2, body.pool({ equity: "1000000" })), event(3, body.adl()))
      yield* reached(3)
      assert.strictEqual(view.alert(symbol)?.adl_mode, "Warning")
      backend.head = { epoch: "e1", head_seq: 41 }
      backend.as_of_seq = 40
      backend.instruments = [instrument()]
      backend.pool = { pool: pool({ equity: "7" }), alert: alert({ adl_mode: "Inactive" }) }
      feed.log.length = 0
      feed.log.push(event(41, body.balance()))
      feed.forget()
      yield* reached(41)
      yield* eventually("alert read", () => view.alert(symbol)?.adl_mode === "Inactive")
      assert.strictEqual(view.pool(symbol)?.equity, "7")
      feed.tell(event(42, body.pool({ equity: "8" })))
      yield* reached(42)
      assert.strictEqual(view.pool(symbol)?.equity, "8")
    }).pipe(Effect.provide(layer))
  })

  it.effect("keeps an instrument that changed on the stream before an older answer arrived", () => {
    const { feed, backend, layer } = setting()
    const arrived = Deferred.makeUnsafe<void>()
    backend.instruments = [instrument(), instrument({ symbol: "ETH-USDC" })]
    backend.instrumentsArrive = Deferred.await(arrived)
    return Effect.gen(function* () {
      const view = yield* MarketView
      const history = yield* History
      yield* eventually("followed", () => feed.isFollowed)
      feed.tell(event(1, body.balance()))
      yield* reached(1)
      feed.tell(event(2, body.instrument({ status: "ReduceOnly" })))
      yield* reached(2)
      yield* Deferred.succeed(arrived, undefined)
      yield* eventually("instruments known", () => view.instruments().length === 2)
      assert.strictEqual(view.instrument(symbol)?.status, "ReduceOnly")
      feed.tell(event(3, body.balance()))
      yield* reached(3)
      assert.deepStrictEqual(
        (yield* history.instruments).map((each) => [each.symbol, each.status]),
        [
          [symbol, "ReduceOnly"],
          ["ETH-USDC", "Trading"]
        ]
      )
    }).pipe(Effect.provide(layer))
  })

  /** Orders that are readable after a restored backend, on another fork, has sent event 41. */
  const afterRestore = (first_seq: number) => {
    const { feed, backend, layer } = setting()
    return Effect.gen(function* () {
      const history = yield* History
      yield* eventually("followed", () => feed.isFollowed)
      feed.tell(event(1, body.order({ order_id: uuid(5) })))
      feed.tell(event(2, body.order({ order_id: uuid(5), order_status: "Canceled" })))
      yield* reached(2)
      yield* (yield* WrittenHistory).all
      backend.head = { epoch: "e1", fork: "f2", head_seq: 41, first_seq }
      backend.as_of_seq = 40
      backend.openOrders = [{ user_id: alice, order: order({ order_id: uuid(7) }) }]
      feed.log.length = 0
      feed.log.push(event(first_seq === 1 ? 1 : 41, body.balance()))
      feed.forget("Forked")
      yield* eventually("followed again", () => feed.followed.length === 2)
      return yield* Effect.forEach([5, 7], (n) =>
        Effect.map(
          history.order({
            user_id: alice,
            sub_account_address: userOf(1).account(0),
            order_id: uuid(n),
            order_link_id: undefined
          }),
          (found) => found !== undefined
        )
      )
    }).pipe(Effect.provide(layer))
  }

  it.effect("announces the trades of another history only if they are later than those it has shown", () => {
    const { feed, backend, layer } = setting()
    const traded = (seq: number, second: number) =>
      event(seq, body.trades({ seq, timestamp: START + second * 1_000 }), { ts_ms: START + second * 1_000 })
    return Effect.gen(function* () {
      const view = yield* MarketView
      yield* eventually("followed", () => feed.isFollowed)
      feed.tell(traded(1, 1), traded(2, 2), traded(3, 3), traded(4, 4))
      yield* reached(4)
      const seqs: Array<number> = []
      const restarting: Array<boolean> = []
      view.follow((changes) => {
        for (const { isRestarting, prints } of changes) {
          restarting.push(isRestarting)
          seqs.push(...prints.flat().map(({ seq }) => seq))
        }
      })
      // restored as of event 2: event 3 is another one
      backend.head = { epoch: "e1", fork: "f2", head_seq: 3 }
      backend.book = () => ({ ...emptyBook, as_of_seq: 3 })
      feed.log.length = 0
      feed.log.push(traded(1, 1), traded(2, 2), traded(3, 5))
      feed.forget("Forked")
      yield* reached(3)
      yield* eventually("book read", () => view.book(symbol) !== undefined)
      feed.tell(traded(4, 6))
      yield* reached(4)
      assert.deepStrictEqual(seqs, [3, 4])
      assert.deepStrictEqual([restarting[0], restarting.at(-1)], [true, false])
    }).pipe(Effect.provide(layer))
  })

  it.effect("deletes its rows for another history only if the backend has its first event", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* afterRestore(1), [false, false])
      assert.deepStrictEqual(yield* afterRestore(12), [true, true])
    })
  )

  it.effect("starts where the last process stood, with tickers and trades as they were", () => {
    const history = SqliteStores.history
    const first = setting()
    first.backend.book = () => emptyBook
    return Effect.gen(function* () {
      const shared = yield* Layer.build(Layer.fresh(history))
      const kept = Layer.succeedContext(shared)
      const before = setting({ history: kept })
      before.backend.book = () => emptyBook
      const ticker = yield* Effect.gen(function* () {
        const view = yield* MarketView
        yield* eventually("followed", () => before.feed.isFollowed)
        before.feed.tell(
          event(1, body.instrument()),
          event(2, body.trades({ price: "100", timestamp: START })),
          event(3, body.trades({ price: "130", timestamp: START + 60_000 })),
          event(4, body.order()),
          event(5, body.prices(prices({ mark_price: "120", ts_ms: START + 120_000 })), { ts_ms: START + 120_000 })
        )
        yield* reached(5)
        return view.ticker(symbol)
      }).pipe(Effect.provide(before.layer))
      const after = setting({ history: kept })
      after.backend.book = () => emptyBook
      after.backend.prices = [prices({ mark_price: "120", ts_ms: START + 120_000 })]
      after.feed.log.push(event(6, body.balance()))
      yield* Effect.gen(function* () {
        const view = yield* MarketView
        const streams = yield* UserStreams
        yield* reached(6)
        yield* eventually("prices read", () => view.ticker(symbol) !== undefined)
        const again = view.ticker(symbol)!
        assert.deepStrictEqual({ ...again, ts: 0 }, { ...ticker!, ts: 0 })
        assert.strictEqual(again.high_price_24h, "130")
        assert.strictEqual(again.prev_price_24h, "100")
        assert.strictEqual(again.price_24h_pcnt, "0.3")
        assert.strictEqual(again.open_interest_value, "240")
        assert.strictEqual(view.recentTrades(symbol, 1)[0]!.price, "130")
        assert.strictEqual(streams.head(alice), 2)
        assert.deepStrictEqual(
          after.feed.followed.map((at) => at?.seq),
          [5]
        )
      }).pipe(Effect.provide(after.layer))
    })
  })

  it.effect("reads instruments and prices that the stream has not reported, and again after a loss", () => {
    const { feed, backend, layer } = setting()
    backend.book = () => ({ ...emptyBook, as_of_seq: 1 })
    backend.instruments = [instrument(), instrument({ symbol: "ETH-USDC" })]
    backend.prices = [prices({ mark_price: "77" })]
    return Effect.gen(function* () {
      const view = yield* MarketView
      const history = yield* History
      yield* eventually("followed", () => feed.isFollowed)
      feed.tell(event(1, body.balance()))
      yield* reached(1)
      yield* eventually("instruments known", () => view.instruments().length === 2)
      yield* eventually("prices known", () => view.ticker(symbol)?.last_price === "77")
      yield* eventually("books read", () => view.book("ETH-USDC") !== undefined)
      feed.tell(event(2, body.instrument({ status: "ReduceOnly" })))
      yield* reached(2)
      assert.deepStrictEqual(
        (yield* history.instruments).map((each) => [each.symbol, each.status]),
        [
          ["ETH-USDC", "Trading"],
          [symbol, "ReduceOnly"]
        ]
      )
      assert.strictEqual(view.instrument(symbol)!.status, "ReduceOnly")
      let resets = 0
      view.follow((changes) => (resets += changes.filter(({ reset }) => reset).length))
      backend.instruments = [instrument({ status: "Closed" }), instrument({ symbol: "ETH-USDC" })]
      feed.interrupt()
      feed.heartbeat(2)
      yield* eventually("instruments read again", () => view.instrument(symbol)!.status === "Closed")
      assert.strictEqual(resets, 2, "each book starts from a snapshot")
    }).pipe(Effect.provide(layer))
  })

  it.effect("keeps no rows and no stream of a user of the backend itself", () => {
    const { feed, layer } = setting({ houseUsers: new Set([alice]) })
    return Effect.gen(function* () {
      const history = yield* History
      yield* eventually("followed", () => feed.isFollowed)
      feed.tell(
        event(1, body.order()),
        event(2, body.execution()),
        event(3, body.order(), { user_id: userOf(2).user_id }),
        event(4, body.trades({}))
      )
      yield* reached(4)
      assert.deepStrictEqual(yield* history.userEvents(alice, 0, 10), [])
      assert.strictEqual((yield* history.userEvents(userOf(2).user_id, 0, 10)).length, 1)
      assert.strictEqual((yield* history.trades(symbol, 10)).length, 1)
    }).pipe(Effect.provide(layer))
  })

  it.effect("resumes at once what waits for exactly the position that a batch reaches", () => {
    const { feed, layer } = setting()
    return Effect.gen(function* () {
      const projector = yield* Projector
      yield* eventually("followed", () => feed.isFollowed)
      const waiting = yield* Effect.forkChild(Effect.timed(projector.reached(2)))
      yield* Effect.yieldNow
      feed.tell(event(1, body.order()), event(2, body.balance()))
      yield* reached(2)
      yield* eventually("resumed", () => waiting.pollUnsafe() !== undefined)
      const [took] = yield* Fiber.join(waiting)
      assert.isBelow(Duration.toMillis(took), 1_000)
    }).pipe(Effect.provide(layer))
  })

  it.effect("starts again in one epoch, though the epoch changes while the sequencer is read", () => {
    const { feed, backend, layer } = setting()
    let reads = 0
    // the sequencer of e2 answers the first read, the one of e3 every later one
    Object.defineProperty(backend, "head", {
      get: () => ({ epoch: reads++ === 0 ? "e2" : "e3", head_seq: 40 })
    })
    Object.defineProperty(backend, "as_of_seq", { get: () => (reads === 1 ? 40 : 7) })
    return Effect.gen(function* () {
      const history = yield* History
      yield* eventually("followed", () => feed.isFollowed)
      feed.tell(event(1, body.order()))
      yield* reached(1)
      feed.epoch = "e3"
      feed.log.length = 0
      feed.log.push(event(8, body.balance()))
      feed.forget()
      yield* reached(8)
      yield* (yield* WrittenHistory).all
      assert.deepInclude(yield* history.position, { epoch: "e3", began: 7, seq: 8 })
    }).pipe(Effect.provide(layer))
  })

  it.effect("has caught up when readers see the head that the stream announced, and not before", () => {
    const { feed, layer } = setting()
    return Effect.gen(function* () {
      const projector = yield* Projector
      const caughtUp = yield* Effect.forkChild(projector.caughtUp, { startImmediately: true })
      yield* eventually("followed", () => feed.isFollowed)
      feed.heartbeat(2)
      feed.tell(event(1, body.order()))
      yield* reached(1)
      assert.isUndefined(caughtUp.pollUnsafe())
      feed.tell(event(2, body.order({ order_status: "PartiallyFilled" })))
      yield* Fiber.join(caughtUp)
      assert.strictEqual(projector.position()?.seq, 2)
    }).pipe(Effect.provide(layer))
  })

  /** A projector whose health notes what it reports, by a clock of which the test sets the wall time. */
  const aged = (history = Layer.fresh(SqliteStores.history)) => {
    const feed = new ScriptedFeed()
    const ages: Array<number | undefined> = []
    const heads: Array<number> = []
    const applied: Array<number | undefined> = []
    const wall = { ahead_ms: 0 }
    const health = Layer.effect(
      BackendHealth,
      Effect.map(BackendHealth, (health) =>
        BackendHealth.of({
          ...health,
          sequencerProgress: ({ applied_ms, head_seq, oldest_unapplied_ms }) => {
            applied.push(applied_ms)
            ages.push(oldest_unapplied_ms)
            heads.push(head_seq)
          }
        })
      )
    ).pipe(Layer.provide(BackendHealth.layer))
    const clock = Layer.effect(
      Clock.Clock,
      Effect.map(Clock.Clock, (real) => aheadOf(real, () => wall.ahead_ms))
    )
    const layer = Projector.layer().pipe(
      Layer.provideMerge(HistoryWriter.layer()),
      Layer.provideMerge(history),
      Layer.provide([health, feed.layer, new ScriptedBackend().layer, Logger.layer([])]),
      Layer.provide(clock)
    )
    const age = () => ages.find((age) => age !== undefined)!
    // the clock first: fibers of the layers count from when they are built
    const run = (story: Effect.Effect<void, never, Projector>) =>
      Effect.andThen(TestClock.setTime(START), Effect.provide(story, layer))
    return { age, ages, applied, feed, heads, run, wall }
  }

  for (const begun of [0, 5])
    it.effect(`reports no head before position ${begun} where it starts there and the first frame lacks an event`, () =>
      Effect.gen(function* () {
        const stored = yield* Layer.build(Layer.fresh(SqliteStores.history))
        const projecting = new Projecting({ position: undefined, heads: [], candles: [] })
        const events = Array.from({ length: begun }, (_, i) => event(i + 1, body.balance()))
        if (begun > 0) yield* Context.get(stored, History).commit(projecting.next("e1", events))
        const { feed, heads, run } = aged(Layer.succeedContext(stored))
        yield* run(
          Effect.gen(function* () {
            yield* eventually("followed", () => feed.isFollowed)
            // the event before the missing one is shown before the head of the frame counts
            feed.push([event(begun + 1, body.balance()), event(begun + 3, body.balance())])
            yield* eventually("reported", () => heads.length > 0)
            for (const head of heads) assert.isAtLeast(head, begun)
          })
        )
      })
    )

  it.effect("reports how old the last event is that it shows, before it has caught up", () =>
    Effect.gen(function* () {
      const stored = yield* Layer.build(Layer.fresh(SqliteStores.history))
      const projecting = new Projecting({ position: undefined, heads: [], candles: [] })
      yield* Context.get(stored, History).commit(projecting.next("e1", [event(1, body.balance())]))
      const { applied, feed, run } = aged(Layer.succeedContext(stored))
      yield* run(
        Effect.gen(function* () {
          yield* eventually("followed", () => feed.isFollowed)
          const now = monotonicMillis(yield* Clock.Clock)
          feed.heartbeat(9, START + 3_600_000)
          yield* eventually("reported", () => applied.length > 0)
          assert.approximately(applied.at(-1)!, now - 3_600_000, 5_000)
        })
      )
    })
  )

  it.effect("measures the clock of the engine again after a loss of the stream", () => {
    const { age, ages, feed, run } = aged()
    return run(
      Effect.gen(function* () {
        yield* eventually("followed", () => feed.isFollowed)
        feed.heartbeat(0, START)
        yield* eventually("seen", () => ages.length > 0)
        feed.interrupt()
        // the engine that answers now has a clock that is a minute behind ours
        const now = monotonicMillis(yield* Clock.Clock)
        feed.heartbeat(0, now - 60_000)
        ages.length = 0
        feed.tell({ ...event(1, body.order()), ts_ms: now - 60_000 })
        yield* reached(1)
        assert.isAtLeast(age(), now)
        assert.isBelow(age(), now + 5_000)
      })
    )
  })

  it.effect("reports no lag after a step of its wall clock, or of the engine's", () => {
    const { age, ages, feed, run, wall } = aged()
    return run(
      Effect.gen(function* () {
        yield* eventually("followed", () => feed.isFollowed)
        feed.heartbeat(0, START)
        yield* eventually("seen", () => ages.length > 0)
        let seq = 0
        for (const [ahead_ms, engine_ms] of [
          [3_600_000, 0],
          [0, 3_600_000],
          [0, 0]
        ] as const) {
          wall.ahead_ms = ahead_ms
          for (let i = 0; i < 10; i++) feed.heartbeat(seq, START + engine_ms)
          const now = monotonicMillis(yield* Clock.Clock)
          ages.length = 0
          feed.tell({ ...event(++seq, body.balance()), ts_ms: START + engine_ms })
          yield* reached(seq)
          assert.approximately(age(), now, 5_000, `${ahead_ms}, ${engine_ms}`)
        }
      })
    )
  })
})
