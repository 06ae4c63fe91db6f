/** The limits of `/rpc` over HTTP and WebSocket: refused calls get an error, and each caller has a limited share. */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { transportLimits } from "../../src/domain/TransportLimits.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { frame, opcodes, RawSocket, upgrade } from "../ws/RawSocket.ts"
import { type Answer, callOf, post, RawCalls, refusalOf } from "./RawCalls.ts"

const TIMEOUT = 60_000
const KIB = 1024
const { calls_in_flight, calls_per_message } = transportLimits
const many = (count: number, line: (id: number) => string): string =>
  Array.from({ length: count }, (_, id) => line(id)).join("")
const ids = (answers: ReadonlyArray<Answer>) =>
  answers.map(({ requestId }) => Number(requestId)).toSorted((a, b) => a - b)
const upTo = (count: number) => Array.from({ length: count }, (_, id) => id)

/** Sends one message, and returns the end of each of its calls. */
type Way = (exchange: Exchange, message: string, count: number) => Promise<ReadonlyArray<Answer>>
const overHttp: Way = async ({ url }, message) => {
  const { answers, status } = await post(url, message)
  assert.strictEqual(status, 200)
  return answers
}
const overWebSocket: Way = async ({ url }, message, count) => {
  const calls = await RawCalls.open(url)
  calls.send(message)
  const ends = await calls.ends(count)
  calls.raw.socket.destroy()
  return ends
}

describe("calls", () => {
  let exchange: Exchange
  beforeAll(async () => {
    exchange = await startExchange()
  }, TIMEOUT)
  afterAll(() => exchange?.close())

  for (const [name, way] of Object.entries({ HTTP: overHttp, WebSocket: overWebSocket })) {
    it(`Amendment 17: calls beyond ${calls_per_message.figure} of a message are refused by ${name}, each by its id`, async () => {
      const count = calls_per_message.figure + 44
      const answers = await way(
        exchange,
        many(count, (id) => callOf(id, "market.time")),
        count
      )
      assert.deepStrictEqual(ids(answers), upTo(count))
      const refused = answers.filter((answer) => refusalOf(answer) !== undefined)
      assert.lengthOf(
        answers.filter(({ exit }) => exit._tag === "Success"),
        calls_per_message.figure
      )
      assert.deepStrictEqual(ids(refused), upTo(count).slice(calls_per_message.figure))
      for (const answer of refused) {
        const { code, details } = refusalOf(answer)!
        assert.deepStrictEqual([code, details.reason, details.max], ["BAD_REQUEST", "LimitReached", 256])
      }
    })

    it(`Amendment 17: any number of calls of unknown procedures get an error over ${name}`, async () => {
      const answers = await way(
        exchange,
        many(100, (id) => callOf(id, "no.such")),
        100
      )
      assert.deepStrictEqual(ids(answers), upTo(100))
      for (const answer of answers) {
        const { code, details } = refusalOf(answer)!
        assert.deepStrictEqual([code, details.reason, details.given], ["NOT_FOUND", "NoSuchRoute", "no.such"])
      }
    })

    it(`gives malformed calls and payloads an error over ${name}`, async () => {
      const lines = [
        "null\n",
        "1\n",
        '"x"\n',
        "[]\n",
        "{}\n",
        '{"_tag":"Nope"}\n',
        "{\n",
        '{"_tag":"Request","tag":"market.time"}\n'
      ]
      const odd = [
        callOf("a", "market.tickers", { query: { symbol: 1 } }),
        callOf("b", "market.time", null, { x: 1 }),
        callOf("c", "__proto__"),
        callOf("d", "market.time", null, [["authorization"]])
      ]
      const answers = await way(exchange, [...lines, ...odd, callOf("last", "market.time")].join(""), 5)
      const ended = new Map(answers.filter(({ _tag }) => _tag === "Exit").map((answer) => [answer.requestId, answer]))
      assert.deepStrictEqual([...ended.keys()].toSorted(), ["a", "b", "c", "d", "last"])
      assert.strictEqual(ended.get("last").exit._tag, "Success")
      for (const id of ["a", "b", "c", "d"]) assert.strictEqual(ended.get(id).exit._tag, "Failure", id)
    })

    it(`refuses an id in use over ${name}`, async () => {
      const twice = callOf("x", "feed.market", { topics: ["ticker.BTC-USDC"] }) + callOf("x", "market.time")
      const calls = await RawCalls.open(exchange.url)
      calls.send(twice)
      const [refused] = await calls.ends(1)
      assert.strictEqual(refusalOf(refused)?.details.field, "id")
      calls.raw.socket.destroy()
    })
  }

  it(`Amendment 17: at most ${calls_in_flight.figure} calls of a connection are in flight, over WebSocket`, async () => {
    const calls = await RawCalls.open(exchange.url)
    const count = calls_in_flight.figure + 6
    calls.send(many(count, (id) => callOf(id, "feed.market", { topics: ["ticker.BTC-USDC"] })))
    const refused = await calls.ends(6)
    assert.deepStrictEqual(ids(refused), upTo(count).slice(calls_in_flight.figure))
    for (const answer of refused) {
      const { code, details } = refusalOf(answer)!
      assert.deepStrictEqual([code, details.reason, details.max], ["RateLimitExceeded", "RateLimitExceeded", 64])
    }
    // a call that ends makes room
    calls.send('{"_tag":"Interrupt","requestId":"0"}\n')
    await calls.ends(7)
    calls.send(callOf("again", "market.time"))
    const ends = await calls.ends(8)
    assert.strictEqual(ends.at(-1).exit._tag, "Success")
    calls.raw.socket.destroy()
  })

  it(`Amendment 17: at most ${calls_in_flight.figure} calls of a connection are in flight, over HTTP`, async () => {
    const count = calls_in_flight.figure + 6
    const response = await fetch(`${exchange.url}/rpc`, {
      method: "POST",
      body: many(count, (id) => callOf(id, "feed.market", { topics: ["ticker.BTC-USDC"] }))
    })
    let text = ""
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      if (text.split("\n").filter((line) => line.includes('"Exit"')).length === 6) break
    }
    assert.include(text, `"max":${calls_in_flight.figure}`)
  })

  it("Amendment 17: a message over WebSocket is at most 64 KiB, an unfinished call at most 256 KiB", async () => {
    const large = await RawCalls.open(exchange.url)
    large.send("x".repeat(64 * KIB + 1))
    assert.strictEqual(await large.raw.over(), 1009)
    const parted = await RawCalls.open(exchange.url)
    for (let i = 0; i < 5; i++) parted.send("x".repeat(60 * KIB))
    assert.strictEqual(await parted.raw.over(), 1009)
    // a call in several messages is one call
    const whole = await RawCalls.open(exchange.url)
    const line = callOf("parts", "market.time", null, [["x-filler", "y".repeat(100 * KIB)]])
    for (let at = 0; at < line.length; at += 50 * KIB) whole.send(line.slice(at, at + 50 * KIB))
    assert.strictEqual((await whole.ends(1))[0].exit._tag, "Success")
    whole.raw.socket.destroy()
  })

  it(
    "Amendment 17: calls over the message rate are refused, and a flood ends the connection",
    { timeout: TIMEOUT },
    async () => {
      const calls = await RawCalls.open(exchange.url)
      const { message_burst } = transportLimits
      const count = message_burst.figure + 50
      calls.send(...upTo(count).map((id) => callOf(id, "market.time")))
      const ends = await calls.ends(count)
      assert.deepStrictEqual(ids(ends), upTo(count))
      const refused = ends.filter((end) => refusalOf(end)?.code === "RateLimitExceeded")
      // the bucket refills while they are sent
      assert.isAtLeast(refused.length, 1)
      const flood = setInterval(() => calls.send(...upTo(20).map((id) => callOf(`f${id}`, "market.time"))), 50)
      assert.strictEqual(await calls.raw.over(), 4029)
      clearInterval(flood)
    }
  )

  it("closes a binary message with 1003, and responds to a ping frame", async () => {
    const calls = await RawCalls.open(exchange.url)
    calls.raw.write(frame("x", { opcode: opcodes.ping }))
    await calls.raw.until("a pong", () => calls.raw.count(opcodes.pong) === 1)
    calls.raw.write(frame("x", { opcode: opcodes.binary }))
    assert.strictEqual(await calls.raw.over(), 1003)
  })

  it(
    "delivers a stream faster than the message rate; its acknowledgements do not count as messages",
    { timeout: TIMEOUT },
    async () => {
      const calls = await RawCalls.open(exchange.url)
      let acknowledged = 0
      for (let round = 0; round < 150; round++) {
        calls.send(callOf(`s${round}`, "feed.market", { topics: ["ticker.BTC-USDC"] }))
        await calls.raw.until(
          "a chunk",
          () => calls.answers.filter(({ _tag }) => _tag === "Chunk").length > acknowledged
        )
        for (let i = 0; i < 1; i++, acknowledged++) calls.send(`{"_tag":"Ack","requestId":"s${round}"}\n`)
        if (round === 60) break
      }
      assert.isUndefined(calls.raw.code)
      calls.raw.socket.destroy()
    }
  )
})

describe("connections", () => {
  let exchange: Exchange
  beforeAll(async () => {
    exchange = await startExchange({
      env: {
        WS_CONNECTIONS_PER_IP: "4",
        WS_PING_INTERVAL_MS: "50",
        WS_KEEPALIVE_TIMEOUT_MS: "300",
        CONNECTIONS_PER_IP: "0"
      }
    })
  }, TIMEOUT)
  afterAll(() => exchange?.close())

  it("Amendment 17: sockets of an address are counted together on every path", async () => {
    const paths = ["/ws", "/ws/public", "/ws/private", "/rpc"]
    const open = await Promise.all(paths.map((path) => RawSocket.open(exchange.url, path)))
    for (const { status } of open) assert.strictEqual(status, 101)
    for (const path of paths) {
      const more = await RawSocket.open(exchange.url, path)
      assert.strictEqual(more.status, 429, path)
      more.socket.destroy()
    }
    for (const each of open) each.socket.destroy()
  })

  it("Amendment 17: a silent connection is pinged, and closed with 4000", async () => {
    for (const path of ["/rpc", "/ws/public"]) {
      const raw = new RawSocket(exchange.url, upgrade(path), { path })
      assert.strictEqual(await raw.over(), 4000, path)
      assert.isAtLeast(raw.count(opcodes.ping), 1)
    }
  })
})
