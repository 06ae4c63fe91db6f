/** What each public topic sends and when, over real sockets. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { aggregatedTradeId } from "../../src/domain/Address.ts"
import { flat } from "../../src/domain/Candles.ts"
import type { EventBody } from "../../src/domain/Event.ts"
import type { Liquidation } from "../../src/domain/Liquidation.ts"
import type { Candle } from "../../src/domain/Market.ts"
import { Projecting } from "../../src/domain/Projection.ts"
import { MarketState } from "../../src/services/markets/MarketState.ts"
import type { MarketChange } from "../../src/services/markets/MarketView.ts"
import { KlineTopic } from "../../src/ws/KlineTopic.ts"
import type { Outbox } from "../../src/ws/Outbox.ts"
import type { View } from "../../src/ws/PublicTopic.ts"
import { textsOf } from "../../src/ws/Frame.ts"
import { AlertTopic, PoolTopic, POOL_INTERVAL_MS, POOL_SILENCE_MS, TickerTopic } from "../../src/ws/StateTopics.ts"
import { AggregatedTradeTopic, LiquidationTopic, TradeTopic } from "../../src/ws/TradeTopics.ts"
import { aheadOf } from "../../verification/harness/Clocks.ts"
import { alert, body, event, pool, START, trade } from "../../verification/harness/Records.ts"
import {
  connect,
  MARKET,
  type Message,
  type Peer,
  start,
  SYMBOL,
  World
} from "../../verification/harness/WebSocketWorld.ts"

const aggregated = `trade/${MARKET}`
const liquidations = `all_liquidations.${SYMBOL}`
const pools = `insurance_pool.${SYMBOL}`
const alerts = `adl_alert.${SYMBOL}`

/** A peer that follows topics, with the frames that came at once. */
const following = Effect.fnUntraced(function* (world: World, args: ReadonlyArray<string>, snapshots: number) {
  const peer = yield* connect(world, "/ws")
  peer.send({ op: "subscribe", args, req_id: 1 })
  const [subscribed, ...first] = yield* peer.take(1 + snapshots)
  assert.deepStrictEqual(subscribed, { op: "subscribed", args, req_id: 1 })
  return { peer, first }
})
/** Nothing is on its way: what comes next is the pong. */
const isQuiet = (peer: Peer) =>
  Effect.map(peer.ask({ op: "ping" }), ({ op }: Message) => assert.strictEqual(op, "pong"))

describe("the endpoints", () => {
  const publicTopics = [
    `orderbook.50.${SYMBOL}`,
    `trade.${SYMBOL}`,
    aggregated,
    `ticker.${SYMBOL}`,
    `kline.1.${SYMBOL}`,
    liquidations,
    pools,
    alerts
  ]

  it.live("Amendment 24: /ws is an alias of /ws/public, and private topics need /ws/private", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      for (const path of ["/ws", "/ws/public"]) {
        const peer = yield* connect(world, path)
        peer.send({ op: "subscribe", args: [...publicTopics, "order"] })
        assert.deepStrictEqual((yield* peer.next).args, publicTopics)
        const refused = yield* peer.next
        assert.deepInclude(refused, { op: "error", code: "BAD_REQUEST", topic: "order" })
        const auth = yield* connect(world, path)
        assert.deepInclude(yield* auth.ask({ op: "auth", bearer: "alice" }), { success: false, code: "BAD_REQUEST" })
      }
      const peer = yield* connect(world, "/ws/private")
      peer.send({ op: "subscribe", args: publicTopics.slice(0, 1) })
      assert.deepInclude(yield* peer.next, { op: "subscribed", args: [] })
      assert.deepInclude(yield* peer.next, { op: "error", code: "BAD_REQUEST", topic: publicTopics[0] })
    })
  )
})

describe("trade/{market_addr}", () => {
  it.live("sends one entry for each price of a matching event, with the sum and a deterministic id; no snapshot", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      world.market.trade(1, "1")
      for (const path of ["/ws", "/ws/public"]) {
        const peer = yield* connect(world, path)
        peer.send({ op: "subscribe", args: [aggregated] })
        assert.deepStrictEqual((yield* peer.next).args, [aggregated])
        yield* isQuiet(peer)
      }
      const { peer } = yield* following(world, [aggregated], 0)
      const at = { side: "Buy", timestamp: 1767225600000 } as const
      const fill = (price: string, seq: number, qty: string, event = seq) =>
        trade({ ...at, price, seq, qty, agg_id: aggregatedTradeId({ ...at, market_addr: MARKET, price, seq: event }) })
      const first = [
        fill("60000.1", 1042, "0.1"),
        fill("60000.1", 1043, "0.25", 1042),
        fill("60000.5", 1044, "1", 1042)
      ]
      world.market.tell({ prints: [first, [fill("60000.1", 1045, "0.3")]] })
      const [one, two] = yield* peer.take(2)
      assert.strictEqual(one.topic, aggregated)
      const { ts, ...data } = one.data
      assert.strictEqual(ts, one.server_ts_ms)
      assert.deepStrictEqual(data, {
        type: "update",
        market_addr: MARKET,
        symbol: SYMBOL,
        list: [
          { id: first[0]!.agg_id, price: "60000.1", ...at, qty: "0.35", count: 2, seq: 1042 },
          { id: first[2]!.agg_id, price: "60000.5", ...at, qty: "1", count: 1, seq: 1042 }
        ]
      })
      assert.deepStrictEqual(
        two.data.list.map(({ count, qty, seq }: Message) => [count, qty, seq]),
        [[1, "0.3", 1045]]
      )
    })
  )

  it.live("requires the canonical address of an existing market", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const peer = yield* connect(world, "/ws/public")
      const args = [
        `trade/${MARKET.toUpperCase().replace("0X", "0x")}`,
        "trade/0x1",
        "trade/",
        `trade/0x${"1".repeat(64)}`
      ]
      peer.send({ op: "subscribe", args })
      const [subscribed, ...errors] = yield* peer.take(5)
      assert.deepStrictEqual(subscribed.args, [])
      assert.deepStrictEqual(
        errors.map(({ code, details, topic }) => [topic, code, details.reason]),
        args.map((topic, i) =>
          i < 3 ? [topic, "BAD_REQUEST", "InvalidField"] : [topic, "NOT_FOUND", "SymbolNotFound"]
        )
      )
    })
  )
})

/** A topic of minutes over a view, and the candles that it sends. */
const minutesOf = (view: View) => {
  const shown: Array<readonly [start: number, close: string, confirm: boolean]> = []
  class Shown extends KlineTopic {
    protected override send({ list }: { readonly list: ReadonlyArray<Candle> }): void {
      for (const { close, confirm, start_time } of list) shown.push([start_time / 60_000, close, confirm])
    }
  }
  const topic = new Shown(`kline.1.${SYMBOL}`, SYMBOL, "1", view, () => 0)
  const confirmed = () => shown.filter(([, , confirm]) => confirm).map(([start]) => start)
  return { shown, confirmed, topic }
}
/** The same over a market that the test moves by hand. */
const minutes = () => {
  const world = new World()
  return { world, ...minutesOf(world.market.service) }
}

describe("kline", () => {
  it("Amendment 13: confirms each candle once its interval is over and opens the next, flat, without a trade", () => {
    const { shown, topic, world } = minutes()
    const minute = (start: number, close: string, more: Partial<Candle> = {}): Candle => ({
      ...flat("1", start * 60_000, close, false),
      ...more
    })
    const quiet = { symbol: SYMBOL, candles: [] } as unknown as MarketChange
    const take = (change: MarketChange = quiet) => topic.take(change, 0)?.run(0)
    const traded = (...candles: ReadonlyArray<Candle>) =>
      take({ ...quiet, candles: candles.map((candle) => ({ interval: "1", candle })) })
    world.market.candle = minute(1, "5", { volume: "1" })
    topic.snapshot(0)
    take()
    assert.deepStrictEqual(shown, [], "the interval is not over")
    // a minute with trades ends: the engine closes its candle
    world.market.candle = minute(2, "6")
    traded(minute(1, "6", { volume: "2", confirm: true }))
    assert.deepStrictEqual(shown.splice(0), [
      [1, "6", true],
      [2, "6", false]
    ])
    // one without ends
    world.market.candle = minute(3, "6")
    take()
    take()
    assert.deepStrictEqual(shown.splice(0), [
      [2, "6", true],
      [3, "6", false]
    ])
    // the engine stood still for a while
    world.market.candle = minute(6, "6")
    take()
    assert.deepStrictEqual(shown.splice(0), [
      [3, "6", true],
      [4, "6", true],
      [5, "6", true],
      [6, "6", false]
    ])
    // and a trade comes after another pause
    world.market.candle = minute(8, "7", { volume: "1" })
    traded(minute(8, "7", { volume: "1" }))
    assert.deepStrictEqual(shown.splice(0), [
      [6, "6", true],
      [7, "6", true],
      [8, "7", false]
    ])
  })
})

describe("kline of a market", () => {
  /** A topic of minutes, with the candles that it sends. */
  const setting = () => {
    const { shown, topic, world } = minutes()
    const minute = (start: number, close: string, confirm = false): Candle => flat("1", start * 60_000, close, confirm)
    const take = (...candles: MarketChange["candles"]) =>
      topic.take({ symbol: SYMBOL, candles } as unknown as MarketChange, 0)
    world.market.candle = minute(1, "5")
    topic.snapshot(0)
    return { world, shown, topic, minute, take }
  }

  it("sends no open candle after it was confirmed", () => {
    const { minute, shown, take, world } = setting()
    const pending = take({ interval: "1", candle: minute(1, "6") })
    world.market.candle = undefined
    take({ interval: "1", candle: minute(1, "7", true) })
    pending!.run(0)
    assert.deepStrictEqual(shown, [[1, "7", true]])
  })

  it("sends the newest open candle once at its interval, and none of another interval", () => {
    const { minute, shown, take } = setting()
    take({ interval: "1", candle: minute(1, "6") })
    const job = take({ interval: "1", candle: minute(1, "7") })!
    assert.isDefined(take({ interval: "5", candle: minute(1, "99") }))
    job.run(0)
    job.run(0)
    assert.isUndefined(take({ interval: "5", candle: minute(1, "99", true) }))
    assert.deepStrictEqual(shown, [[1, "7", false]])
  })

  it("confirms a candle as it was sent last, where its interval ends without a trade", () => {
    const { minute, shown, take, world } = setting()
    take({ interval: "1", candle: minute(1, "6") })!.run(0)
    world.market.candle = minute(2, "6")
    take()
    assert.deepStrictEqual(shown, [
      [1, "6", false],
      [1, "6", true]
    ])
  })

  it("confirms what was sent last and the flat candles after it before a later one that closed", () => {
    const { minute, shown, take } = setting()
    take({ interval: "1", candle: minute(3, "7", true) })
    assert.deepStrictEqual(shown, [
      [1, "5", true],
      [2, "5", true],
      [3, "7", true]
    ])
  })

  it("confirms the oldest 100 candles of a long pause, and continues with the open one", () => {
    const { minute, shown, take, world } = setting()
    world.market.candle = minute(501, "5")
    take()!.run(0)
    assert.deepStrictEqual(shown.splice(0), [
      ...Array.from({ length: 100 }, (_, i) => [i + 1, "5", true] as const),
      [501, "5", false]
    ])
    world.market.candle = minute(502, "5")
    take()!.run(0)
    assert.deepStrictEqual(shown, [
      [501, "5", true],
      [502, "5", false]
    ])
  })
})

describe("kline of a market with orders", () => {
  it("confirms a candle once, with its last trade, though an order of the next minute precedes the price sample", () => {
    const markets = new MarketState(Effect.runSync(Clock.Clock))
    const projecting = new Projecting({ position: undefined, heads: [], candles: [] })
    let seq = 0
    const apply = (ts_ms: number, of: EventBody) => {
      const events = [event(++seq, of, { ts_ms })]
      markets.apply(events, projecting.next("e1", events))
    }
    const { shown, topic } = minutesOf(markets.view)
    markets.view.follow((changes) => {
      for (const change of changes) topic.take(change, 0)
    })
    const next = START + 60_000
    apply(START + 1, body.trades({ price: "5", timestamp: START + 1 }))
    topic.snapshot(0)
    // the message of this trade still waits for the interval of the topic
    apply(next - 100, body.trades({ price: "6", timestamp: next - 100 }))
    apply(next + 5, body.book(1, [["5", "1"]], []))
    apply(next + 40, body.prices({ ts_ms: next + 40 }))
    assert.deepStrictEqual(
      shown.filter(([, , confirm]) => confirm),
      [[START / 60_000, "6", true]]
    )
  })
})

describe("kline of two connections", () => {
  it("confirms the candle that the first one saw, though the second one begins with a newer candle", () => {
    const { confirmed, topic, world } = minutes()
    const join = () => {
      topic.members.add({} as Outbox)
      topic.snapshot(0)
    }
    world.market.candle = flat("1", 60_000, "5", false)
    join()
    world.market.candle = flat("1", 120_000, "5", false)
    join()
    topic.take({ symbol: SYMBOL, candles: [] } as unknown as MarketChange, 0)
    assert.deepStrictEqual(confirmed(), [1])
  })
})

describe("kline of a connection that begins after the last one left", () => {
  it("confirms no candle that it has not seen", () => {
    const { confirmed, topic, world } = minutes()
    for (const minute of [1, 5]) {
      const member = {} as Outbox
      world.market.candle = flat("1", minute * 60_000, "5", false)
      topic.members.add(member)
      topic.snapshot(0)
      topic.take({ symbol: SYMBOL, candles: [] } as unknown as MarketChange, 0)
      topic.members.delete(member)
    }
    assert.deepStrictEqual(confirmed(), [])
  })
})

describe("all_liquidations", () => {
  it.live("sends the fills of each matching event; no snapshot", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const { peer } = yield* following(world, [liquidations], 0)
      yield* isQuiet(peer)
      const fill = (seq: number, fields: Partial<Liquidation>): Liquidation => ({
        symbol: SYMBOL,
        side: "Buy",
        qty: "0.2",
        price: "40390",
        bust_price: "40033",
        exec_type: "Trade",
        timestamp: 1767225600000,
        seq,
        ...fields
      })
      const later = { timestamp: 1767225600100 }
      const all = [fill(7, {}), fill(8, { price: "40100" }), fill(9, { ...later, exec_type: "BustTrade" })]
      world.market.tell({ liquidations: all })
      const [one, two] = yield* peer.take(2)
      assert.deepStrictEqual([one.data.type, one.data.symbol, one.data.list], ["update", SYMBOL, all.slice(0, 2)])
      assert.deepStrictEqual(two.data.list, all.slice(2))
    })
  )
})

describe("insurance_pool", () => {
  it.live("sends the pool on change, at most every second, always its current state", () =>
    Effect.gen(function* () {
      const world = new World()
      world.market.pool = pool()
      yield* start(world)
      const { first, peer } = yield* following(world, [pools], 1)
      const { ts, type, ...state } = first[0].data
      assert.deepStrictEqual([type, state], ["snapshot", pool()])
      assert.strictEqual(ts, first[0].server_ts_ms)
      for (const cash_balance of ["999999", "999998"]) {
        world.market.pool = pool({ cash_balance })
        world.market.tell({ poolChanged: true })
      }
      yield* isQuiet(peer)
      const next = yield* peer.next
      assert.deepStrictEqual([next.data.type, next.data.cash_balance], ["snapshot", "999998"])
      assert.isAtLeast(next.data.ts - ts, POOL_INTERVAL_MS - 1)
    })
  )

  it.live("sends it at least every minute while the backend is well, and once it is known", () =>
    Effect.gen(function* () {
      const world = new World()
      let ahead = 0
      const clock = aheadOf(yield* Clock.Clock, () => ahead, true)
      yield* start(world, { silence_ms: 1e9 }, clock)
      const { peer } = yield* following(world, [pools], 0)
      yield* isQuiet(peer)
      world.market.pool = pool()
      ahead = POOL_SILENCE_MS
      const received = yield* peer.next
      assert.deepStrictEqual([received.topic, received.data.type], [pools, "snapshot"])
      world.lose("sequencer", 1_000)
      ahead = 3 * POOL_SILENCE_MS
      yield* Effect.sleep(1_200)
      yield* isQuiet(peer)
    })
  )
})

describe("a ticker", () => {
  it("is sent at most every 100 ms, and at least every 10 s", () => {
    const topic = new TickerTopic(`ticker.${SYMBOL}`, SYMBOL, new World().market.service, () => 0)
    assert.deepStrictEqual([topic.interval_ms, topic.silence_ms], [100, 10_000])
  })

  it("keeps its interval while connections join", () => {
    let now = 0
    const topic = new TickerTopic(`ticker.${SYMBOL}`, SYMBOL, new World().market.service, () => now)
    for (const at of [5, 60]) {
      now = at
      topic.members.add({} as Outbox)
      topic.snapshot(0)
    }
    assert.strictEqual(topic.lastRun, 5, "that of the first message")
  })
})

describe("trades", () => {
  it("begin with the last 50, oldest first", () => {
    const { market } = new World()
    for (let seq = 1; seq <= 60; seq++) market.trade(seq, "1")
    const topic = new TradeTopic(`trade.${SYMBOL}`, SYMBOL, market.service, () => 0)
    const { list } = JSON.parse(textsOf(topic.snapshot(0).plain)[0]!).data
    assert.deepStrictEqual([list.length, list[0].seq, list.at(-1).seq], [50, 11, 60])
  })
})

describe("a topic of two connections", () => {
  it.live("continues for the connection that is still open", () =>
    Effect.gen(function* () {
      const world = new World()
      world.market.pool = pool()
      yield* start(world)
      const [stays, goes] = [yield* following(world, [alerts], 0), yield* following(world, [alerts], 0)]
      assert.strictEqual((yield* goes.peer.ask({ op: "unsubscribe", args: [alerts] })).op, "unsubscribed")
      world.market.tell({ alerts: [alert()] })
      assert.strictEqual((yield* stays.peer.next).topic, alerts)
      yield* isQuiet(goes.peer)
    })
  )
})

describe("adl_alert", () => {
  it.live("sends where deleveraging stands, then every change at once", () =>
    Effect.gen(function* () {
      const world = new World()
      world.market.alert = alert({ adl_mode: "Inactive", adl_trigger_reason: "NoTrigger" })
      yield* start(world)
      const { first, peer } = yield* following(world, [alerts], 1)
      const { ts: _, ...data } = first[0].data
      assert.deepStrictEqual(data, { type: "snapshot", ...world.market.alert })
      const active = alert({ adl_mode: "Active", latest_pnl_ratio: "-0.31" })
      world.market.tell({ alerts: [alert(), active] })
      const received = (yield* peer.take(2)).map(({ data: { ts: _ts, ...rest } }: Message) => rest)
      assert.deepStrictEqual(received, [
        { type: "update", ...alert() },
        { type: "update", ...active }
      ])
    })
  )
})

describe("adl_alert before the state is known", () => {
  it.live("sends it as a snapshot once it is, then updates", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const { peer } = yield* following(world, [alerts], 0)
      world.market.alert = alert()
      world.market.tell({ alerts: [alert(), alert({ latest_pnl_ratio: "-0.31" })] })
      const types = (yield* peer.take(2)).map(({ data }: Message) => data.type)
      assert.deepStrictEqual(types, ["snapshot", "update"])
    })
  )
})

describe("orderbook", () => {
  it.live("comes in each of its depths, at the cadence of the depth, and 1 as snapshots", () =>
    Effect.gen(function* () {
      const world = new World()
      world.market.book.reset([["100", "1"]], [["101", "1"]], 1)
      yield* start(world)
      const depths = [1, 50, 200, 1000]
      const args = depths.map((depth) => `orderbook.${depth}.${SYMBOL}`)
      const { peer } = yield* following(world, args, 4)
      // the first change is sent at once, the next ones as each cadence allows
      const byDepth = new Map<number, Array<Message>>(depths.map((depth) => [depth, []]))
      const began = Date.now()
      for (let i = 0; Date.now() < began + 900; i++) {
        world.market.move([["100", String(2 + i)]], [])
        yield* Effect.sleep(4)
      }
      const lasted = Date.now() - began
      for (const message of peer.messages.splice(0)) byDepth.get(message.data.depth)!.push(message)
      for (const [depth, cadence] of [
        [1, 20],
        [50, 20],
        [200, 100],
        [1000, 200]
      ] as const) {
        const messages = byDepth.get(depth)!
        assert.isAtLeast(messages.length, 3, `depth ${depth} is sent`)
        assert.isAtMost(messages.length, lasted / cadence + 2, `depth ${depth} keeps its cadence`)
        for (const { data } of messages) assert.strictEqual(data.type, depth === 1 ? "snapshot" : "delta")
        if (depth === 1) continue
        for (let i = 1; i < messages.length; i++) {
          assert.strictEqual(messages[i].data.prev_seq, messages[i - 1].data.seq)
        }
      }
    })
  )
})

describe("the order of topics", () => {
  it.live("sends trades first, then the book that shows them, then what follows from both", () =>
    Effect.gen(function* () {
      const world = new World()
      world.market.pool = pool()
      world.market.alert = alert()
      yield* start(world)
      const args = [
        alerts,
        pools,
        `ticker.${SYMBOL}`,
        `orderbook.50.${SYMBOL}`,
        liquidations,
        aggregated,
        `trade.${SYMBOL}`
      ]
      const { peer } = yield* following(world, args, 5)
      yield* Effect.sleep(POOL_INTERVAL_MS)
      world.market.book.apply([["60000", "1"]], [], 5)
      world.market.tell({
        prints: [world.market.trade(2, "3")],
        liquidations: [
          {
            symbol: SYMBOL,
            side: "Buy",
            qty: "1",
            price: "3",
            bust_price: "2",
            exec_type: "Trade",
            timestamp: 1,
            seq: 2
          }
        ],
        book: { prev_seq: 0, seq: 5, mts: 1, bids: [["60000", "1"]], asks: [] },
        tickerChanged: true,
        poolChanged: true,
        alerts: [alert()]
      })
      assert.deepStrictEqual(
        (yield* peer.take(7)).map(({ topic }: Message) => topic),
        [`trade.${SYMBOL}`, aggregated, liquidations, `orderbook.50.${SYMBOL}`, `ticker.${SYMBOL}`, pools, alerts]
      )
    })
  )
})

describe("a restart of the numbering", () => {
  it.live("has no update of what is read again, and a snapshot of each state after it", () =>
    Effect.gen(function* () {
      const world = new World()
      const { market } = world
      const minute = (start: number, close: string) => flat("1", start * 60_000, close, false)
      market.candle = minute(9, "9")
      market.pool = pool()
      market.alert = alert()
      market.trade(90, "1")
      market.move([["1", "1"]], [], 90)
      yield* start(world)
      const kline = `kline.1.${SYMBOL}`
      const states = [`trade.${SYMBOL}`, `orderbook.50.${SYMBOL}`, kline, `ticker.${SYMBOL}`, pools, alerts]
      const { peer } = yield* following(world, [...states, aggregated, liquidations], states.length)
      market.stream_id = "b2"
      market.trades = []
      const seen = market.trade(1, "1")
      market.candle = minute(1, "5")
      const again = { isRestarting: true, tickerChanged: true, poolChanged: true, alerts: [alert()] }
      market.tell({ ...again, candles: [{ interval: "1", candle: { ...minute(1, "5"), confirm: true } }] })
      const fresh = market.trade(2, "2")
      market.tell({ ...again, prints: [fresh] })
      // trades and liquidations without a snapshot are sent once
      assert.strictEqual((yield* peer.next).topic, aggregated)
      yield* isQuiet(peer)
      market.candle = minute(2, "6")
      market.book.reset([["2", "1"]], [], 3)
      market.tell({ ...again, reset: true, prints: [market.trade(3, "3")] })
      const frames = yield* peer.take(7)
      assert.deepStrictEqual(
        frames.map(({ topic, data }: Message) => [topic, data.type]).toSorted(),
        [...states.map((topic) => [topic, "snapshot"]), [aggregated, "update"]].toSorted()
      )
      const listOf = (topic: string) => frames.find((frame: Message) => frame.topic === topic).data.list
      assert.deepStrictEqual(
        listOf(`trade.${SYMBOL}`).map(({ seq }: Message) => seq),
        [seen[0]!.seq, 2, 3]
      )
      assert.deepStrictEqual(listOf(kline), [minute(2, "6")])
      // live again
      market.tell({ prints: [market.trade(4, "4")] })
      assert.deepStrictEqual(
        (yield* peer.take(2)).map(({ topic, data }: Message) => [topic, data.type, data.list[0].seq]),
        [
          [`trade.${SYMBOL}`, "update", 4],
          [aggregated, "update", 4]
        ]
      )
      market.candle = minute(3, "6")
      market.tell({})
      assert.deepInclude((yield* peer.next).data, { type: "update", list: [{ ...minute(2, "6"), confirm: true }] })
    })
  )
})

describe("slow readers", () => {
  it("get pools and alerts as they stand then; aggregated trades and liquidations must not be lost", () => {
    const { service } = new World().market
    assert.isTrue(new PoolTopic(pools, SYMBOL, service, () => 0).conflatable)
    assert.isTrue(new AlertTopic(alerts, SYMBOL, service, () => 0).conflatable)
    assert.isFalse(new AggregatedTradeTopic(aggregated, SYMBOL, MARKET, service, () => 0).conflatable)
    assert.isFalse(new LiquidationTopic(liquidations, SYMBOL, service, () => 0).conflatable)
  })
})
