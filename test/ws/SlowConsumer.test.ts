/** What becomes of sockets that do not read, on real sockets. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { trade } from "../../verification/harness/Records.ts"
import { connect, start, SYMBOL, World } from "../../verification/harness/WebSocketWorld.ts"

const book = `orderbook.1000.${SYMBOL}`
const deep = (price: number) => Array.from({ length: 1_000 }, (_, i) => [String(price + i), `${price}.5`] as const)

describe("a socket that does not read", () => {
  it.live("loses only intermediate steps of a book, and delays no other client", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world, { outbound_bytes: 200_000 })
      const [stuck, brisk] = [yield* connect(world, "/ws/public"), yield* connect(world, "/ws/public")]
      for (const peer of [stuck, brisk]) {
        peer.send({ op: "subscribe", args: [`orderbook.50.${SYMBOL}`, book] })
        yield* peer.take(3)
      }
      stuck.socket.pause()
      // far more than kernel buffers and the limit hold; each round replaces the whole book
      let last = 0
      for (let round = 1; round <= 400; round++) {
        world.market.stream_id = `b${round}`
        world.market.book.reset([], deep(round * 2_000), round)
        world.market.tell({ reset: true })
        yield* brisk.until(() => brisk.messages.length === 2)
        last = brisk.messages.splice(0, 2)[1].data.seq
        assert.strictEqual(last, round)
      }
      assert.isUndefined(stuck.close)
      stuck.socket.resume()
      yield* stuck.until(() => {
        const latest = stuck.messages.filter(({ topic }) => topic === book).at(-1)
        return latest?.data.seq === last && latest.data.type === "snapshot"
      })
      assert.isBelow(stuck.messages.length, 800)
      // and it goes on from there
      const before = stuck.messages.length
      world.market.move([], [["800000", "7"]])
      yield* stuck.until(() => stuck.messages.slice(before).some(({ topic }) => topic === book))
      const delta = stuck.messages.findLast(({ topic }) => topic === book).data
      assert.deepStrictEqual([delta.type, delta.prev_seq, delta.seq], ["delta", 400, 401])
    })
  )

  it.live("is closed 4008 when it loses private events or trades", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world, { outbound_bytes: 100_000, close_timeout_ms: 200 })
      const orders = yield* connect(world, "/ws/private")
      yield* orders.ask({ op: "auth", bearer: "TK" })
      orders.send({ op: "subscribe", args: ["order"] })
      const trades = yield* connect(world, "/ws/public")
      trades.send({ op: "subscribe", args: [`trade.${SYMBOL}`] })
      yield* orders.take(2)
      yield* trades.take(2)
      orders.socket.pause()
      trades.socket.pause()
      const text = "x".repeat(10_000)
      for (let i = 1; i <= 2_000; i++) {
        world.users.emit("order", { reject_message: text })
        world.market.tell({ prints: [[trade({ seq: i, trade_id: text })]] })
        if (i % 50 === 0) yield* Effect.sleep(1)
      }
      orders.socket.resume()
      trades.socket.resume()
      assert.strictEqual((yield* orders.ended).code, 4008)
      assert.strictEqual((yield* trades.ended).code, 4008)
      // what arrived is whole: the stream without a gap, up to the end
      const seqs = orders.messages.map(({ data }) => data.seq)
      assert.deepStrictEqual(
        seqs,
        seqs.map((_, i) => i + 1)
      )
    })
  )

  it.live("may ask for compression, which is done once for all", () =>
    Effect.gen(function* () {
      const world = new World()
      world.market.book.reset([], deep(1_000), 1)
      yield* start(world)
      const peer = yield* connect(world, "/ws/public", { perMessageDeflate: true })
      assert.strictEqual(peer.socket.extensions, "permessage-deflate")
      peer.send({ op: "subscribe", args: [book] })
      const [, snapshot] = yield* peer.take(2)
      assert.lengthOf(snapshot.data.asks, 1_000)
      peer.send({ op: "ping", req_id: "x".repeat(60) })
      world.market.move([], [["1000", "9"]])
      const got = yield* peer.take(2)
      assert.deepStrictEqual(got.map(({ op }) => op).toSorted(), ["event", "pong"])
    })
  )
})
