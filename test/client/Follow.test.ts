/** Views of a feed: stream and order book. Account and slow readers are in Reconnect.test.ts. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { BACKOFF_MAX_MS, CODE_NO_TOPIC } from "../../src/client/Backoff.ts"
import { closeCodes } from "../../src/ws/api/CloseCodes.ts"
import * as Follow from "../../src/client/Follow.ts"
import { FakeGateway, polite, settled, snapshot, update } from "./FakeSockets.ts"

const topic = "orderbook.50.BTC-USDC"
const levels = { symbol: "BTC-USDC", depth: 50, bids: [["60000", "0.5"]], asks: [], ts: 1, mts: 1 }
const whole = { type: "snapshot", ...levels, seq: 1, stream_id: "b", checksum: 3583956136 }

describe("a live book", () => {
  it.effect("is ready with its first snapshot, and reports each change and its state", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway((message, socket) => {
        polite(message, socket)
        if (message.op === "subscribe") socket.tell(topic, whole)
      })
      const book = yield* Follow.book(gateway.open, "BTC-USDC", 50)
      assert.deepStrictEqual([book.get().stream_id, book.get().seq, book.get().sound], ["b", 1, true])
      const seqs: Array<number> = []
      const states: Array<boolean> = []
      yield* Effect.forkScoped(
        Stream.runForEach(book.changes, ({ seq, sound }) => Effect.sync(() => seqs.push(seq) && states.push(sound)))
      )
      yield* settled(() => seqs.length === 1, "the book now")
      yield* TestClock.adjust(5_000)
      assert.strictEqual(book.feed.age(topic), 5_000)
      gateway.last.tell(topic, { ...whole, type: "delta", bids: [], seq: 3, prev_seq: 1 })
      yield* settled(() => seqs.length === 2, "the change")
      assert.deepStrictEqual([seqs, book.feed.age(topic)], [[1, 3], 0])
      gateway.last.drop()
      assert.isFalse(book.get().sound)
      yield* settled(() => states.length === 3, "the loss")
      yield* TestClock.adjust(BACKOFF_MAX_MS)
      yield* settled(() => states.length === 4, "the next snapshot")
      assert.deepStrictEqual(states, [true, true, false, true])
    })
  )

  it.effect("opens once a gateway that is starting has the market", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway((message, socket, connection) => {
        const { args, op, req_id } = message
        if (op === "subscribe" && connection === 1) {
          socket.say({ op: "subscribed", args: [], req_id })
          return socket.say({ op: "error", code: "SERVICE_UNAVAILABLE", message: "not yet", topic: args[0], req_id })
        }
        polite(message, socket)
        if (op === "subscribe") socket.tell(topic, whole)
      })
      const opening = yield* Effect.forkScoped(Follow.book(gateway.open, "BTC-USDC", 50))
      yield* settled(() => gateway.states.includes("lost"), "it is refused")
      yield* TestClock.adjust(BACKOFF_MAX_MS)
      assert.strictEqual((yield* Fiber.join(opening)).get().seq, 1)
    })
  )

  it.effect("fails where the feed ends before the first snapshot", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway()
      const opening = yield* Effect.forkScoped(Effect.flip(Follow.book(gateway.open, "BTC-USDC", 50)))
      yield* settled(() => gateway.states.at(-1) === "live", "it is live")
      gateway.last.drop(closeCodes.NotText.code)
      assert.strictEqual((yield* Fiber.join(opening)).code, closeCodes.NotText.code)
    })
  )

  it.effect("of an unknown market fails", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway(({ args, op, req_id }, socket) => {
        if (op !== "subscribe") return
        socket.say({ op: "subscribed", args: [], req_id })
        socket.say({ op: "error", code: "NOT_FOUND", message: "no such symbol", topic: args[0], req_id })
      })
      const ended = yield* Effect.flip(Follow.book(gateway.open, "NOPE-USDC", 50))
      assert.deepStrictEqual([ended._tag, ended.message], ["FeedEnded", "no such symbol"])
    })
  )
})

describe("an account", () => {
  it.effect("fails where the feed ends before the first snapshots", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway()
      const opening = yield* Effect.forkScoped(Effect.flip(Follow.account(gateway.open)))
      yield* settled(() => gateway.states.at(-1) === "live", "it is live")
      gateway.last.drop(closeCodes.CredentialEnded.code)
      assert.strictEqual((yield* Fiber.join(opening)).code, closeCodes.CredentialEnded.code)
    })
  )
})

describe("a stream of events", () => {
  it.effect("emits everything in order; its connection opens with a run and closes with its end", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway()
      const stream = Follow.events(gateway.open, ["order"])
      for (const run of [1, 2]) {
        const reading = yield* Effect.forkScoped(Stream.runCollect(Stream.take(stream, 4)))
        yield* settled(() => gateway.sockets.length === run && gateway.states.at(-1) === "live", "it is live")
        gateway.last.tell("order", snapshot(7))
        gateway.last.tell("order", update(8, 7))
        const received = (yield* Fiber.join(reading)).map((event) =>
          event.kind === "state"
            ? event.state.type
            : "data" in event && "seq" in event.data
              ? event.data.seq
              : event.kind
        )
        assert.deepStrictEqual(received, ["connecting", "live", 7, 8])
        yield* settled(() => gateway.last.readyState === 3, "the line is closed")
      }
    })
  )

  it.effect("fails with the reason of a refused login", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway()
      gateway.token = "BAD"
      const ended = yield* Effect.flip(Stream.runDrain(Follow.events(gateway.open, ["order"])))
      assert.deepStrictEqual([ended._tag, ended.code, ended.message], ["FeedEnded", 4003, "no"])
    })
  )

  it.effect("fails without a topic, before it connects", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway(polite)
      const ended = yield* Effect.flip(Stream.runDrain(Follow.events(gateway.open, [])))
      assert.deepStrictEqual(
        [ended.code, ended.message],
        [CODE_NO_TOPIC, "topics: expected at least one topic, got none"]
      )
      assert.lengthOf(gateway.sockets, 0)
    })
  )
})
