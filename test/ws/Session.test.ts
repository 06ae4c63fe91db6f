import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Schema, Scope } from "effect"
import { Grant } from "../../src/domain/Grant.ts"
import { Book, checksum } from "../../src/domain/Book.ts"
import { ServerFrame } from "../../src/ws/api/Frames.ts"
import { BookData } from "../../src/ws/api/TopicData.ts"
import { Interval } from "../../src/domain/Enumerations.ts"
import type { Candle } from "../../src/domain/Market.ts"
import { ManualLease } from "../doubles/ManualLease.ts"
import { Stop } from "../doubles/Stop.ts"
import { aheadOf } from "../../verification/harness/Clocks.ts"
import { balance, order, position, uuid } from "../../verification/harness/Records.ts"
import { until } from "../../verification/harness/Wait.ts"
import {
  connect,
  type Message,
  OTHER_USER,
  start,
  SYMBOL,
  USER,
  VAULT,
  VAULT_1,
  World
} from "../../verification/harness/WebSocketWorld.ts"

const book = `orderbook.50.${SYMBOL}`
const isServerFrame = Schema.is(ServerFrame)
const decodeBook = Schema.decodeUnknownSync(BookData)

const authenticated = Effect.fnUntraced(function* (world: World, bearer = "TK") {
  const peer = yield* connect(world, "/ws/private")
  const reply = yield* peer.ask({ op: "auth", bearer, req_id: "1" })
  assert.strictEqual(reply.success, true)
  return peer
})

/** What the errors of topics say is accepted. */
const FORMS =
  "trade.<symbol>, ticker.<symbol>, all_liquidations.<symbol>, insurance_pool.<symbol>, adl_alert.<symbol>, " +
  "orderbook.<depth>.<symbol>, kline.<interval>.<symbol>, trade/<market address>, order, execution, position, account_balance"
const DEPTHS = "1, 50, 200, 1000"
const INTERVALS = Interval.literals.join(", ")
const noMarket = (topic: string) => `no such market: expected a topic of a market, such as BTC-USDC, got "${topic}"`

describe("Amendment 18: a gateway that cannot read changes of credentials", () => {
  it.live("sends no snapshot and no replay until it can, and nothing to a connection that was revoked meanwhile", () =>
    Effect.gen(function* () {
      const world = new World()
      const lease = new ManualLease()
      for (const [token, known] of world.callers) {
        world.callers.set(token, { ...known, grant: new Grant(known.credential, known.user_id, lease) })
      }
      yield* start(world)
      const [stays, ends] = [yield* authenticated(world), yield* authenticated(world, "TK2")]
      lease.end()
      for (const peer of [stays, ends]) peer.send({ op: "subscribe", args: ["order"], req_id: "s" })
      for (const peer of [stays, ends]) assert.strictEqual((yield* peer.ask({ op: "ping" })).op, "pong")
      world.revoke("token-2")
      lease.renew()
      assert.strictEqual((yield* ends.ended).code, 4010)
      const [subscribed, snapshot] = yield* stays.take(2)
      assert.deepStrictEqual([subscribed.op, subscribed.args], ["subscribed", ["order"]])
      assert.strictEqual(snapshot.data.type, "snapshot")
    })
  )

  it.live("responds with DatabaseUnavailable for each topic after 1.5 s, and does not close", () =>
    Effect.gen(function* () {
      const world = new World()
      const lease = new ManualLease()
      world.callers.set("TK", { ...world.callers.get("TK")!, grant: new Grant("token-1", USER, lease) })
      yield* start(world)
      const peer = yield* authenticated(world)
      lease.end()
      peer.send({ op: "subscribe", args: ["order"], req_id: "s" })
      const [subscribed, error] = yield* peer.take(2)
      assert.deepStrictEqual([subscribed.op, subscribed.args], ["subscribed", []])
      assert.deepStrictEqual([error.op, error.details.reason], ["error", "DatabaseUnavailable"])
      lease.renew()
      peer.send({ op: "subscribe", args: ["order"], req_id: "t" })
      assert.deepStrictEqual((yield* peer.take(2))[0].args, ["order"])
    })
  )
})

describe("messages", () => {
  it.live("answers a ping on every endpoint, before auth too, and echoes req_id with its type", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      for (const path of ["/ws", "/ws/public", "/ws/private"]) {
        const peer = yield* connect(world, path)
        const pong = yield* peer.ask({ op: "ping", req_id: 7, ts: 1767225600000 })
        assert.deepStrictEqual(Object.keys(pong), ["op", "req_id", "client_ts", "server_ts"])
        assert.deepStrictEqual([pong.op, pong.req_id, pong.client_ts], ["pong", 7, 1767225600000])
        assert.isTrue(Math.abs(pong.server_ts - Date.now()) < 5_000)
        assert.isTrue(isServerFrame(pong))
        assert.deepStrictEqual(Object.keys(yield* peer.ask({ op: "ping", req_id: "", ts: null })), ["op", "server_ts"])
      }
    })
  )

  it.live("reports what is wrong with a message and does not close", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const peer = yield* connect(world, "/ws/public")
      const cases: ReadonlyArray<readonly [unknown, string]> = [
        ["{", "MalformedJson"],
        ["[]", "MalformedJson"],
        ["3", "MalformedJson"],
        [{ req_id: "a" }, "MissingField"],
        [{ op: "order.create", req_id: "a" }, "InvalidField"],
        [{ op: 5, req_id: "a" }, "InvalidField"],
        [{ op: "__proto__" }, "InvalidField"],
        [{ op: "subscribe", req_id: "a" }, "MissingField"],
        [{ op: "subscribe", args: [], req_id: "a" }, "InvalidField"],
        [{ op: "subscribe", args: book, req_id: "a" }, "InvalidField"],
        [{ op: "subscribe", args: [book, 5], req_id: "a" }, "InvalidField"],
        [{ op: "subscribe", args: Array.from({ length: 51 }, () => book), req_id: "a" }, "LimitReached"],
        [{ op: "ping", req_id: "x".repeat(65) }, "InvalidField"],
        [{ op: "ping", req_id: 1.5 }, "InvalidField"],
        [{ op: "ping", ts: "soon", req_id: "a" }, "InvalidField"]
      ]
      for (const [message, reason] of cases) {
        const error = yield* peer.ask(message)
        assert.deepStrictEqual([error.op, error.code, error.details.reason], ["error", "BAD_REQUEST", reason])
        assert.isTrue(isServerFrame(error))
        if (typeof message === "object" && (message as Message).req_id === "a") assert.strictEqual(error.req_id, "a")
        else assert.isUndefined(error.req_id)
      }
      assert.strictEqual((yield* peer.ask({ op: "ping" })).op, "pong")
    })
  )

  it.live("closes on binary, on bad UTF-8 and on a frame over 64 KiB", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const binary = yield* connect(world, "/ws")
      binary.socket.send(Buffer.from("{}"), { binary: true })
      assert.strictEqual((yield* binary.ended).code, 1003)
      const broken = yield* connect(world, "/ws")
      broken.socket.send(Buffer.from([0xc3, 0x28]), { binary: false })
      assert.strictEqual((yield* broken.ended).code, 1007)
      const large = yield* connect(world, "/ws")
      large.socket.send("x".repeat(65_537))
      assert.strictEqual((yield* large.ended).code, 1009)
    })
  )

  it.live("sends subscribed first, then one error per refused topic", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const peer = yield* connect(world, "/ws")
      const args = [
        `trade.${SYMBOL}`,
        `trade.${SYMBOL}`,
        "nope.BTC",
        `orderbook.7.${SYMBOL}`,
        `kline.2.${SYMBOL}`,
        "trade.ETH-USDC",
        "order",
        "trade.btc-usdc"
      ]
      peer.send({ op: "subscribe", args, req_id: "s" })
      const got = yield* peer.take(8)
      assert.deepStrictEqual(got[0], { op: "subscribed", args: [`trade.${SYMBOL}`], req_id: "s" })
      assert.deepStrictEqual(
        got
          .slice(1, 7)
          .map(({ code, details, message, op, req_id, topic }) => [op, topic, code, details.reason, message, req_id]),
        [
          ["error", "nope.BTC", "BAD_REQUEST", "InvalidField", `unknown topic: expected ${FORMS}, got "nope.BTC"`, "s"],
          [
            "error",
            `orderbook.7.${SYMBOL}`,
            "BAD_REQUEST",
            "InvalidField",
            `unknown depth: expected ${DEPTHS}, got "7"`,
            "s"
          ],
          [
            "error",
            `kline.2.${SYMBOL}`,
            "BAD_REQUEST",
            "InvalidField",
            `unknown interval: expected ${INTERVALS}, got "2"`,
            "s"
          ],
          ["error", "trade.ETH-USDC", "NOT_FOUND", "SymbolNotFound", noMarket("trade.ETH-USDC"), "s"],
          ["error", "order", "BAD_REQUEST", "InvalidField", "a private topic: subscribe on /ws/private", "s"],
          ["error", "trade.btc-usdc", "NOT_FOUND", "SymbolNotFound", noMarket("trade.btc-usdc"), "s"]
        ]
      )
      assert.strictEqual(got[7].op, "event")
    })
  )

  it.live("holds at most so many topics; those held do not count again", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world, { topics_per_connection: 2 })
      const peer = yield* connect(world, "/ws")
      peer.send({ op: "subscribe", args: [book, `trade.${SYMBOL}`, `ticker.${SYMBOL}`] })
      const got = yield* peer.take(4)
      assert.deepStrictEqual(got[0].args, [book, `trade.${SYMBOL}`])
      assert.deepStrictEqual([got[1].topic, got[1].details], [`ticker.${SYMBOL}`, { reason: "LimitReached", max: 2 }])
      peer.send({ op: "subscribe", args: [book] })
      assert.deepStrictEqual((yield* peer.next).args, [book])
      // private topics are few, and do not count
      const own = yield* authenticated(world)
      assert.lengthOf((yield* own.ask({ op: "subscribe", args: ["order", "execution", "position"] })).args, 3)
    })
  )

  it.live("unsubscribes what was subscribed, and sends no event of it afterwards", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const peer = yield* connect(world, "/ws/public")
      peer.send({ op: "subscribe", args: [`trade.${SYMBOL}`] })
      yield* peer.take(2)
      const reply = yield* peer.ask({ op: "unsubscribe", args: [`trade.${SYMBOL}`, book, "nonsense"], req_id: 3 })
      assert.deepStrictEqual(reply, { op: "unsubscribed", args: [`trade.${SYMBOL}`], req_id: 3 })
      world.market.tell({ prints: [world.market.trade(1, "60000")] })
      assert.strictEqual((yield* peer.ask({ op: "ping" })).op, "pong")

      const own = yield* authenticated(world)
      own.send({ op: "subscribe", args: ["order"] })
      yield* own.take(2)
      const leave = Effect.map(own.ask({ op: "unsubscribe", args: ["position", "order", "order"] }), ({ args }) => args)
      assert.deepStrictEqual(yield* leave, ["order"])
      assert.deepStrictEqual(yield* leave, [])
      world.users.emit("order", {})
      assert.strictEqual((yield* own.ask({ op: "ping" })).op, "pong")
    })
  )

  it.live("reports once a second that messages come too fast, and ends a flood with 4029", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world, { message_burst: 3, messages_per_s: 1, flood_ms: 60 })
      const peer = yield* connect(world, "/ws")
      for (let i = 0; i < 10; i++) peer.send({ op: "ping" })
      const got = yield* peer.take(4)
      assert.deepStrictEqual(
        got.map(({ code, op }) => [op, code]),
        [
          ["pong", undefined],
          ["pong", undefined],
          ["pong", undefined],
          ["error", "RateLimitExceeded"]
        ]
      )
      yield* Effect.sleep(80)
      peer.send({ op: "ping" })
      assert.deepStrictEqual(yield* peer.ended, { code: 4029, text: "rate or connection limit" })
      assert.lengthOf(peer.messages, 0)
    })
  )
})

describe("public topics", () => {
  it.live("keeps a book level by level, each delta linked to the message before", () =>
    Effect.gen(function* () {
      const world = new World()
      world.market.book.reset(
        [
          ["60000", "0.5"],
          ["59999.9", "1.25"]
        ],
        [
          ["60000.1", "0.3"],
          ["60000.5", "2"]
        ],
        41
      )
      yield* start(world)
      const peer = yield* connect(world, "/ws/public")
      peer.send({ op: "subscribe", args: [book] })
      const [, first] = yield* peer.take(2)
      const snapshot = decodeBook(first.data)
      assert.deepStrictEqual(
        [snapshot.type, snapshot.depth, snapshot.seq, snapshot.checksum],
        ["snapshot", 50, 41, 1162226733]
      )
      assert.strictEqual(first.data.stream_id, "b1")
      const local = new Book()
      local.reset(snapshot.bids, snapshot.asks, snapshot.seq)

      world.market.move([["60000", "0.7"]], [["60000.1", "0"]], 3)
      const delta = decodeBook((yield* peer.next).data)
      assert.strictEqual(delta.type, "delta")
      assert.deepStrictEqual(
        [delta.bids, delta.asks, delta.seq, delta.type === "delta" && delta.prev_seq],
        [[["60000", "0.7"]], [["60000.1", "0"]], 44, 41]
      )
      local.apply(delta.bids, delta.asks, delta.seq)
      assert.strictEqual(delta.checksum, checksum(local.bids(), local.asks()))

      // the interval may end between two of these changes: then there are more deltas
      world.market.move([["59995", "1"]], [])
      world.market.move([["59990", "1"]], [])
      world.market.move([["59990", "0"]], [["60001", "4"]])
      while (local.seq < 47) {
        const next = decodeBook((yield* peer.next).data)
        assert.strictEqual(next.type === "delta" && next.prev_seq, local.seq)
        local.apply(next.bids, next.asks, next.seq)
        assert.strictEqual(next.checksum, checksum(local.bids(), local.asks()))
      }
      assert.deepStrictEqual([local.bids(), local.asks()], [world.market.book.bids(), world.market.book.asks()])
    })
  )

  it.live("sends levels that enter or leave the depth, and only snapshots for depth 1", () =>
    Effect.gen(function* () {
      const world = new World()
      const bids = Array.from({ length: 51 }, (_, i) => [String(1000 - i), "1"] as const)
      world.market.book.reset(bids, [], 1)
      yield* start(world)
      const peer = yield* connect(world, "/ws/public")
      peer.send({ op: "subscribe", args: [book, `orderbook.1.${SYMBOL}`] })
      yield* peer.take(3)
      world.market.move([["1001", "2"]], [])
      const both = yield* peer.take(2)
      const deep = both.find(({ topic }) => topic === book)
      assert.deepStrictEqual(deep.data.bids, [
        ["1001", "2"],
        ["951", "0"]
      ])
      const best = both.find(({ topic }) => topic !== book)
      assert.deepStrictEqual([best.data.type, best.data.bids, best.data.asks], ["snapshot", [["1001", "2"]], []])
      assert.isUndefined(best.data.prev_seq)
      // a change below the depth is not sent
      world.market.move([["900", "1"]], [])
      yield* Effect.sleep(40)
      world.market.move([["1001", "0"]], [])
      const after = (yield* peer.take(2)).find(({ topic }) => topic === book)
      assert.deepStrictEqual(after.data.bids, [
        ["951", "1"],
        ["1001", "0"]
      ])
      assert.strictEqual(after.data.prev_seq, 2)
    })
  )

  it.live("gives a late subscriber the topic's present, and then the deltas that all get", () =>
    Effect.gen(function* () {
      const world = new World()
      world.market.book.reset([["100", "1"]], [["101", "1"]], 1)
      yield* start(world)
      const early = yield* connect(world, "/ws/public")
      early.send({ op: "subscribe", args: [book] })
      yield* early.take(2)
      world.market.move([["99", "1"]], [])
      yield* early.next
      world.market.move([["98", "1"]], []) // waits for the cadence, unless that has passed
      const late = yield* connect(world, "/ws/public")
      late.send({ op: "subscribe", args: [book] })
      const [, snapshot] = yield* late.take(2)
      world.market.move([["97", "1"]], [])
      // one delta or two, as the cadence falls; each goes on where the one before ended
      for (const [peer, from] of [
        [late, snapshot.data.seq],
        [early, 2]
      ] as const) {
        for (let last = from; last < 4;) {
          const { data } = yield* peer.next
          assert.strictEqual(data.prev_seq, last)
          last = data.seq
        }
      }
      // again: the topic starts anew
      late.send({ op: "subscribe", args: [book] })
      const [again, fresh] = yield* late.take(2)
      assert.deepStrictEqual([again.op, fresh.data.type, fresh.data.seq], ["subscribed", "snapshot", 4])
    })
  )

  it.live("starts from a snapshot when the book was rebuilt, and never shows a crossed one", () =>
    Effect.gen(function* () {
      const world = new World()
      world.market.book.reset([["100", "1"]], [["101", "1"]], 9)
      yield* start(world)
      const peer = yield* connect(world, "/ws/public")
      peer.send({ op: "subscribe", args: [book] })
      yield* peer.take(2)
      world.market.book.reset([["102", "1"]], [["101", "1"]], 10)
      world.market.tell({ book: { prev_seq: 9, seq: 10, mts: 1, bids: [], asks: [] } })
      yield* Effect.sleep(40)
      world.market.stream_id = "b2"
      world.market.book.reset([["50", "1"]], [], 2)
      world.market.tell({ reset: true })
      const reset = yield* peer.next
      assert.deepStrictEqual([reset.data.type, reset.data.seq, reset.data.stream_id], ["snapshot", 2, "b2"])
    })
  )

  it.live("sends the trades of each matching event, before the book that shows them", () =>
    Effect.gen(function* () {
      const world = new World()
      world.market.trade(1, "1", "2")
      yield* start(world)
      const peer = yield* connect(world, "/ws/public")
      peer.send({ op: "subscribe", args: [book, `trade.${SYMBOL}`, `ticker.${SYMBOL}`] })
      const initial = yield* peer.take(4)
      const ids = (message: Message) => message.data.list.map(({ trade_id }: Message) => trade_id)
      assert.deepStrictEqual(ids(initial[2]), ["1-0", "1-1"])
      assert.deepStrictEqual([initial[3].data.type, initial[3].data.last_price], ["snapshot", "60000"])
      world.market.book.apply([["60000", "1"]], [], 5)
      world.market.tell({
        prints: [world.market.trade(2, "3"), world.market.trade(4, "3", "4")],
        book: { prev_seq: 0, seq: 5, mts: 1, bids: [["60000", "1"]], asks: [] },
        tickerChanged: true
      })
      const got = yield* peer.take(4)
      assert.deepStrictEqual(
        got.map(({ topic }) => topic),
        [`trade.${SYMBOL}`, `trade.${SYMBOL}`, book, `ticker.${SYMBOL}`]
      )
      assert.deepStrictEqual([ids(got[0]), ids(got[1])], [["2-0"], ["4-0", "4-1"]])
    })
  )

  it.live("paces tickers and candles, and sends a closed candle once", () =>
    Effect.gen(function* () {
      const world = new World()
      const candle = (close: string, confirm = false): Candle => ({
        start_time: 60_000,
        end_time: 120_000,
        open: "1",
        high: "9",
        low: "1",
        close,
        volume: "1",
        turnover: "5",
        trade_count: 1,
        confirm
      })
      world.market.candle = candle("1")
      yield* start(world)
      const peer = yield* connect(world, "/ws/public")
      peer.send({ op: "subscribe", args: [`kline.1.${SYMBOL}`] })
      const [, snapshot] = yield* peer.take(2)
      assert.deepStrictEqual(snapshot.data.list, [candle("1")])
      const tell = (close: string, confirm = false) =>
        world.market.tell({ candles: [{ interval: "1", candle: candle(close, confirm) }] })
      const at = Date.now()
      for (const close of ["2", "3", "4"]) tell(close)
      const got = yield* peer.take(2)
      assert.deepStrictEqual(
        got.map(({ data }) => data.list[0].close),
        ["2", "4"]
      )
      assert.isAtLeast(Date.now() - at, 200)
      tell("5")
      tell("6", true)
      const isClosed = ({ data }: { readonly data: { readonly list: ReadonlyArray<Candle> } }) => data.list[0]!.confirm
      yield* peer.until(() => peer.messages.some(isClosed))
      yield* Effect.sleep(300)
      // a machine that stood still for 200 ms has sent the one before it
      const late = peer.messages.slice(-2).map(({ data }) => data.list[0].close)
      assert.isTrue(late.join() === "6" || late.join() === "5,6", late.join())
      assert.lengthOf(peer.messages.filter(isClosed), 1)
    })
  )

  it.live("stops following a user without connections", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const peer = yield* connect(world, "/ws/private")
      yield* peer.ask({ op: "auth", bearer: "TK" })
      assert.strictEqual(world.users.followers, 1)
      peer.socket.close()
      yield* peer.ended
      yield* Effect.promise(() => until("nobody follows", () => world.users.followers === 0))
    })
  )
})

describe("authentication", () => {
  it.live("accepts a token and a signed frame, and returns the position of the user stream", () =>
    Effect.gen(function* () {
      const world = new World()
      world.callers.set("SHORT", { ...world.callers.get("TK")!, expires_at_ms: Date.now() + 60_000 })
      world.users.emit("order", {})
      yield* start(world)
      const peer = yield* connect(world, "/ws/private")
      assert.deepStrictEqual(yield* peer.ask({ op: "auth", bearer: "SHORT", req_id: "1" }), {
        op: "auth",
        success: true,
        user_id: USER,
        req_id: "1",
        stream_id: "s1",
        head_seq: 1,
        expires_at_ms: world.callers.get("SHORT")!.expires_at_ms
      })
      const key = yield* connect(world, "/ws/private")
      const frame = { op: "auth", api_key: "k", signature: "s", timestamp_ms: 1, nonce: "good-nonce", req_id: 2 }
      const accepted = yield* key.ask(frame)
      assert.deepStrictEqual([accepted.success, accepted.user_id, accepted.req_id], [true, USER, 2])
      assert.notProperty(accepted, "expires_at_ms")
      assert.isTrue(isServerFrame(accepted))
    })
  )

  it.live("makes a user present once a connection, until it is gone", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const peer = yield* connect(world, "/ws/private")
      yield* peer.ask({ op: "auth", bearer: "BAD" })
      yield* peer.ask({ op: "auth", bearer: "TK" })
      yield* peer.ask({ op: "auth", bearer: "TK2" })
      assert.deepStrictEqual(world.connections, [`+${USER}`])
      yield* connect(world, "/ws/private")
      peer.socket.close()
      yield* Effect.promise(() => until("the user is gone", () => world.connections.length > 1))
      assert.deepStrictEqual(world.connections, [`+${USER}`, `-${USER}`])
    })
  )

  it.live("refuses with the reason, and closes 4003 after three tries", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const peer = yield* connect(world, "/ws/private")
      const refused = yield* peer.ask({ op: "auth", bearer: "BAD", req_id: "1" })
      assert.deepStrictEqual(refused, {
        op: "auth",
        success: false,
        user_id: null,
        req_id: "1",
        code: "UNAUTHORIZED",
        message: "the token is not valid",
        details: { reason: "InvalidToken" }
      })
      assert.isTrue(isServerFrame(refused))
      const stale = yield* peer.ask({ op: "auth", api_key: "k", signature: "s", timestamp_ms: 1, nonce: "old-nonce" })
      assert.deepStrictEqual(stale.details, { reason: "StaleTimestamp", server_time_ms: 1 })
      const last = yield* peer.ask({ op: "auth", bearer: "WRITE" })
      assert.deepStrictEqual(
        [last.code, last.details],
        ["FORBIDDEN", { reason: "InsufficientScope", required: "read" }]
      )
      assert.strictEqual((yield* peer.ended).code, 4003)
    })
  )

  it.live("counts failed tries from the last success on", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world, { auth_tries: 3 })
      const peer = yield* connect(world, "/ws/private")
      for (let round = 0; round < 3; round++) {
        for (let i = 0; i < 2; i++) assert.isFalse((yield* peer.ask({ op: "auth", bearer: "BAD" })).success)
        assert.isTrue((yield* peer.ask({ op: "auth", bearer: "TK" })).success)
      }
      for (let i = 0; i < 3; i++) peer.send({ op: "auth", bearer: "BAD" })
      assert.strictEqual((yield* peer.ended).code, 4003)
    })
  )

  it.live("names what is missing of a credential, and counts each as a failed try", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world, { auth_tries: 6 })
      const peer = yield* connect(world, "/ws/private")
      const key = { op: "auth", api_key: "k", signature: "s", timestamp_ms: 1, nonce: "good-nonce" }
      for (const field of ["signature", "timestamp_ms", "nonce"]) {
        const reply = yield* peer.ask({ ...key, [field]: null })
        assert.deepStrictEqual([reply.code, reply.details], ["BAD_REQUEST", { reason: "MissingField", field }])
      }
      assert.strictEqual((yield* peer.ask({ op: "auth" })).details.reason, "MissingToken")
      assert.strictEqual((yield* peer.ask({ ...key, bearer: "TK" })).details.reason, "AmbiguousAuth")
      const elsewhere = yield* connect(world, "/ws/public")
      assert.deepStrictEqual(
        [(yield* elsewhere.ask({ op: "auth", bearer: "TK" })).code, elsewhere.close],
        ["BAD_REQUEST", undefined]
      )
      assert.isUndefined(peer.close)
      peer.send({ op: "auth" })
      assert.strictEqual((yield* peer.ended).code, 4003)
    })
  )

  it.live("lets the same user authenticate again, and no other", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const peer = yield* authenticated(world)
      assert.isTrue((yield* peer.ask({ op: "auth", bearer: "TK2" })).success)
      const other = yield* peer.ask({ op: "auth", bearer: "OTHER" })
      assert.deepStrictEqual([other.success, other.code], [false, "FORBIDDEN"])
      // only the credential in use ends the connection
      world.revoke("token-1")
      assert.strictEqual((yield* peer.ask({ op: "ping" })).op, "pong")
      world.revoke("token-2")
      assert.deepStrictEqual(yield* peer.ended, { code: 4010, text: "credential expired or revoked" })
    })
  )

  it.live("requires authentication before private topics", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const peer = yield* connect(world, "/ws/private")
      peer.send({ op: "subscribe", args: ["order", book], req_id: 1 })
      const got = yield* peer.take(3)
      assert.deepStrictEqual(got[0], { op: "subscribed", args: [], req_id: 1 })
      assert.deepStrictEqual([got[1].topic, got[1].code], ["order", "UNAUTHORIZED"])
      assert.deepStrictEqual([got[2].topic, got[2].code], [book, "BAD_REQUEST"])
    })
  )

  it.live("closes with 4001 without authentication in time, with 4010 when the token expires", () =>
    Effect.gen(function* () {
      const world = new World()
      world.callers.set("SHORT", { ...world.callers.get("TK")!, expires_at_ms: Date.now() + 150 })
      yield* start(world, { auth_deadline_ms: 100 })
      const idle = yield* connect(world, "/ws/private")
      const brief = yield* connect(world, "/ws/private")
      yield* brief.ask({ op: "auth", bearer: "SHORT" })
      assert.strictEqual((yield* idle.ended).code, 4001)
      assert.strictEqual((yield* brief.ended).code, 4010)
    })
  )

  it.live("keeps its deadlines and message rates when the wall clock steps", () =>
    Effect.gen(function* () {
      const world = new World()
      let step_ms = 0
      const clock = aheadOf(yield* Clock.Clock, () => step_ms)
      yield* start(world, { ping_interval_ms: 1_000 }, clock)
      const peer = yield* connect(world, "/ws/private")
      for (const hours of [1, -1, 1]) {
        step_ms = hours * 3_600_000
        // the keepalive looks every 100 ms
        yield* Effect.sleep(300)
        const pong = yield* peer.ask({ op: "ping" })
        assert.strictEqual(pong.op, "pong")
        assert.closeTo(pong.server_ts, clock.currentTimeMillisUnsafe(), 60_000)
      }
    })
  )

  it.live("closes 4010 at the millisecond in which the token expires", () =>
    Effect.gen(function* () {
      const world = new World()
      const now = Date.now()
      // this clock stands still
      const clock: Clock.Clock = Object.assign(Object.create(Clock.Clock.defaultValue()), {
        currentTimeMillisUnsafe: () => now,
        currentTimeMillis: Effect.succeed(now)
      })
      world.callers.set("DUE", { ...world.callers.get("TK")!, expires_at_ms: now })
      world.callers.set("LATER", { ...world.callers.get("TK")!, expires_at_ms: now + 1 })
      yield* start(world, {}, clock)
      const later = yield* connect(world, "/ws/private")
      yield* later.ask({ op: "auth", bearer: "LATER" })
      const due = yield* connect(world, "/ws/private")
      yield* due.ask({ op: "auth", bearer: "DUE" })
      assert.strictEqual((yield* due.ended).code, 4010)
      assert.strictEqual((yield* later.ask({ op: "ping" })).op, "pong")
    })
  )

  it.live("limits connections of a user and of an address", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world, { connections_per_user: 1, connections_per_ip: 3, trusted_proxies: 1 })
      const first = yield* authenticated(world)
      const second = yield* connect(world, "/ws/private")
      assert.deepStrictEqual(
        [(yield* second.ask({ op: "auth", bearer: "TK2" })).success, (yield* second.ended).code],
        [false, 4029]
      )
      first.socket.close()
      yield* first.ended
      yield* Effect.promise(() => until("the place is free", () => world.users.followers === 0))
      yield* authenticated(world, "TK2")
      const headers = { "x-forwarded-for": "9.9.9.9, 203.0.113.7" }
      for (let i = 0; i < 3; i++) yield* connect(world, "/ws", { headers })
      const refused = yield* Effect.flip(connect(world, "/ws", { headers }))
      assert.strictEqual(
        refused.message,
        '429 {"code":"RateLimitExceeded","message":"rate limit exceeded","details":{"reason":"RateLimitExceeded"}}'
      )
      yield* connect(world, "/ws", { headers: { "x-forwarded-for": "203.0.113.7, 203.0.113.8" } })
    })
  )
})

describe("private topics", () => {
  it.live(
    "follows docs/contract/stories.md#reconnect-and-resume: snapshots, updates, a lost connection, a resume without gap or repetition",
    () =>
      Effect.gen(function* () {
        const world = new World()
        yield* start(world)
        const peer = yield* authenticated(world)
        peer.send({ op: "subscribe", args: ["order", "execution"], req_id: "2" })
        const [subscribed, orders, executions] = yield* peer.take(3)
        assert.deepStrictEqual(subscribed, { op: "subscribed", args: ["order", "execution"], req_id: "2" })
        for (const snapshot of [orders, executions]) {
          assert.deepStrictEqual(
            [snapshot.data.type, snapshot.data.stream_id, snapshot.data.seq, snapshot.data.list],
            ["snapshot", "s1", 0, []]
          )
        }
        world.users.emit("order", { order_status: "New" })
        world.users.emit("account_balance", {})
        const update = yield* peer.next
        assert.strictEqual(update.topic, "order")
        assert.deepStrictEqual(
          { ...update.data, ts: 0 },
          {
            type: "update",
            stream_id: "s1",
            seq: 1,
            prev_seq: 0,
            ts: 0,
            mts: 5,
            list: [order({ order_status: "New" })]
          }
        )
        peer.socket.terminate()
        for (const topic of ["execution", "order", "position", "account_balance"] as const) world.users.emit(topic, {})

        const back = yield* authenticated(world)
        const since = { stream_id: "s1", seq: 1 }
        back.send({ op: "subscribe", args: ["order", "execution"], req_id: "3", since })
        const [resumed, fill, filled] = yield* back.take(3)
        assert.deepStrictEqual(resumed.resume, { recovered: true, stream_id: "s1", head_seq: 6 })
        assert.deepStrictEqual([fill.topic, fill.data.seq, fill.data.prev_seq], ["execution", 3, 0])
        assert.deepStrictEqual([filled.topic, filled.data.seq, filled.data.prev_seq], ["order", 4, 1])
        world.users.emit("order", {})
        const live = yield* back.next
        assert.deepStrictEqual([live.data.seq, live.data.prev_seq], [7, 4])

        for (const other of [
          { stream_id: "s0", seq: 1 },
          { stream_id: "s1", seq: 99 }
        ]) {
          back.send({ op: "subscribe", args: ["order"], since: other })
          const [lost, snapshot] = yield* back.take(2)
          assert.deepStrictEqual(lost.resume, { recovered: false, stream_id: "s1", head_seq: 7 })
          assert.deepStrictEqual([snapshot.data.type, snapshot.data.seq], ["snapshot", 7])
        }
        world.users.forgotten = 2
        back.send({ op: "subscribe", args: ["order"], since_seq: 1 })
        assert.strictEqual((yield* back.next).resume.recovered, false)
        yield* back.next
        back.send({ op: "subscribe", args: ["order"], since_seq: 2 })
        const [kept] = yield* back.take(3)
        assert.strictEqual(kept.resume.recovered, true)
      })
  )

  it.live("joins a snapshot with what happens while it is read", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      world.users.emit("order", { version: 1 })
      const peer = yield* authenticated(world)
      world.users.orders = [order()]
      world.users.meanwhile = () => {
        world.users.emit("order", { version: 2 })
        world.users.orders = [order(), order({ order_id: uuid(2) })]
      }
      peer.send({ op: "subscribe", args: ["order"] })
      const [, snapshot] = yield* peer.take(2)
      // the list was read again, so that it is that of its position
      assert.deepStrictEqual([snapshot.data.seq, snapshot.data.list.length], [2, 2])
      world.users.emit("order", { version: 3 })
      const update = yield* peer.next
      assert.deepStrictEqual([update.data.seq, update.data.list], [3, [order({ version: 3 })]])
    })
  )

  it.live("keeps positions and balances with the seq of their last event", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      world.users.positions = [position({ sub_account_address: VAULT, size: "1" })]
      world.users.balances = [balance({ sub_account_address: VAULT })]
      const peer = yield* authenticated(world)
      peer.send({ op: "subscribe", args: ["position", "account_balance"] })
      const [, positions, balances] = yield* peer.take(3)
      assert.deepStrictEqual(positions.data.list, [{ ...world.users.positions[0], seq: 3 }])
      assert.deepStrictEqual(balances.data.list, [{ ...world.users.balances[0], seq: 3 }])
    })
  )

  it.live("shows a bound key the numbers of all events and the records of its own sub-accounts", () =>
    Effect.gen(function* () {
      const world = new World()
      world.users.positions = [position({ sub_account_address: VAULT }), position({ sub_account_address: VAULT_1 })]
      yield* start(world)
      const bound = yield* authenticated(world, "BOUND")
      const whole = yield* authenticated(world)
      for (const peer of [bound, whole]) peer.send({ op: "subscribe", args: ["position"] })
      assert.lengthOf((yield* bound.take(2))[1].data.list, 1)
      assert.lengthOf((yield* whole.take(2))[1].data.list, 2)
      world.users.emit("position", {}, { vault: VAULT })
      world.users.emit("position", {}, { vault: VAULT_1 })
      world.users.emit("position", {}, { user: OTHER_USER })
      const lists = (messages: ReadonlyArray<Message>) => messages.map(({ data }) => [data.seq, data.list.length])
      assert.deepStrictEqual(lists(yield* bound.take(2)), [
        [1, 1],
        [2, 0]
      ])
      assert.deepStrictEqual(lists(yield* whole.take(2)), [
        [1, 1],
        [2, 1]
      ])
    })
  )

  it.live("starts from snapshots when the numbers restart", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const peer = yield* authenticated(world)
      peer.send({ op: "subscribe", args: ["order"] })
      yield* peer.take(2)
      world.users.emit("order", {})
      yield* peer.next
      world.users.restart("s2")
      const snapshot = yield* peer.next
      assert.deepStrictEqual([snapshot.data.type, snapshot.data.stream_id, snapshot.data.seq], ["snapshot", "s2", 0])
      world.users.emit("order", {})
      assert.strictEqual((yield* peer.next).data.seq, 1)
    })
  )

  it.live("sends the snapshots of the new stream when the numbers restart while a snapshot is read", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      for (let i = 0; i < 3; i++) world.users.emit("position", {})
      const peer = yield* authenticated(world)
      const reading = new Stop()
      world.users.reading = reading.here
      peer.send({ op: "subscribe", args: ["position", "order"] })
      yield* reading.reached
      // the positions are those of s1, and the numbers of s2 pass them
      world.users.restart("s2")
      for (let i = 0; i < 5; i++) world.users.emit("position", {})
      yield* reading.release
      const snapshot = yield* peer.until(() =>
        peer.messages.find(({ data, topic }) => topic === "position" && data.stream_id === "s2")
      )
      assert.deepStrictEqual([snapshot.data.type, snapshot.data.seq], ["snapshot", 5])
    })
  )

  it.live("restarts the topics that it holds when the numbers restart while another topic begins", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const peer = yield* authenticated(world)
      peer.send({ op: "subscribe", args: ["position"] })
      yield* peer.take(2)
      for (let i = 0; i < 3; i++) world.users.emit("position", {})
      yield* peer.take(3)
      const reading = new Stop()
      world.users.reading = reading.here
      peer.send({ op: "subscribe", args: ["order"] })
      yield* reading.reached
      world.users.restart("s2")
      // the orders are read again, so their snapshot is of s2
      yield* reading.release
      const first = yield* peer.until(() => peer.messages.find(({ topic }) => topic === "order"))
      assert.strictEqual(first.data.stream_id, "s2")
      world.users.emit("position", {})
      const positions = yield* peer.until(() => {
        const own = peer.messages.filter(({ topic }) => topic === "position")
        return own.length === 2 && own
      })
      assert.deepStrictEqual(
        positions.map(({ data }) => [data.type, data.stream_id, data.seq]),
        [
          ["snapshot", "s2", 0],
          ["update", "s2", 1]
        ]
      )
    })
  )

  it.live.each([{ since: { stream_id: "s1", seq: 1 } }, { since_seq: 1 }])(
    "does not resume a stream that was replaced after its events were read: %j",
    (since) =>
      Effect.gen(function* () {
        const world = new World()
        const lease = new ManualLease()
        world.callers.set("TK", { ...world.callers.get("TK")!, grant: new Grant("token-1", USER, lease) })
        yield* start(world)
        for (let i = 0; i < 3; i++) world.users.emit("order", {})
        const peer = yield* authenticated(world)
        lease.end()
        peer.send({ op: "subscribe", args: ["order"], ...since })
        yield* Effect.promise(() => until("the subscription waits for the lease", () => lease.waiters > 0))
        world.users.restart("s2")
        for (let i = 0; i < 2; i++) world.users.emit("order", {})
        lease.renew()
        const [subscribed, snapshot] = yield* peer.take(2)
        assert.deepStrictEqual(subscribed.resume, { recovered: false, stream_id: "s2", head_seq: 2 })
        const { seq, stream_id, type } = snapshot.data
        assert.deepStrictEqual([type, stream_id, seq], ["snapshot", "s2", 2])
      })
  )

  it.live("sends what was missed when the stream was interrupted and its numbers continue", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const peer = yield* authenticated(world)
      const idle = yield* authenticated(world)
      peer.send({ op: "subscribe", args: ["order"] })
      yield* peer.take(2)
      world.users.emit("order", { version: 1 })
      world.users.emit("order", { version: 2 }, { untold: true })
      world.users.emit("execution", {}, { untold: true })
      world.users.restart("s1")
      world.users.emit("order", { version: 4 })
      const seqs = (yield* peer.take(3)).map(({ data }) => [data.type, data.seq, data.prev_seq])
      assert.deepStrictEqual(seqs, [
        ["update", 1, 0],
        ["update", 2, 1],
        ["update", 4, 2]
      ])
      idle.send({ op: "subscribe", args: ["order"] })
      const [, snapshot] = yield* idle.take(2)
      assert.strictEqual(snapshot.data.seq, 4)
      world.users.emit("order", { version: 5 })
      assert.strictEqual((yield* idle.next).data.seq, 5)
    })
  )

  it.live("resumes after an interruption though its queue of messages is full", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world, { message_burst: 3, messages_per_s: 1_000 })
      const peer = yield* authenticated(world)
      peer.send({ op: "subscribe", args: ["execution"] })
      yield* peer.take(2)
      const reading = new Stop()
      world.users.reading = reading.here
      peer.send({ op: "subscribe", args: ["order"] })
      yield* reading.reached
      // the rate admits one message a millisecond, so one is sent in each
      let sentAt = 0
      while (!peer.messages.some(({ message }) => message === "too many messages are queued")) {
        assert.isUndefined(peer.close)
        if (Date.now() !== sentAt) peer.send({ op: "unsubscribe", args: ["position"] })
        sentAt = Date.now()
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      }
      world.users.restart("s1")
      yield* reading.release
      world.users.emit("execution", {})
      const update = yield* peer.until(() =>
        peer.messages.find(({ data, topic }) => topic === "execution" && data.type === "update")
      )
      assert.strictEqual(update.data.seq, 1)
    })
  )

  it.live("resumes a client that has seen more than this gateway once the events arrive here", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      for (let i = 0; i < 5; i++) world.users.emit("order", {})
      // another gateway has shown all, and this one two of them
      world.users.behind = 3
      const peer = yield* authenticated(world)
      peer.send({ op: "subscribe", args: ["order"], since: { stream_id: "s1", seq: 4 } })
      assert.strictEqual((yield* peer.ask({ op: "ping" })).op, "pong")
      world.users.behind = 0
      world.users.emit("order", {})
      const [subscribed, ...events] = yield* peer.take(3)
      assert.deepStrictEqual(subscribed!.resume, { recovered: true, stream_id: "s1", head_seq: 6 })
      assert.deepStrictEqual(
        events.map(({ data }) => data.seq),
        [5, 6]
      )
    })
  )

  it.live("refuses topics whose backend does not answer, and closes 1013 when that lasts", () =>
    Effect.gen(function* () {
      const world = new World()
      // checks every 20 ms
      yield* start(world, { ping_interval_ms: 200 })
      const peer = yield* authenticated(world)
      const publicPeer = yield* connect(world, "/ws/public")
      world.lose("referee", 1_000)
      peer.send({ op: "subscribe", args: ["position", "order"], req_id: 1 })
      const got = yield* peer.take(3)
      assert.deepStrictEqual(got[0], { op: "subscribed", args: ["order"], req_id: 1 })
      const refused = got.find(({ op }) => op === "error")
      assert.deepStrictEqual(
        [refused.topic, refused.code, refused.details.reason],
        ["position", "SERVICE_UNAVAILABLE", "BackendUnavailable"]
      )
      world.lose("sequencer", 10_001)
      assert.strictEqual((yield* peer.ended).code, 1013)
      assert.match((yield* Effect.flip(connect(world, "/ws/private"))).message, /^503 .*SERVICE_UNAVAILABLE/u)
      assert.strictEqual((yield* publicPeer.ask({ op: "ping" })).op, "pong")
      world.lose("sequencer", 60_001)
      assert.strictEqual((yield* publicPeer.ended).code, 1013)
    })
  )
})

describe("the end", () => {
  it.live("pings, and closes a silent connection with 4000", () =>
    Effect.gen(function* () {
      const world = new World()
      // ten pings: a machine that is busy for some of them makes nobody silent
      yield* start(world, { ping_interval_ms: 100, silence_ms: 1_000 })
      const alive = yield* connect(world, "/ws")
      const silent = yield* connect(world, "/ws", { autoPong: false })
      assert.strictEqual((yield* silent.ended).code, 4000)
      yield* alive.until(() => alive.pings > 5)
      assert.isUndefined(alive.close)
    })
  )

  it.live("announces a shutdown, closes with 1001, and refuses new connections meanwhile", () =>
    Effect.gen(function* () {
      const world = new World()
      const scope = yield* Scope.make()
      yield* start(world, { drain_ms: 1_000 }).pipe(Scope.provide(scope))
      const peers = yield* Effect.forEach([1, 2, 3, 4], () => connect(world, "/ws"))
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      const refused = yield* Effect.flip(connect(world, "/ws"))
      assert.match(refused.message, /^503 .*ShuttingDown/u)
      yield* Fiber.join(closing)
      for (const peer of peers) {
        assert.deepStrictEqual(yield* peer.ended, { code: 1001, text: "going away" })
        const [announced] = peer.messages
        assert.deepStrictEqual(
          [announced.op, announced.code, announced.message],
          ["error", "SERVICE_UNAVAILABLE", "going away"]
        )
      }
    })
  )
})
