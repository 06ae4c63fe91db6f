/** Reconnects of a feed: time, credential and position, with a simulated clock. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, HashMap, Latch, Stream } from "effect"
import { TestClock } from "effect/testing"
import { BACKOFF_FIRST_MS, BACKOFF_MAX_MS } from "../../src/client/Backoff.ts"
import { EVENTS_MAX } from "../../src/client/FeedLoop.ts"
import * as Follow from "../../src/client/Follow.ts"
import { PING_AFTER_MS, SILENCE_MS, WATCH_MS } from "../../src/client/Connection.ts"
import { privateTopics } from "../../src/domain/Topic.ts"
import { aheadOf } from "../../verification/harness/Clocks.ts"
import { balance, order, position, uuid } from "../../verification/harness/Records.ts"
import { FakeGateway, polite, quiet, settled, snapshot, update } from "./FakeSockets.ts"

const own = privateTopics
/** Steps in which a pause is measured. */
const STEPS = 40
/** Longer than any pause. */
const pause = TestClock.adjust(BACKOFF_MAX_MS)

describe("a feed that lost its connection", () => {
  it.effect("pauses longer after each failure, up to a limit, with random jitter", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway()
      gateway.reachable = false
      yield* Effect.forkScoped(gateway.open({ topics: ["trade.BTC-USDC"] }))
      yield* settled(() => gateway.states.at(-1) === "lost", "the first try")
      const parts: Array<number> = []
      for (let tries = 1; tries <= 9; tries++) {
        const most = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** tries)
        let steps = 0
        for (; gateway.sockets.length === tries && steps < 2 * STEPS; steps++) {
          yield* TestClock.adjust(most / STEPS)
          yield* quiet
        }
        // a step early, since the clock goes on to the end of a step when the fiber wakes within it
        assert.isAtLeast(steps, STEPS / 2 - 1, `try ${tries} came too early`)
        assert.isAtMost(steps, STEPS, `try ${tries} came too late`)
        parts.push(steps)
      }
      assert.isAbove(new Set(parts).size, 1, "no jitter")
    })
  )

  for (const text of ["<html>502 Bad Gateway</html>", "null", '"text"'])
    it.effect(`reconnects after a pause where it received ${text}`, () =>
      Effect.gen(function* () {
        const gateway = new FakeGateway()
        const feed = yield* gateway.open({ topics: ["trade.BTC-USDC"] })
        yield* settled(() => feed.counts().connections === 1, "the connection")
        gateway.sockets[0]!.sayText(text)
        yield* settled(() => gateway.states.at(-1) === "lost", "the loss")
        yield* pause
        yield* settled(() => feed.counts().connections === 2, "the next connection")
      })
    )

  it.effect("has no sound book and no subscription until it is connected again, and passes on what follows", () =>
    Effect.gen(function* () {
      const [book, trades, tickers] = ["orderbook.50.BTC-USDC", "trade.BTC-USDC", "tickers.BTC-USDC"]
      const levels = { symbol: "BTC-USDC", depth: 50, bids: [["60000", "0.5"]], asks: [], ts: 1, mts: 1 }
      const gateway = new FakeGateway((message, socket) => {
        polite(message, socket)
        if (message.op !== "subscribe") return
        for (const topic of message.args)
          if (topic === book)
            socket.tell(topic, { type: "snapshot", ...levels, seq: 1, stream_id: "b", checksum: 3583956136 })
          else socket.tell(topic, { type: "update", list: [] })
      })
      const feed = yield* gateway.open({ topics: [book, trades] })
      const isSound = () => feed.book("BTC-USDC", 50)?.sound
      const kinds = () => gateway.news.map(({ kind }) => kind).toSorted()
      yield* settled(() => gateway.news.length === 2, "a message of each topic")
      assert.deepStrictEqual([isSound(), feed.counts().connections, kinds()], [true, 1, ["orderbook", "trade"]])

      gateway.reachable = false
      gateway.last.drop()
      yield* settled(() => gateway.states.at(-1) === "lost", "the loss")
      assert.isFalse(isSound())
      // the next connection subscribes to it
      const sent = gateway.sockets[0]!.sent.length
      assert.deepStrictEqual(yield* feed.subscribe([tickers]), [tickers])
      assert.lengthOf(gateway.sockets[0]!.sent, sent)

      gateway.reachable = true
      yield* pause
      yield* settled(() => gateway.news.length === 5, "a message of each topic again")
      assert.deepStrictEqual(
        [isSound(), feed.counts().connections, kinds()],
        [true, gateway.sockets.length, ["orderbook", "orderbook", "tickers", "trade", "trade"]]
      )
    })
  )

  it.effect("pings after silence, and drops the connection without a reply", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway((message, socket) => void (message.op === "ping" || polite(message, socket)))
      yield* gateway.open({ topics: ["trade.BTC-USDC"] })
      const first = gateway.last
      yield* TestClock.adjust(PING_AFTER_MS)
      assert.strictEqual(first.sent.at(-1).op, "ping")
      first.tell("trade.BTC-USDC", { type: "update", list: [] })
      yield* TestClock.adjust(SILENCE_MS - 1_000)
      assert.strictEqual(first.readyState, 1)
      yield* TestClock.adjust(1_000)
      assert.strictEqual(first.readyState, 3)
      yield* pause
      yield* settled(() => gateway.states.at(-1) === "live", "reconnected")
      // frames of the old connection are ignored
      const count = gateway.events.length
      first.tell("trade.BTC-USDC", { type: "update", list: [] })
      first.drop()
      assert.lengthOf(gateway.events, count)
    })
  )

  it.effect("measures silence by the monotonic clock", () =>
    Effect.gen(function* () {
      let ahead_ms = 0
      const clock = aheadOf(yield* Clock.Clock, () => ahead_ms)
      const open = (gateway: FakeGateway) =>
        Effect.provideService(gateway.open({ topics: ["trade.BTC-USDC"] }), Clock.Clock, clock)
      const talks = new FakeGateway()
      const silent = new FakeGateway((message, socket) => {
        if (message.op !== "ping") polite(message, socket)
      })
      yield* open(talks)
      ahead_ms = 3_600_000
      yield* TestClock.adjust(WATCH_MS)
      yield* quiet
      assert.notInclude(talks.states, "lost")
      yield* open(silent)
      ahead_ms = 0
      for (let ms = 0; ms <= SILENCE_MS; ms += WATCH_MS) {
        yield* TestClock.adjust(WATCH_MS)
        yield* quiet
      }
      assert.include(silent.states, "lost")
    })
  )

  it.effect("reconnects where a message was dropped above the rate limit, for its reply never arrives", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway((message, socket, connection) => {
        if (message.op === "subscribe" && message.args.includes("ticker.B") && connection === 1)
          return socket.say({ op: "error", code: "RateLimitExceeded", message: "rate limit exceeded" })
        polite(message, socket)
      })
      const feed = yield* gateway.open({ topics: ["ticker.A"] })
      assert.deepStrictEqual(yield* feed.subscribe(["ticker.B"]), ["ticker.B"])
      yield* pause
      yield* settled(() => gateway.states.at(-1) === "live", "reconnected")
      assert.deepStrictEqual(gateway.last.sent.at(-1).args, ["ticker.A", "ticker.B"])
    })
  )

  it.effect("ends what waits for a reply", () =>
    Effect.gen(function* () {
      let isMute = false
      const gateway = new FakeGateway((message, socket) => void (isMute || polite(message, socket)))
      const feed = yield* gateway.open({ topics: ["trade.BTC-USDC"] })
      isMute = true
      const waiting = yield* Effect.forkChild(
        Effect.all([feed.ping, feed.subscribe(["ticker.BTC-USDC"]), feed.unsubscribe(["trade.BTC-USDC"])], {
          concurrency: "unbounded"
        })
      )
      yield* quiet
      assert.isUndefined(waiting.pollUnsafe())
      isMute = false
      gateway.last.drop()
      // the next connection subscribes to the added topic, and no more to the other
      assert.deepStrictEqual(yield* Fiber.join(waiting), [undefined, ["ticker.BTC-USDC"], undefined])
      yield* pause
      yield* settled(() => gateway.states.at(-1) === "live", "reconnected")
      assert.deepStrictEqual(
        gateway.last.sent.map(({ args, op }) => [op, args]),
        [["subscribe", ["ticker.BTC-USDC"]]]
      )
    })
  )

  it.effect("resumes each topic at its position; topics with the same one share a frame", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway()
      const feed = yield* gateway.open({ topics: own.slice(0, 3) })
      const socket = gateway.last
      for (const name of own.slice(0, 3)) socket.tell(name, snapshot(name === "position" ? 4 : 3))
      socket.tell("execution", update(4, 0))
      yield* feed.subscribe(["account_balance"])
      socket.tell("account_balance", snapshot(4))
      socket.tell("account_balance", update(5, 2)) // of another frame: does not change the position of the others
      socket.drop()
      yield* pause
      yield* settled(() => gateway.states.at(-1) === "live", "reconnected")
      const joinings = gateway.last.sent
        .filter(({ op }) => op === "subscribe")
        .map(({ args, since }) => [args, since.seq])
      assert.deepStrictEqual(joinings, [
        [["order", "execution", "position"], 4],
        [["account_balance"], 5]
      ])
      assert.deepStrictEqual(feed.counts().resumed, 2)
      gateway.last.tell("order", update(6, 1))
      assert.strictEqual(gateway.news.at(-1)!.kind, "order")
    })
  )

  it.effect("renews an ended credential, and ends if there is none", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway()
      const feed = yield* gateway.open({ topics: ["order"] })
      gateway.last.tell("order", snapshot(7))
      let renewals = 0
      gateway.renew = Effect.sync(() => {
        gateway.token = `TK${++renewals}`
        return renewals === 1 ? ("later" as const) : ("renewed" as const)
      })
      gateway.last.drop(4010, "credential expired or revoked")
      yield* pause
      yield* settled(() => gateway.states.at(-1) === "live", "reconnected")
      gateway.last.drop(4010, "credential expired or revoked")
      yield* pause
      yield* settled(
        () => gateway.sockets.length === 3 && gateway.states.at(-1) === "live",
        "it is back with a new one"
      )
      const [auth, subscribe] = gateway.last.sent
      assert.deepStrictEqual([auth.bearer, subscribe.since], ["TK2", { stream_id: "s1", seq: 7 }])

      gateway.renew = Effect.succeed("refused")
      gateway.last.drop(4010, "credential expired or revoked")
      yield* settled(() => feed.state.get().type === "ended", "the end")
      assert.deepStrictEqual(feed.state.get(), { type: "ended", code: 4010, reason: "credential expired or revoked" })
      yield* pause
      assert.lengthOf(gateway.sockets, 3)
    })
  )

  it.effect("reconnects with the same credential after an authentication timeout", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway()
      yield* gateway.open({ topics: ["order"] })
      gateway.last.drop(4001, "not authenticated in time")
      yield* pause
      yield* settled(() => gateway.sockets.length === 2 && gateway.states.at(-1) === "live", "reconnected")
    })
  )

  it.effect("tries refused credentials a limited number of times", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway()
      gateway.token = "BAD"
      gateway.renew = Effect.succeed("renewed")
      const ended = yield* Effect.forkScoped(Effect.flip(gateway.open({ topics: ["order"] })))
      for (let tries = 0; tries < 10; tries++) {
        yield* quiet
        yield* pause
      }
      assert.deepStrictEqual([gateway.sockets.length, gateway.states.at(-1)], [3, "ended"])
      assert.strictEqual((yield* Fiber.join(ended)).code, 4003)
    })
  )

  it.effect("disconnects until a slow reader has caught up, and misses nothing", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway()
      let sent = 0
      const most = EVENTS_MAX
      const stream = Follow.events(gateway.open, ["order"])
      const seqs: Array<number> = []
      const hold = Latch.makeUnsafe(false)
      const reading = yield* Effect.forkScoped(
        Stream.runForEach(stream, (event) =>
          Effect.gen(function* () {
            if (event.kind === "order" && event.data.type === "update") seqs.push(event.data.seq)
            if (seqs.length > 0) yield* hold.await
          })
        )
      )
      yield* settled(() => gateway.states.at(-1) === "live", "live")
      const first = gateway.last
      first.tell("order", snapshot(0))
      first.tell("order", update(++sent, 0))
      yield* settled(() => seqs.length === 1, "the reader holds the first")
      while (first.readyState === 1) first.tell("order", update(sent + 1, sent++))
      assert.isAtLeast(sent, most)
      yield* TestClock.adjust(BACKOFF_MAX_MS * 2)
      assert.lengthOf(gateway.sockets, 1, "it came back to a reader that is behind")
      hold.openUnsafe()
      yield* quiet
      yield* TestClock.adjust(BACKOFF_MAX_MS)
      yield* settled(() => gateway.sockets.length === 2 && gateway.states.at(-1) === "live", "reconnected")
      assert.deepStrictEqual(gateway.last.sent.at(-1).since, { stream_id: "s1", seq: sent })
      gateway.last.tell("order", update(sent + 1, sent))
      yield* settled(() => seqs.at(-1) === sent + 1, "the last one is read")
      assert.deepStrictEqual(
        seqs,
        Array.from({ length: sent + 1 }, (_, i) => i + 1)
      )
      assert.isUndefined(reading.pollUnsafe())
    })
  )
})

describe("an account", () => {
  it.effect("has the open orders, also after a gap, and reports its state", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway((message, socket, connection) => {
        if (message.op !== "subscribe" || connection === 1) return polite(message, socket)
        const { args, req_id } = message
        socket.say({ op: "subscribed", args, req_id, resume: { recovered: false, stream_id: "s1", head_seq: 50 } })
        for (const name of args) socket.tell(name, snapshot(50, name === "order" ? [order({ order_id: uuid(9) })] : []))
      })
      const opening = yield* Effect.forkScoped(Follow.account(gateway.open))
      yield* settled(() => gateway.states.at(-1) === "live", "live")
      const first = gateway.last
      const begin = (name: string) =>
        first.tell(name, snapshot(2, name === "order" ? [order({ order_id: uuid(1) })] : []))
      for (const name of own.slice(1)) begin(name)
      yield* quiet
      assert.isUndefined(opening.pollUnsafe(), "ready before the last topic")
      begin(own[0]!)
      const account = yield* Fiber.join(opening)
      const ids = () => [...HashMap.keys(account.get().orders)].toSorted()
      assert.deepStrictEqual([ids(), account.get().seq, account.get().live], [[uuid(1)], 2, true])

      first.tell("order", update(3, 1, [order({ order_id: uuid(2), order_status: "New" })]))
      assert.deepStrictEqual(ids(), [uuid(1), uuid(2)])
      first.tell("order", update(4, 3, [order({ order_id: uuid(1), order_status: "Filled" })]))
      first.tell("position", update(5, 0, [{ ...position(), seq: 5 }]))
      first.tell("account_balance", update(6, 0, [{ ...balance(), seq: 6, reason: "trade" }]))
      const { balances, holes, positions, seq } = account.get()
      assert.deepStrictEqual([ids(), seq, holes], [[uuid(2)], 6, 0])
      assert.deepStrictEqual([HashMap.size(positions), HashMap.size(balances)], [1, 1])
      first.tell("position", update(7, 5, [{ ...position({ size: "0", side: "" }), seq: 7 }]))
      assert.strictEqual(HashMap.size(account.get().positions), 0)

      first.drop()
      yield* quiet
      assert.isFalse(account.get().live)
      assert.deepStrictEqual(ids(), [uuid(2)])
      yield* pause
      yield* settled(() => account.get().seq === 50, "the snapshots")
      assert.deepStrictEqual([ids(), account.get().holes, account.get().live], [[uuid(9)], 1, true])
      assert.strictEqual(HashMap.size(account.get().balances), 0)
      const notice = gateway.news.find(({ kind }) => kind === "resume")
      assert.deepStrictEqual(notice, {
        kind: "resume",
        recovered: false,
        topics: own,
        since: { stream_id: "s1", seq: 7 }
      })
    })
  )
})
