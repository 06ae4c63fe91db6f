/** Feeds of the SDK: events, resume positions and ends, with a simulated clock. */
import { assert, describe, it } from "vitest"
import { BACKOFF_MAX_MS } from "../../src/client/Backoff.ts"
import { SILENCE_MS, WATCH_MS } from "../../src/client/Connection.ts"
import { type Exchange, ExchangeError, type FeedEvent } from "../../src/sdk/index.ts"
import { EVENTS_MAX } from "../../src/client/FeedLoop.ts"
import { polite, snapshot, update } from "../client/FakeSockets.ts"
import { login, seed, until, World } from "./World.ts"

const topic = "orderbook.50.BTC-USDC"
const levels = {
  symbol: "BTC-USDC",
  depth: 50,
  bids: [["60000", "0.5"]],
  asks: [],
  ts: 1,
  mts: 1,
  checksum: 3583956136
}
const whole = { type: "snapshot", ...levels, seq: 1, stream_id: "b" }
const delta = (seq: number, prev_seq: number, fields: object = {}) => ({
  type: "delta",
  ...levels,
  bids: [],
  seq,
  prev_seq,
  ...fields
})

/** Reads a feed in the background. */
const reading = (events: AsyncIterable<FeedEvent>) => {
  const received: Array<FeedEvent> = []
  const end = (async () => {
    for await (const event of events) received.push(event)
  })()
  end.catch(() => {}) // tests that check the end await it
  return { received, end, isLive: () => lastState(received) === "live" }
}
const lastState = (received: ReadonlyArray<FeedEvent>) =>
  received.flatMap((event) => (event.kind === "state" ? [event.state.type] : [])).at(-1)
const seqsOf = (received: ReadonlyArray<FeedEvent>) =>
  received.flatMap((event) => (event.kind === "order" ? [event.data.seq] : []))

/** Advances the clock until a condition holds. */
const later = async (world: World, look: () => boolean, what: string): Promise<void> => {
  for (const deadline = Date.now() + 30_000; !look();) {
    if (Date.now() > deadline) throw new Error(`never: ${what}`)
    await world.skip(BACKOFF_MAX_MS / 100)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

describe("order events", () => {
  it("resume at their position after a lost connection", async () => {
    const world = new World()
    const exchange = await world.connect({ token: "TK" })
    const { isLive, received } = reading(exchange.orderEvents())
    await until(isLive, "live")
    const first = world.last
    first.tell("order", snapshot(3))
    first.tell("order", update(5, 2))
    first.drop()
    await later(world, () => world.sockets.length === 2 && isLive(), "reconnected")
    const [auth, subscribe] = world.last.sent
    assert.deepInclude(auth, { op: "auth", bearer: "TK" })
    assert.deepInclude(subscribe, { op: "subscribe", args: ["order"], since: { stream_id: "s1", seq: 5 } })
    world.last.tell("order", update(6, 5))
    await until(() => seqsOf(received).length === 3, "three messages")
    assert.deepStrictEqual(seqsOf(received), [3, 5, 6])
    const resume = received.find(({ kind }) => kind === "resume")
    assert.deepInclude(resume, { recovered: true, topics: ["order"] })
    exchange.close()
  })

  it("report a failed resume and begin with a snapshot of open orders", async () => {
    const world = new World((message, socket, connection) => {
      if (message.op !== "subscribe" || connection === 1) return polite(message, socket)
      const { args, req_id } = message
      socket.say({ op: "subscribed", args, req_id, resume: { recovered: false, stream_id: "s1", head_seq: 50 } })
      socket.tell("order", snapshot(50))
    })
    const exchange = await world.connect({ token: "TK" })
    const { isLive, received } = reading(exchange.orderEvents())
    await until(isLive, "live")
    world.last.tell("order", snapshot(3))
    world.last.drop()
    await later(world, () => seqsOf(received).length === 2, "the second snapshot")
    const at = received.findIndex(({ kind }) => kind === "resume")
    assert.deepStrictEqual(received[at], {
      kind: "resume",
      recovered: false,
      topics: ["order"],
      since: { stream_id: "s1", seq: 3 }
    })
    assert.deepStrictEqual(seqsOf(received.slice(at)), [50])
    exchange.close()
  })

  it("begin after a stored position", async () => {
    const world = new World()
    const exchange = await world.connect({ token: "TK" })
    const since = { stream_id: "s1", seq: 41 }
    const { isLive, received } = reading(exchange.orderEvents({ since }))
    await until(isLive, "live")
    assert.deepStrictEqual(world.last.sent[1].since, since)
    world.last.tell("order", update(43, 40))
    world.last.tell("order", update(44, 43))
    await until(() => seqsOf(received).length === 2, "two messages")
    assert.deepStrictEqual(seqsOf(received), [43, 44])
    assert.isFalse(received.some(({ kind }) => kind === "fault"))
    exchange.close()
  })

  it("are checked for gaps and repetitions; a gap is requested again", async () => {
    const world = new World()
    const exchange = await world.connect({ token: "TK" })
    const { isLive, received } = reading(exchange.orderEvents())
    await until(isLive, "live")
    world.last.tell("order", snapshot(3))
    world.last.tell("order", update(4, 0))
    world.last.tell("order", update(4, 0))
    world.last.tell("order", update(8, 7))
    await until(() => world.last.sent.length === 3, "the second subscription")
    assert.deepStrictEqual(world.last.sent[2].since, { stream_id: "s1", seq: 4 })
    await until(() => received.filter(({ kind }) => kind === "fault").length === 2, "both faults")
    const faults = received.flatMap((event) => (event.kind === "fault" ? [event.fault] : []))
    assert.deepStrictEqual(
      [faults, seqsOf(received)],
      [
        ["repetition", "gap"],
        [3, 4]
      ]
    )
    exchange.close()
  })

  it("disconnect while the reader is slow, and miss nothing", async () => {
    const world = new World()
    const exchange = await world.connect({ token: "TK" })
    const events = exchange.orderEvents()
    const seqs: Array<number> = []
    const read = async (): Promise<void> => {
      const { done, value } = await events.next()
      if (done !== true && value.kind === "order") seqs.push(value.data.seq)
    }
    await read()
    await until(() => world.last.sent.length === 2, "subscribed")
    const first = world.last
    first.tell("order", snapshot(0))
    while (seqs.length === 0) await read()
    let count = 0
    while (first.readyState === 1) first.tell("order", update(count + 1, count++))
    assert.isAtLeast(count, EVENTS_MAX - 2)
    await world.skip(10 * BACKOFF_MAX_MS)
    assert.lengthOf(world.sockets, 1, "it reconnected although the reader is behind")
    while (seqs.at(-1) !== count) await read()
    await later(world, () => world.sockets.length === 2 && world.last.sent.length === 2, "reconnected")
    assert.deepStrictEqual(world.last.sent[1].since, { stream_id: "s1", seq: count })
    await events.return()
    assert.deepStrictEqual(
      seqs,
      Array.from({ length: count + 1 }, (_, i) => i)
    )
    assert.strictEqual(world.last.readyState, 3)
  })

  it("end without an error on abort and on close", async () => {
    const world = new World()
    const exchange = await world.connect({ token: "TK" })
    const stop = new AbortController()
    const both = [reading(exchange.orderEvents({ signal: stop.signal })), reading(exchange.orderEvents())]
    await until(() => both.every(({ isLive }) => isLive()), "live")
    stop.abort()
    await both[0]!.end
    assert.deepStrictEqual(world.sockets.map(({ readyState }) => readyState).toSorted(), [1, 3])
    exchange.close()
    await both[1]!.end
    assert.deepStrictEqual([world.last.readyState, world.asleep], [3, 0])
    await reading(exchange.orderEvents()).end
    assert.lengthOf(world.sockets, 2)
  })
})

describe("a feed", () => {
  it("pauses longer each time, up to a limit, and briefly after a connection that was live", async () => {
    const world = new World()
    const exchange = await world.connect()
    world.reachable = false
    const { isLive, received } = reading(exchange.events(["trade.BTC-USDC"]))
    await later(world, () => world.sockets.length > 9, "ten tries")
    assert.strictEqual(lastState(received) === "live", false)
    const pauses = () => world.slept.filter((ms) => ms !== WATCH_MS)
    assert.deepStrictEqual(pauses().slice(0, 9), [150, 300, 600, 1_200, 2_400, 4_800, 7_500, 7_500, 7_500])
    world.reachable = true
    await later(world, isLive, "live")
    const before = pauses().length
    world.last.drop()
    await until(() => pauses().length > before, "the next pause")
    assert.deepStrictEqual(pauses().slice(before), [75])
    exchange.close()
  })

  it("drops a silent connection", async () => {
    const world = new World((message, socket) => void (message.op === "ping" || polite(message, socket)))
    const exchange = await world.connect()
    const { isLive } = reading(exchange.events(["trade.BTC-USDC"]))
    await until(isLive, "live")
    const first = world.last
    await world.skip(SILENCE_MS + 1_000)
    assert.strictEqual(first.sent.at(-1).op, "ping")
    await later(world, () => world.sockets.length === 2 && isLive(), "reconnected")
    assert.strictEqual(first.readyState, 3)
    exchange.close()
  })

  it("renews the token of a wallet, and signs again with an API key", async () => {
    const world = new World()
    world.answers.set("/authorize", (_, times) => ({ body: { ...login, token: `TK${times}` } }))
    const wallet = await world.connect({ wallet: seed })
    const asWallet = reading(wallet.orderEvents())
    await until(asWallet.isLive, "live")
    world.last.drop(4010, "credential expired or revoked")
    await later(world, () => world.sockets.length === 2 && asWallet.isLive(), "reconnected")
    assert.strictEqual(world.last.sent[0].bearer, "TK2")
    wallet.close()

    const key = await world.connect({ key: seed })
    const asKey = reading(key.orderEvents())
    await until(asKey.isLive, "live")
    world.last.drop(4010)
    await later(world, () => world.sockets.length === 4 && asKey.isLive(), "reconnected")
    const [before, after] = world.sockets.slice(-2).map(({ sent }) => sent[0])
    assert.strictEqual(before.api_key, after.api_key)
    assert.notStrictEqual(before.nonce, after.nonce)
    key.close()
  })

  it("goes on where a login is refused for the moment", async () => {
    const world = new World()
    const refused = (status: number, code: string, reason: string) => ({
      status,
      body: { code, message: "no", details: { reason } }
    })
    const wallet = await world.connect({ wallet: seed, limits: { tries_max: 1, patience_ms: 0 } })
    const { isLive, received } = reading(wallet.orderEvents())
    await until(isLive, "live")
    for (const reply of [
      refused(503, "SERVICE_UNAVAILABLE", "Overloaded"),
      refused(429, "RateLimitExceeded", "RateLimitExceeded")
    ]) {
      const { length } = world.sockets
      world.answers.set("/authorize", () => reply)
      world.last.drop(4010, "credential expired or revoked")
      await later(world, () => world.sockets.length > length && isLive(), "reconnected")
    }
    assert.notInclude(
      received.flatMap((event) => (event.kind === "state" ? [event.state.type] : [])),
      "ended"
    )
    world.answers.set("/authorize", () => refused(400, "BAD_REQUEST", "InvalidSignature"))
    world.last.drop(4010, "credential expired or revoked")
    await until(() => lastState(received) === "ended", "it ends with a final refusal")
    wallet.close()
  })

  it("rejects after a final refusal", async () => {
    const world = new World()
    const refused = await world.connect({ token: "BAD" })
    const nobody = await world.connect()
    for (const exchange of [refused, nobody]) {
      const { end, received } = reading(exchange.orderEvents())
      const error = await end.catch((error: unknown) => error)
      assert.instanceOf(error, ExchangeError)
      assert.deepStrictEqual([error.code, error.details["close_code"]], ["FEED_ENDED", 4003])
      assert.strictEqual(lastState(received), "ended")
    }
    assert.lengthOf(world.sockets, 2)
  })

  it("ends where the gateway refuses all of its topics", async () => {
    const world = new World(({ args, op, req_id }, socket) => {
      if (op !== "subscribe") return
      socket.say({ op: "subscribed", args: [], req_id })
      for (const topic of args)
        socket.say({ op: "error", code: "NOT_FOUND", message: `no market for ${topic}`, topic, req_id })
    })
    const exchange = await world.connect()
    const { end, received } = reading(exchange.events(["trade.A-USDC", "trade.B-USDC"]))
    const error = await end.catch((error: unknown) => error)
    assert.instanceOf(error, ExchangeError)
    assert.deepStrictEqual(
      [error.code, error.details["close_code"], error.message],
      ["FEED_ENDED", 1003, "no market for trade.B-USDC"]
    )
    assert.strictEqual(lastState(received), "ended")
    assert.lengthOf(world.sockets, 1)
    const none = await exchange
      .events([])
      .next()
      .catch((error: unknown) => error)
    assert.instanceOf(none, RangeError)
    assert.lengthOf(world.sockets, 1)
  })
})

describe("a book", () => {
  const open = async (world: World): Promise<readonly [Exchange, Awaited<ReturnType<Exchange["book"]>>]> => {
    const exchange = await world.connect()
    return [exchange, await exchange.book("BTC-USDC", 50)]
  }

  it("reloads after a gap or a wrong checksum", async () => {
    let times = 0
    const world = new World((message, socket) => {
      polite(message, socket)
      if (message.op !== "subscribe") return
      socket.tell(topic, whole)
      times++
      if (times === 1) socket.tell(topic, delta(4, 3))
      if (times === 2) socket.tell(topic, delta(2, 1, { checksum: 7 }))
      if (times === 3) socket.tell(topic, delta(2, 1))
    })
    const [exchange, book] = await open(world)
    await until(() => book.seq === 2 && book.sound, "a sound book")
    assert.deepStrictEqual([book.faults, book.bids(), book.asks(5)], [2, [["60000", "0.5"]], []])
    assert.deepStrictEqual([world.sockets.length, times], [1, 3])
    exchange.close()
  })

  it("reports changes, and that it is not sound without a connection", async () => {
    const world = new World((message, socket) => {
      polite(message, socket)
      if (message.op === "subscribe") socket.tell(topic, whole)
    })
    const [exchange, book] = await open(world)
    const changed = book.changed()
    world.last.tell(topic, delta(2, 1))
    assert.deepStrictEqual([await changed, book.seq], [true, 2])
    const lost = book.changed()
    world.last.drop()
    assert.deepStrictEqual([await lost, book.sound], [true, false])
    await later(world, () => book.sound, "it is sound again")
    assert.isTrue(await book.changed())
    const closed = book.changed()
    book.close()
    assert.deepStrictEqual([await closed, await book.changed(), world.last.readyState], [false, false, 3])
    exchange.close()
  })

  it("reports what changed while its caller was busy", async () => {
    let times = 0
    const world = new World((message, socket) => {
      polite(message, socket)
      if (message.op === "subscribe" && ++times === 1) socket.tell(topic, whole)
    })
    const [exchange, book] = await open(world)
    world.last.tell(topic, delta(2, 1))
    world.last.tell(topic, delta(3, 2))
    assert.deepStrictEqual([await book.changed(), book.seq], [true, 3])
    const waits = book.changed()
    await new Promise((resolve) => setImmediate(resolve))
    assert.strictEqual(await Promise.race([waits, "none since then"]), "none since then")
    world.last.tell(topic, delta(5, 4))
    assert.deepStrictEqual([await waits, book.sound], [true, false])
    exchange.close()
  })

  it("of an unknown market is refused", async () => {
    const world = new World(({ args, op, req_id }, socket) => {
      if (op !== "subscribe") return
      socket.say({ op: "subscribed", args: [], req_id })
      const details = { reason: "SymbolNotFound" }
      socket.say({ op: "error", code: "NOT_FOUND", message: "no such market", topic: args[0], req_id, details })
    })
    const exchange = await world.connect()
    const error = await exchange.book("NO-SUCH", 50).catch((error: unknown) => error)
    assert.instanceOf(error, ExchangeError)
    assert.deepStrictEqual([error.code, error.reason], ["NOT_FOUND", "SymbolNotFound"])
    assert.strictEqual(world.last.readyState, 3)
  })

  it("does not close while the gateway does not have the market for the moment", async () => {
    const world = new World((message, socket, connection) => {
      const { args, op, req_id } = message
      if (op === "subscribe" && connection === 2) {
        socket.say({ op: "subscribed", args: [], req_id })
        socket.say({ op: "error", code: "SERVICE_UNAVAILABLE", message: "not yet", topic: args[0], req_id })
        return
      }
      polite(message, socket)
      if (op === "subscribe") socket.tell(topic, whole)
    })
    const [exchange, book] = await open(world)
    world.last.drop(1001)
    await later(world, () => book.sound, "it is sound again")
    assert.lengthOf(world.sockets, 3)
    exchange.close()
  })

  it("aborted before its first snapshot rejects with the signal's reason", async () => {
    const world = new World(() => {})
    const exchange = await world.connect()
    const stop = new AbortController()
    const opening = exchange.book("BTC-USDC", 50, { signal: stop.signal })
    stop.abort("enough")
    assert.strictEqual(await opening.catch((error: unknown) => error), "enough")
  })
})
