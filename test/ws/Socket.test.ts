/**
 * The protocol on real sockets, byte by byte where a client library would not go. Source: RFC 6455, RFC 7692,
 * docs/contract/websocket.md#keepalive.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { connect as connectTo, type Socket } from "node:net"
import { Duplex } from "node:stream"
import { deflateRawSync } from "node:zlib"
import { vi } from "vitest"
import { PerMessageDeflate } from "ws"
import { CLOSE, control, PING, PONG } from "../../src/ws/Frame.ts"
import { defaults } from "../../src/ws/Limits.ts"
import { Socket as WebSocketOf } from "../../src/ws/Socket.ts"
import { connect, start, World } from "../../verification/harness/WebSocketWorld.ts"

const KEY = "dGhlIHNhbXBsZSBub25jZQ=="

/** A client that speaks bytes, and notes what it gets. */
class Raw {
  readonly socket: Socket
  bytes = Buffer.alloc(0)
  ended = false
  private waiting: Array<() => void> = []

  constructor(url: string) {
    this.socket = connectTo(Number(new URL(url).port), "127.0.0.1")
    this.socket.on("error", () => {})
    this.socket.on("data", (chunk: Buffer) => {
      this.bytes = Buffer.concat([this.bytes, chunk])
      this.wake()
    })
    this.socket.on("close", () => {
      this.ended = true
      this.wake()
    })
  }
  private wake(): void {
    const waiting = this.waiting
    this.waiting = []
    for (const resume of waiting) resume()
  }
  until(look: () => boolean): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      const again = (): void => {
        if (look()) resume(Effect.void)
        else this.waiting.push(again)
      }
      again()
    }).pipe(
      Effect.timeoutOrElse({
        duration: 20_000,
        orElse: () => Effect.die(new Error(`not seen; got ${this.bytes.toString("latin1").slice(0, 500)}`))
      })
    )
  }
  /** Sends a request, and takes the head of the answer. */
  request(fields: Readonly<Record<string, string>>, line = "GET /ws HTTP/1.1"): Effect.Effect<string> {
    const all = {
      Host: "127.0.0.1",
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": KEY,
      ...fields
    }
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
    this.socket.write(`${line}\r\n${lines.join("\r\n")}\r\n\r\n`)
    return Effect.map(
      this.until(() => this.bytes.includes("\r\n\r\n")),
      () => {
        const end = this.bytes.indexOf("\r\n\r\n")
        const head = this.bytes.toString("latin1", 0, end)
        this.bytes = this.bytes.subarray(end + 4)
        return head
      }
    )
  }
  /** The close code, and that the line ends after it. */
  readonly closed: Effect.Effect<number> = Effect.suspend(() =>
    Effect.map(
      this.until(() => this.ended),
      () => {
        const at = this.bytes.indexOf(0x88)
        return at === -1 || this.bytes[at + 1]! < 2 ? 1005 : this.bytes.readUInt16BE(at + 2)
      }
    )
  )
}

const open = (world: World): Effect.Effect<Raw, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => new Raw(world.url)),
    (raw) => Effect.sync(() => raw.socket.destroy())
  )

/** A frame as a client sends it: masked, with zeros. */
const masked = (first: number, payload: Buffer | string): Buffer => {
  const bytes = Buffer.from(payload)
  const head = Buffer.alloc(bytes.length < 126 ? 2 : 4)
  head[0] = first
  head[1] = 0x80 | (bytes.length < 126 ? bytes.length : 126)
  if (bytes.length >= 126) head.writeUInt16BE(bytes.length, 2)
  return Buffer.concat([head, Buffer.alloc(4), bytes])
}
const TEXT = 0x81
const DEFLATED = 0xc1
/** A first fragment: without the bit of the last one. */
const FIRST_DEFLATED = 0x41
const JSON_PING = '{"op":"ping"}'
const pongs = (raw: Raw): number => raw.bytes.toString("latin1").split('"op":"pong"').length - 1

const turn = () => new Promise((resolve) => setImmediate(resolve))
const NOTHING = Buffer.alloc(0)
/** A WebSocket whose peer is in this process, and its events. */
const local = (isDeflated = false, hold = (_drop: () => void) => ({ set: () => {} }), first: Buffer = NOTHING) => {
  const written: Array<Buffer> = []
  const events: Array<string> = []
  const peer = new Duplex({
    read: () => {},
    write: (bytes: Buffer, _, done) => {
      written.push(bytes)
      done()
    }
  })
  const socket = new WebSocketOf(peer, isDeflated, defaults, hold)
  socket.begin("", first, {
    text: (message) => void events.push(message),
    binary: () => {},
    pinged: () => {},
    heard: () => {},
    refused: (reason) => void events.push(reason),
    closed: () => {}
  })
  return { peer, socket, written, events }
}

/** Without the end that RFC 7692 leaves out. */
const deflated = (text: string): Buffer => deflateRawSync(text, { finishFlush: 2 }).subarray(0, -4)

describe("the opening handshake", () => {
  it.live("accepts what RFC 6455 asks for, and answers its key", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const raw = yield* open(world)
      const head = yield* raw.request({ "Sec-WebSocket-Protocol": "json, other" })
      assert.match(head, /^HTTP\/1\.1 101 /u)
      assert.include(head, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
      assert.include(head, "Sec-WebSocket-Protocol: json")
      assert.notInclude(head, "Extensions")
    })
  )

  it.live("accepts the older version, a target with a query, and the protocol in any case", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      for (const [fields, line] of [
        [{ "Sec-WebSocket-Version": "8" }, "GET /ws HTTP/1.1"],
        [{}, "GET /ws/public?client=1 HTTP/1.1"],
        [{ Upgrade: "WebSocket" }, "GET /ws HTTP/1.1"]
      ] as const) {
        const raw = yield* open(world)
        assert.match(yield* raw.request(fields, line), /^HTTP\/1\.1 101 /u)
      }
    })
  )

  it.live("refuses other handshakes, and states what to change", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const cases = [
        [{}, "POST /ws HTTP/1.1", "405", "MethodNotAllowed", "Allow: GET"],
        [{}, "GET /elsewhere HTTP/1.1", "404", "NoSuchRoute", ""],
        [{}, "GET /ws HTTP/1.0", "400", "upgrade needs HTTP/1.1", ""],
        [{}, "GET /toString HTTP/1.1", "404", "NoSuchRoute", ""],
        [{ host: "other" }, undefined, "400", "one Host header", ""],
        [{ Upgrade: "h2c" }, undefined, "400", "upgrade must be websocket", ""],
        [{ "Sec-WebSocket-Key": "short" }, undefined, "400", "sec-websocket-key", ""],
        [{ "Sec-WebSocket-Version": "7" }, undefined, "400", "sec-websocket-version", "Sec-WebSocket-Version: 13, 8"],
        [{ "Sec-WebSocket-Protocol": "a b" }, undefined, "400", "sec-websocket-protocol", ""],
        [{ "Sec-WebSocket-Extensions": "=;" }, undefined, "400", "sec-websocket-extensions", ""]
      ] as const
      for (const [fields, line, status, word, field] of cases) {
        const raw = yield* open(world)
        const head = yield* raw.request(fields, line)
        assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `, "u"))
        assert.include(head, field)
        assert.include(head, "\r\nConnection: close\r\n")
        assert.include(head, "\r\nContent-Type: application/json\r\n")
        assert.notInclude(head, "Retry-After", "the same request fails again")
        yield* raw.until(() => raw.ended)
        assert.include(raw.bytes.toString(), word)
      }
    })
  )

  it.live("agrees on compression without context, and leaves out an offer that it cannot take", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const raw = yield* open(world)
      const head = yield* raw.request({ "Sec-WebSocket-Extensions": "permessage-deflate; client_max_window_bits" })
      assert.match(head, /permessage-deflate;.*server_no_context_takeover/u)
      assert.match(head, /client_no_context_takeover/u)
      const narrow = yield* open(world)
      const without = yield* narrow.request({
        "Sec-WebSocket-Extensions": "permessage-deflate; server_max_window_bits=8"
      })
      assert.match(without, /^HTTP\/1\.1 101 /u)
      assert.notInclude(without, "Extensions")
    })
  )
})

describe("what a socket reads", () => {
  it.live("is the same in one piece, byte by byte and in fragments", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const raw = yield* open(world)
      yield* raw.request({})
      raw.socket.write(Buffer.concat([masked(TEXT, JSON_PING), masked(TEXT, JSON_PING)]))
      yield* raw.until(() => pongs(raw) === 2)
      for (const byte of masked(TEXT, JSON_PING)) {
        raw.socket.write(Buffer.from([byte]))
        yield* Effect.callback<void>((resume) => void setImmediate(() => resume(Effect.void)))
      }
      yield* raw.until(() => pongs(raw) === 3)
      raw.socket.write(masked(0x01, JSON_PING.slice(0, 5)))
      raw.socket.write(masked(0x80 | PING, "between"))
      yield* raw.until(() => raw.bytes.includes(control(PONG, Buffer.from("between"))))
      raw.socket.write(masked(0x80, JSON_PING.slice(5)))
      yield* raw.until(() => pongs(raw) === 4)
    })
  )

  it.live("may be compressed, each message by itself, and between plain ones", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const raw = yield* open(world)
      yield* raw.request({ "Sec-WebSocket-Extensions": "permessage-deflate" })
      for (let i = 1; i <= 3; i++) {
        raw.socket.write(Buffer.concat([masked(DEFLATED, deflated(JSON_PING)), masked(TEXT, JSON_PING)]))
        yield* raw.until(() => pongs(raw) === 2 * i)
      }
    })
  )

  it.live("ends the connection after invalid bytes, with the code for it", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const offer = { "Sec-WebSocket-Extensions": "permessage-deflate" }
      const cases = [
        ["no mask", {}, Buffer.from([0x81, 0x00]), 1002],
        ["a reserved bit", {}, masked(0x91, "x"), 1002],
        ["a reserved opcode", {}, masked(0x83, "x"), 1002],
        ["a continuation of nothing", {}, masked(0x80, "x"), 1002],
        ["a new message inside another", {}, Buffer.concat([masked(0x01, "x"), masked(TEXT, "y")]), 1002],
        ["a long ping", {}, masked(0x89, "x".repeat(126)), 1002],
        ["compression that was not agreed on", {}, masked(DEFLATED, deflated("x")), 1002],
        ["a close code that does not exist", {}, masked(0x88, Buffer.from([0x00, 0x01])), 1002],
        ["bytes that are no text", {}, masked(TEXT, Buffer.from([0xff])), 1007],
        ["bytes that do not inflate", offer, masked(DEFLATED, Buffer.from([0xff, 0xff])), 1007],
        ["a bomb", offer, masked(DEFLATED, deflated("0".repeat(20_000_000)).subarray(0, 60_000)), 1009]
      ] as const
      for (const [what, fields, bytes, code] of cases) {
        const raw = yield* open(world)
        yield* raw.request(fields)
        raw.socket.write(bytes)
        assert.strictEqual(yield* raw.closed, code, what)
      }
    })
  )

  it.live("may end anywhere, while it is inflated too", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      const text = masked(DEFLATED, deflated(JSON.stringify({ op: "ping", req_id: "x".repeat(60) })))
      for (let i = 0; i < 40; i++) {
        const raw = yield* open(world)
        yield* raw.request({ "Sec-WebSocket-Extensions": "permessage-deflate" })
        raw.socket.write(Buffer.concat([text, text, text.subarray(0, i)]))
        if (i % 2 === 0) raw.socket.end()
        else raw.socket.resetAndDestroy()
      }
      const peer = yield* connect(world, "/ws", { perMessageDeflate: true })
      assert.strictEqual((yield* peer.ask({ op: "ping" })).op, "pong")
    })
  )

  it.live("answers a close with the same code, and a lost line with nothing", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      for (const [payload, code] of [
        [Buffer.from([0x0f, 0xa1]), 4001],
        [Buffer.alloc(0), 1005]
      ] as const) {
        const raw = yield* open(world)
        yield* raw.request({})
        raw.socket.write(masked(0x88, payload))
        assert.strictEqual(yield* raw.closed, code)
        // a frame without a code has no payload: 1005 is never sent
        assert.deepStrictEqual([...raw.bytes.subarray(0, 2)], [0x88, payload.length])
      }
      const gone = yield* open(world)
      yield* gone.request({})
      gone.socket.end()
      yield* gone.until(() => gone.ended)
      assert.lengthOf(gone.bytes, 0)
    })
  )

  it("cuts off a peer that half closes and does not read, after the time limit of a close", async () => {
    const destroyed = Promise.withResolvers<void>()
    let ends = 0
    const peer = { end: () => ends++, destroy: destroyed.resolve }
    const limits = { ...defaults, close_timeout_ms: 1 }
    const socket = new WebSocketOf(peer as never, false, limits, () => ({ set: () => {} }) as never)
    socket.ended()
    assert.strictEqual(ends, 1)
    await destroyed.promise
  })

  it("counts an incomplete message from its first chunk, and releases it with its last", () => {
    const counted: Array<readonly [bytes: number, chunks: number | undefined]> = []
    const hold = () => ({ set: (bytes: number, chunks?: number) => void counted.push([bytes, chunks]) })
    const socket = new WebSocketOf({} as never, false, defaults, hold)
    const message = masked(TEXT, JSON_PING)
    socket.take(message)
    assert.deepStrictEqual(counted, [], "a message in one chunk counts nothing")
    socket.take(message.subarray(0, 8))
    socket.take(message.subarray(8, 10))
    socket.take(message.subarray(10))
    const [first, second, last] = counted
    assert.strictEqual(first![1], 1)
    assert.strictEqual(second![1], 2)
    assert.strictEqual(second![0], first![0] + 2)
    assert.deepStrictEqual(last, [0, 0])
  })

  it("reads a message that arrived with the request", async () => {
    const { events } = local(false, undefined, masked(TEXT, JSON_PING))
    await turn()
    assert.deepStrictEqual(events, [JSON_PING])
  })

  it("reads no more than it can inflate, and all of it in the end", async () => {
    const { events, peer } = local(true)
    let pauses = 0
    peer.on("pause", () => pauses++)
    peer.push(masked(DEFLATED, deflated("a")))
    for (const text of ["b", "c", "d", "e"]) peer.push(masked(TEXT, text.repeat(40_000)))
    for (let turns = 0; events.length < 5 && turns < 10_000; turns++) await turn()
    assert.deepStrictEqual(
      events.map((text) => text[0]),
      ["a", "b", "c", "d", "e"]
    )
    assert.isAbove(pauses, 0)
    assert.isFalse(peer.isPaused())
    peer.destroy()
  })

  it("releases the inflate state after a message, and where the socket closes within one", async () => {
    const cleanup = vi.spyOn(PerMessageDeflate.prototype, "cleanup")
    try {
      const released = async (times: number): Promise<void> => {
        for (let turns = 0; cleanup.mock.calls.length < times && turns < 10_000; turns++) await turn()
        assert.lengthOf(cleanup.mock.calls, times)
      }
      const whole = local(true)
      whole.peer.push(masked(DEFLATED, deflated("a")))
      await released(1)
      assert.deepStrictEqual(whole.events, ["a"])
      whole.peer.destroy()
      await turn()
      assert.lengthOf(cleanup.mock.calls, 1, "none is left to release")

      // the first fragment is being inflated when the socket closes
      const cut = local(true)
      cut.socket.take(masked(FIRST_DEFLATED, deflated("a".repeat(1_000))))
      cut.socket.closed()
      assert.lengthOf(cleanup.mock.calls, 1)
      await released(2)
      assert.deepStrictEqual(cut.events, [])
      cut.peer.destroy()
    } finally {
      cleanup.mockRestore()
    }
  })

  it("reads nothing behind a close frame", async () => {
    const { events, peer } = local()
    peer.push(masked(0x88, NOTHING))
    await turn()
    peer.push(masked(TEXT, JSON_PING))
    await turn()
    assert.deepStrictEqual(events, [])
    peer.destroy()
  })

  it("ends with 4029 where its incomplete message is too large for the gateway", () => {
    let drop = (): void => assert.fail("nothing is held")
    const { events, peer, socket, written } = local(false, (given) => {
      drop = given
      return { set: () => {} }
    })
    socket.take(masked(TEXT, JSON_PING).subarray(0, 8))
    drop()
    assert.deepStrictEqual(events, ["TooMany"])
    const close = written.at(-1)!
    assert.deepStrictEqual([close[0], close.readUInt16BE(2)], [0x80 | CLOSE, 4029])
    assert.isTrue(peer.writableEnded)
    peer.destroy()
  })

  it("releases an incomplete message when its socket closes", () => {
    let held = 0
    const socket = new WebSocketOf({} as never, false, defaults, () => ({
      set: (bytes: number) => void (held = bytes)
    }))
    socket.take(masked(TEXT, JSON_PING).subarray(0, 8))
    assert.strictEqual(held, 8)
    socket.closed()
    assert.strictEqual(held, 0)
  })

  it("writes nothing after its end", () => {
    const { peer, socket, written } = local()
    socket.closed()
    const before = written.length
    socket.ping()
    socket.close("GoingAway")
    assert.lengthOf(written, before)
    peer.destroy()
  })

  it("answers the last of many pings of a peer that does not read", () => {
    /** A network socket whose peer reads when the test says so. */
    const sent: Array<Buffer> = []
    const taken: Array<() => void> = []
    const peer = {
      writableLength: 0,
      write: (bytes: Buffer, then?: () => void) => {
        if (bytes.length > 0) sent.push(bytes)
        if (then !== undefined) taken.push(then)
      }
    }
    const socket = new WebSocketOf(peer as never, false, defaults, () => ({ set: () => {} }) as never)
    const pongOf = (text: string) => control(PONG, Buffer.from(text))
    socket.pong(Buffer.from("0"))
    assert.deepStrictEqual(sent.splice(0), [pongOf("0")])
    peer.writableLength = 1_000
    for (const text of ["1", "2", "3"]) socket.pong(Buffer.from(text))
    assert.deepStrictEqual([sent.length, taken.length], [0, 1])
    // what was asked for meanwhile fills the buffer again
    taken.shift()!()
    assert.deepStrictEqual([sent.length, taken.length], [0, 1])
    peer.writableLength = 0
    taken.shift()!()
    assert.deepStrictEqual(sent.splice(0), [pongOf("3")])
    assert.lengthOf(taken, 0)
  })
})
