import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope, Stream } from "effect"
import type { AddressInfo } from "node:net"
import { type WebSocket, WebSocketServer } from "ws"
import { Client, Feed } from "../../src/client/index.ts"
import { alert, pool } from "../../verification/harness/Records.ts"
import { MARKET, start, SYMBOL, World } from "../../verification/harness/WebSocketWorld.ts"

const topic = `orderbook.50.${SYMBOL}` as const

/** Polls until a condition holds. */
const until = (look: () => boolean, what: string): Effect.Effect<void> =>
  Effect.gen(function* () {
    while (!look()) yield* Effect.sleep(5)
  }).pipe(
    Effect.timeoutOrElse({ duration: 20_000, orElse: () => Effect.die(new Error(`not seen within 20 s: ${what}`)) })
  )

const clientOf = (url: string, token?: string): Effect.Effect<Client.Client> =>
  Client.make({
    baseUrl: url.replace(/^ws/u, "http"),
    ...(token === undefined ? {} : { credential: { type: "token", token } })
  })

// oxlint-disable-next-line typescript/no-explicit-any
type Message = any

/** A scripted gateway: `onMessage` receives each message of each connection. */
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

describe("Feed", () => {
  it.live("emits each kind of public event with its type", () =>
    Effect.gen(function* () {
      const world = new World()
      world.market.pool = pool()
      world.market.alert = alert()
      yield* start(world)
      const client = yield* clientOf(world.url)
      const seen: Array<Exclude<Feed.FeedEvent, { readonly kind: "state" }>> = []
      const topics = [`trade/${MARKET}`, ...["insurance_pool", "adl_alert"].map((name) => `${name}.${SYMBOL}`)]
      yield* client.feed({ topics, onEvent: (each) => each.kind !== "state" && seen.push(each) })
      world.market.tell({ prints: [world.market.trade(3, "60000", "60000")] })
      yield* until(() => seen.length === 3, "three events")
      assert.deepStrictEqual(seen.map(({ kind }) => kind).toSorted(), ["adl_alert", "insurance_pool", "trade/"])
      const trades = seen.find((each) => each.kind === "trade/")!
      assert.deepStrictEqual([trades.data.list[0]!.count, trades.data.list[0]!.qty], [2, "2"])
    })
  )

  it.live("fails where the address of the gateway is none", () =>
    Effect.gen(function* () {
      const client = yield* clientOf("127.0.0.1:3010")
      const opened = [
        client.feed({ topics: [topic] }),
        client.book(SYMBOL, 50),
        Stream.runDrain(client.events([topic]))
      ]
      for (const feed of opened) {
        const error = yield* Effect.flip(feed)
        assert.instanceOf(error, Feed.FeedEnded)
        assert.include(error.message, "Invalid URL")
      }
    })
  )

  it.live("keeps a book that equals the market's", () =>
    Effect.gen(function* () {
      const world = new World()
      world.market.book.reset([["100", "1"]], [["101", "1"]], 5)
      yield* start(world)
      const client = yield* clientOf(world.url)
      const seen: Array<string> = []
      const feed = yield* client.feed({ topics: [topic, `ticker.${SYMBOL}`], onEvent: ({ kind }) => seen.push(kind) })
      assert.deepStrictEqual(feed.state.get(), { type: "live", resume: undefined })
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

  it.live("fails without a valid credential, and ends with its credential", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const nobody = yield* clientOf(world.url)
      assert.strictEqual((yield* Effect.flip(nobody.feed({ topics: ["order"] }))).message, "log in first")
      const wrong = yield* clientOf(world.url, "BAD")
      const refused = yield* Effect.flip(wrong.feed({ topics: ["order"] }))
      assert.deepStrictEqual([refused.code, refused.message], [4003, "the token is not valid"])
      const client = yield* clientOf(world.url, "TK")
      const feed = yield* client.feed({ topics: ["order"] })
      world.revoke("token-1")
      yield* until(() => feed.state.get().type === "ended", "the end")
      assert.include(feed.state.get(), { type: "ended", code: 4010 })
    })
  )

  it.live("resumes at its position with a renewed credential", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const client = yield* Client.make({
        baseUrl: world.url.replace(/^ws/u, "http"),
        credential: { type: "token", token: "TK" },
        renew: Effect.succeed({ type: "token", token: "TK2" })
      })
      const events: Array<Feed.FeedEvent> = []
      const feed = yield* client.feed({ topics: ["order", "execution"], onEvent: (each) => events.push(each) })
      const seqs = () =>
        events.flatMap((each) => (each.kind === "order" && each.data.type === "update" ? [each.data.seq] : []))
      world.users.emit("order", {})
      yield* until(() => seqs().length === 1, "the first event")
      world.revoke("token-1")
      yield* until(() => feed.state.get().type !== "live", "the token has ended")
      world.users.emit("order", {})
      yield* until(() => seqs().length === 2, "what happened meanwhile")
      assert.deepStrictEqual(seqs(), [1, 2])
      const { connections, faults, resumed, unrecovered } = feed.counts()
      assert.deepStrictEqual([connections, resumed, unrecovered, faults.gap, faults.repetition], [2, 1, 0, 0, 0])
    })
  )

  it.live("reconnects to a restarted gateway, and disconnects with its scope", () =>
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
      const onEvent = (event: Feed.FeedEvent) => {
        if (event.kind === "state" && event.state.type === "live") live++
      }
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* client.feed({ topics: [`trade.${SYMBOL}`], onEvent })
          yield* until(() => live === 3, "the third connection")
          assert.strictEqual(open, 1)
        })
      )
      yield* until(() => open === 0, "the socket is closed")
    })
  )

  it.live("subscribes only what it does not follow yet, and answers all that it follows", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* scripted((message, send) => {
        // a repeated topic counts once
        const args = [...new Set(message.args)]
        if (message.op === "subscribe") send({ op: "subscribed", args, req_id: message.req_id })
      })
      const client = yield* clientOf(url)
      const [first, second] = [`trade.${SYMBOL}`, `tickers.${SYMBOL}`] as const
      const feed = yield* client.feed({ topics: [first], onEvent: () => {} })
      yield* until(() => feed.state.get().type === "live", "the feed is live")
      assert.deepStrictEqual(yield* feed.subscribe([first, second, second]), [first, second])
      assert.deepStrictEqual(
        asked.filter(({ op }) => op === "subscribe").map(({ args }) => args),
        [[first], [second]]
      )
    })
  )
})
