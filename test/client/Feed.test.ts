import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import type { AddressInfo } from "node:net"
import { type WebSocket, WebSocketServer } from "ws"
import { Client, Feed } from "../../src/client/index.ts"
import { alert, pool } from "../doubles/events.ts"
import { MARKET, start, SYMBOL, World } from "../ws/World.ts"

const topic = `orderbook.50.${SYMBOL}` as const

/** Waits until something holds; looks every few milliseconds. */
const until = (look: () => boolean, what: string): Effect.Effect<void> =>
  Effect.gen(function* () {
    while (!look()) yield* Effect.sleep(5)
  }).pipe(
    Effect.timeoutOrElse({ duration: 5_000, orElse: () => Effect.die(new Error(`not seen within 5 s: ${what}`)) })
  )

const clientOf = (url: string, token?: string): Effect.Effect<Client.Client> =>
  Client.make({
    baseUrl: url.replace(/^ws/u, "http"),
    ...(token === undefined ? {} : { credential: { type: "token", token } })
  })

// oxlint-disable-next-line typescript/no-explicit-any
type Message = any

/** A gateway that does what the test says: `onMessage` gets each message of each connection. */
const scripted = (
  onMessage: (message: Message, send: (reply: object) => void, socket: WebSocket, connection: number) => void
): Effect.Effect<{ readonly url: string; readonly asked: Array<Message> }, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<{ readonly server: WebSocketServer; readonly asked: Array<Message> }>((resume) => {
        const asked: Array<Message> = []
        let connections = 0
        const server: WebSocketServer = new WebSocketServer({ port: 0, host: "127.0.0.1" })
        server.once("listening", () => resume(Effect.succeed({ server, asked })))
        server.on("connection", (socket) => {
          const connection = ++connections
          socket.on("message", (data) => {
            const message = JSON.parse(String(data))
            asked.push(message)
            onMessage(message, (reply) => socket.send(JSON.stringify(reply)), socket, connection)
          })
        })
      }),
      ({ server }) =>
        Effect.sync(() => {
          for (const socket of server.clients) socket.terminate()
          server.close()
        })
    ),
    ({ asked, server }) => ({ url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`, asked })
  )

const event = (name: string, data: object) => ({ op: "event", topic: name, server_ts_ms: 1, data })
const update = (seq: number, prev_seq: number, stream_id = "s1") => ({
  type: "update",
  stream_id,
  seq,
  prev_seq,
  ts: 1,
  mts: 1,
  list: [{ seq }]
})

describe("Feed", () => {
  it.live("tells every kind of public event as what it is", () =>
    Effect.gen(function* () {
      const world = new World()
      world.market.pool = pool()
      world.market.alert = alert()
      yield* start(world)
      const client = yield* clientOf(world.url)
      const seen: Array<Feed.FeedEvent> = []
      const topics = [`trade/${MARKET}`, ...["insurance_pool", "adl_alert"].map((name) => `${name}.${SYMBOL}`)]
      yield* client.feed({ topics, onEvent: (each) => seen.push(each) })
      world.market.tell({ trades: world.market.trade(3, "60000", "60000") })
      yield* until(() => seen.length === 3, "three events")
      assert.deepStrictEqual(seen.map(({ kind }) => kind).toSorted(), ["adl_alert", "insurance_pool", "trade/"])
      const trades = seen.find((each) => each.kind === "trade/")!
      assert.deepStrictEqual([trades.data.list[0]!.count, trades.data.list[0]!.qty], [2, "2"])
    })
  )

  it.live("keeps a book equal to the market's", () =>
    Effect.gen(function* () {
      const world = new World()
      world.market.book.reset([["100", "1"]], [["101", "1"]], 5)
      yield* start(world)
      const client = yield* clientOf(world.url)
      const seen: Array<string> = []
      const feed = yield* client.feed({ topics: [topic, `ticker.${SYMBOL}`], onEvent: ({ kind }) => seen.push(kind) })
      assert.deepStrictEqual(feed.state(), { type: "live", resume: undefined })
      for (let i = 1; i <= 50; i++) {
        world.market.move([[String(100 - (i % 7)), String(i % 5)]], [[String(101 + (i % 11)), String(i % 3)]])
        if (i % 10 === 0) yield* Effect.sleep(25)
      }
      yield* until(() => feed.book(SYMBOL, 50)?.seq === world.market.book.seq, "the last delta")
      const book = feed.book(SYMBOL, 50)!
      assert.deepStrictEqual([book.bids(), book.asks()], [world.market.book.bids(50), world.market.book.asks(50)])
      assert.deepStrictEqual([book.sound, book.faults], [true, 0])
      assert.isAbove(book.messages, 3)
      assert.include(seen, "ticker")
      assert.isNumber(yield* feed.ping)
      assert.deepStrictEqual(yield* feed.subscribe([`trade.${SYMBOL}`, "trade.NOPE-USDC"]), [`trade.${SYMBOL}`])
      yield* feed.unsubscribe([topic])
      assert.isUndefined(feed.book(SYMBOL, 50))
    })
  )

  it.live("takes a book anew when a message is missing or the checksum differs", () =>
    Effect.gen(function* () {
      const levels = { symbol: SYMBOL, depth: 50, bids: [["60000", "0.5"]], asks: [], ts: 1, mts: 1 }
      const snapshot = { type: "snapshot", ...levels, seq: 1, stream_id: "b", checksum: 3583956136 }
      const delta = { type: "delta", ...levels, bids: [], checksum: 3583956136 }
      const { asked, url } = yield* scripted((message, send) => {
        if (message.op !== "subscribe") return
        send({ op: "subscribed", args: message.args, req_id: message.req_id })
        send(event(topic, snapshot))
        const times = asked.length
        if (times === 1) send(event(topic, { ...delta, seq: 4, prev_seq: 3 })) // a gap
        if (times === 2) send(event(topic, { ...delta, seq: 2, prev_seq: 1, checksum: 7 }))
        if (times === 3) send(event(topic, { ...delta, seq: 2, prev_seq: 1 }))
        // skipped until the snapshot that was asked for
        if (times < 3) send(event(topic, { ...delta, seq: 9, prev_seq: 8 }))
      })
      const faults: Array<string> = []
      const client = yield* clientOf(url)
      const feed = yield* client.feed({ topics: [topic], onFault: (_, fault) => faults.push(fault) })
      yield* until(() => feed.book(SYMBOL, 50)?.seq === 2 && feed.book(SYMBOL, 50)!.sound, "a sound book")
      assert.deepStrictEqual(faults, ["gap", "checksum"])
      assert.strictEqual(feed.book(SYMBOL, 50)!.faults, 2)
      assert.lengthOf(asked, 3)
    })
  )

  it.live("authenticates, loses the line, comes back and resumes without a hole or a repetition", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* scripted((message, send, socket, connection) => {
        const { args, op, req_id } = message
        if (op === "auth") {
          const ok = { op: "auth", success: true, user_id: "u", req_id, stream_id: "s1", head_seq: 0 }
          return send(message.bearer === "TK" ? ok : { op: "auth", success: false, user_id: null, req_id })
        }
        if (op !== "subscribe") return
        if (connection === 1) {
          send({ op: "subscribed", args, req_id })
          for (const name of args) send(event(name, { type: "snapshot", stream_id: "s1", seq: 0, list: [] }))
          send(event("order", update(1, 0)))
          send(event("execution", update(3, 0)))
          return setTimeout(() => socket.terminate(), 20)
        }
        send({ op: "subscribed", args, req_id, resume: { recovered: true, stream_id: "s1", head_seq: 5 } })
        send(event("execution", update(3, 0))) // told before
        send(event("order", update(4, 1)))
        send(event("order", update(6, 5))) // 5 is missing
        return
      })
      const seqs: Array<number> = []
      const states: Array<Feed.FeedState> = []
      const client = yield* clientOf(url, "TK")
      yield* client.feed({
        topics: ["order", "execution"],
        onEvent: ({ data }) => {
          if ("stream_id" in data && data.type === "update") seqs.push(data.seq)
        },
        onState: (state) => states.push(state)
      })
      yield* until(() => asked.length >= 5, "what is missing is asked for")
      assert.deepStrictEqual(seqs, [1, 3, 4])
      assert.deepStrictEqual(
        states.map(({ type }) => type),
        ["connecting", "live", "lost", "connecting", "live"]
      )
      const [, , , again, missing] = asked
      assert.deepStrictEqual([again.args, again.since], [["order", "execution"], { stream_id: "s1", seq: 3 }])
      assert.deepStrictEqual([missing.args, missing.since], [["order"], { stream_id: "s1", seq: 4 }])
    })
  )

  it.live("fails where it is not let in, and ends when its credential does", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const nobody = yield* clientOf(world.url)
      assert.strictEqual((yield* Effect.flip(nobody.feed({ topics: ["order"] }))).message, "log in first")
      const wrong = yield* clientOf(world.url, "BAD")
      const refused = yield* Effect.flip(wrong.feed({ topics: ["order"] }))
      assert.deepStrictEqual([refused.code, refused.message], ["AuthRefused", "the token is not valid"])
      const client = yield* clientOf(world.url, "TK")
      const feed = yield* client.feed({ topics: ["order"] })
      world.revoke("token-1")
      yield* until(() => feed.state().type === "ended", "the end")
      const { code } = feed.state() as { readonly code: number }
      assert.strictEqual(code, 4010)
    })
  )

  it.live("comes back to a gateway that restarts, and leaves when its scope closes", () =>
    Effect.gen(function* () {
      let open = 0
      const { url } = yield* scripted((message, send, socket, connection) => {
        if (message.op !== "subscribe") return
        open++
        socket.on("close", () => open--)
        send({ op: "subscribed", args: message.args, req_id: message.req_id })
        if (connection < 3) setTimeout(() => socket.close(1001, "going away"), 5)
      })
      const client = yield* clientOf(url)
      let live = 0
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* client.feed({ topics: [`trade.${SYMBOL}`], onState: ({ type }) => (type === "live" ? live++ : live) })
          yield* until(() => live === 3, "the third connection")
          assert.strictEqual(open, 1)
        })
      )
      yield* until(() => open === 0, "the socket is closed")
    })
  )
})
