/**
 * Peers that do not keep the protocol, byte by byte: each is closed with the code of docs/reference/websocket.md, and nobody else
 * notices. Source: docs/contract/websocket.md#limits, #messages, #keepalive; RFC 6455, RFC 7692.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Schedule, type Scope } from "effect"
import { deflateRawSync } from "node:zlib"
import type { Limits } from "../../src/ws/Limits.ts"
import { aheadOf } from "../../verification/harness/Clocks.ts"
import { closing, frame, opcodes, RawSocket, upgrade } from "./RawSocket.ts"
import { connect, type Peer, start, SYMBOL, World } from "../../verification/harness/WebSocketWorld.ts"

const { close, continuation, ping, pong, text } = opcodes
const KIB = 1024
const deflate = ["Sec-WebSocket-Extensions: permessage-deflate"]
const COMPRESSED = 4
/** A message without its implied end, as RFC 7692 wants it. */
const compressed = (plain: Buffer | string): Buffer => {
  const packed = deflateRawSync(plain, { level: 9, finishFlush: 2 })
  return packed.subarray(0, packed.length - 4)
}
/** Becomes 48 MiB, and is a frame below the limit. */
const bomb = compressed(Buffer.alloc(48 * KIB * KIB))

/** A door with a bystander, who must hear of every trade. */
const scene = Effect.fnUntraced(function* (
  limits: Partial<Limits> = {},
  clock?: Clock.Clock
): Effect.fn.Return<
  { readonly world: World; readonly bystander: Peer; readonly undisturbed: Effect.Effect<void> },
  Error,
  Scope.Scope
> {
  const world = new World()
  yield* start(world, limits, clock)
  const bystander = yield* connect(world, "/ws/public")
  bystander.send({ op: "subscribe", args: [`trade.${SYMBOL}`] })
  yield* bystander.take(2)
  let seq = 0
  const undisturbed = Effect.gen(function* () {
    world.market.tell({ prints: [world.market.trade(++seq, "60000")] })
    assert.strictEqual((yield* bystander.next).data.list[0].seq, seq)
  })
  return { world, bystander, undisturbed }
})
const opened = (world: World, headers?: ReadonlyArray<string>) =>
  Effect.promise(() => RawSocket.open(world.url, "/ws/public", headers))

/** Frames that end the connection, and the code that says why. */
const broken: ReadonlyArray<readonly [string, number, ReadonlyArray<Buffer>, ReadonlyArray<string>?]> = [
  ["an unmasked frame", 1002, [frame('{"op":"ping"}', { masked: false })]],
  ["the first reserved bit without an extension", 1002, [frame("{}", { reserved: 4 })]],
  ["the second reserved bit", 1002, [frame("{}", { reserved: 2 })]],
  ["the third reserved bit", 1002, [frame("{}", { reserved: 1 })]],
  ["an opcode that is not known", 1002, [frame("{}", { opcode: 3 })]],
  ["a control opcode that is not known", 1002, [frame("", { opcode: 11 })]],
  ["a fragmented ping", 1002, [frame("a", { opcode: ping, fin: false })]],
  ["a fragmented close", 1002, [frame("", { opcode: close, fin: false })]],
  ["a ping of 126 bytes", 1002, [frame("x".repeat(126), { opcode: ping })]],
  ["a continuation of nothing", 1002, [frame("a", { opcode: continuation })]],
  ["a message within a message", 1002, [frame("a", { fin: false }), frame("b")]],
  ["binary", 1003, [frame("{}", { opcode: opcodes.binary })]],
  ["bytes that are no UTF-8", 1007, [frame(Buffer.from([0xc3, 0x28]))]],
  ["UTF-8 that is cut off", 1007, [frame(Buffer.from([0xe2, 0x82]))]],
  ["a surrogate in UTF-8", 1007, [frame(Buffer.from([0xed, 0xa0, 0x80]))]],
  ["a frame of 64 KiB and a byte", 1009, [frame("x".repeat(64 * KIB + 1))]],
  [
    "fragments that add up to more",
    1009,
    [frame("x".repeat(40 * KIB), { fin: false }), frame("x".repeat(40 * KIB), { opcode: continuation })]
  ],
  [
    "more fragments than a message may have",
    1008,
    Array.from({ length: 16_385 }, (_, i) => frame("x", { opcode: i === 0 ? text : continuation, fin: false }))
  ],
  ["a length of a terabyte", 1009, [frame("x", { declared: 1n << 40n })]],
  ["a length that has a sign", 1009, [frame("x", { declared: 1n << 63n })]],
  ["a compression bomb", 1009, [frame(bomb, { reserved: COMPRESSED })], deflate],
  [
    "a compression bomb in pieces",
    1009,
    [
      frame(bomb.subarray(0, 9_000), { reserved: COMPRESSED, fin: false }),
      frame(bomb.subarray(9_000), { opcode: continuation })
    ],
    deflate
  ],
  ["what claims to be compressed and is not", 1007, [frame(Buffer.alloc(64, 0xff), { reserved: COMPRESSED })], deflate],
  [
    "compressed bytes that are no UTF-8",
    1007,
    [frame(compressed(Buffer.from([0xc3, 0x28])), { reserved: COMPRESSED })],
    deflate
  ],
  ["a close without a whole code", 1002, [frame("a", { opcode: close })]],
  ...[0, 999, 1004, 1005, 1006, 1015, 2999, 5000].map(
    (code) => [`a close with the code ${code}`, 1002, [closing(code)]] as const
  ),
  ["a close whose reason is no UTF-8", 1007, [closing(1000, Buffer.from([0xc3, 0x28]))]],
  ["a close in good order", 1000, [closing(1000, "bye")]],
  ["a close with a code of its own", 4999, [closing(4999)]]
]

describe("a frame that breaks the protocol", () => {
  it.live("ends its connection with the code for it, and no other connection", () =>
    Effect.gen(function* () {
      const { undisturbed, world } = yield* scene()
      for (const [what, code, bytes, headers] of broken) {
        const raw = yield* opened(world, headers)
        assert.strictEqual(raw.status, 101, what)
        raw.write(...bytes)
        assert.strictEqual(yield* Effect.promise(() => raw.over()), code, what)
        yield* undisturbed
      }
    })
  )

  it.live("is distinguished from one that is only unusual", () =>
    Effect.gen(function* () {
      const { undisturbed, world } = yield* scene()
      const raw = yield* opened(world, deflate)
      const answers = (count: number) => Effect.promise(() => raw.until("answer", () => raw.texts.length === count))
      // a message in fragments of a byte, a ping between them, an empty one at the end
      const message = '{"op":"ping","req_id":"é"}'
      const bytes = [...Buffer.from(message)]
      raw.write(
        ...bytes.map((byte, i) => frame(Buffer.from([byte]), { opcode: i === 0 ? text : continuation, fin: false })),
        frame("between", { opcode: ping }),
        frame("", { opcode: continuation })
      )
      yield* answers(1)
      assert.include(raw.texts[0], '"req_id":"é"')
      assert.strictEqual(raw.count(pong), 1)
      // each byte by itself, so that every header is cut
      for (const byte of frame('{"op":"ping","req_id":2}')) raw.write(Buffer.from([byte]))
      yield* answers(2)
      // the largest frame, compressed and not, and a pong that nobody asked for
      raw.write(frame("x".repeat(64 * KIB)), frame("", { opcode: pong }))
      raw.write(frame(compressed("y".repeat(64 * KIB)), { reserved: COMPRESSED }))
      yield* answers(4)
      assert.isTrue(raw.texts.slice(2).every((answer) => answer.includes("MalformedJson")))
      assert.isFalse(raw.ended)
      raw.socket.destroy()
      yield* undisturbed
    })
  )

  it.live("takes no memory beyond its size: many bombs at once", () =>
    Effect.gen(function* () {
      const { undisturbed, world } = yield* scene()
      const before = process.resourceUsage().maxRSS
      const raws = yield* Effect.forEach(Array.from({ length: 12 }), () => opened(world, deflate), { concurrency: 12 })
      for (const raw of raws) raw.write(frame(bomb, { reserved: COMPRESSED }))
      for (const raw of raws) assert.strictEqual(yield* Effect.promise(() => raw.over()), 1009)
      // unpacked they were 576 MiB
      assert.isBelow(process.resourceUsage().maxRSS - before, 200 * KIB, "KiB of memory")
      yield* undisturbed
    })
  )
})

describe("a flood", () => {
  for (const [what, bytes] of [
    ["pings of the protocol", frame("x".repeat(125), { opcode: ping })],
    ["pings of ours", frame('{"op":"ping"}')]
  ] as const) {
    it.live(`of ${what} is answered at the rate of messages, and ends with 4029`, () =>
      Effect.gen(function* () {
        const { undisturbed, world } = yield* scene({ flood_ms: 300 })
        const raw = yield* opened(world)
        const answers = () => raw.count(pong) + raw.texts.filter((each) => each.includes('"pong"')).length
        const began = Date.now()
        let sent = 0
        yield* Effect.promise(() =>
          raw.until("end", () => {
            if (raw.code !== undefined || raw.ended) return true
            for (let i = 0; i < 200; i++) raw.write(bytes)
            sent += 200
            return false
          })
        )
        assert.strictEqual(raw.code, 4029)
        raw.socket.destroy()
        // a burst of 100, then 20 a second
        assert.isAtMost(answers(), 100 + (20 * (Date.now() - began)) / 1_000 + 1)
        assert.isAbove(sent, answers())
        yield* undisturbed
      })
    )
  }
})

describe("an upgrade", () => {
  it.live("may bring its first frames along", () =>
    Effect.gen(function* () {
      const { world } = yield* scene()
      const raw = new RawSocket(world.url, Buffer.concat([Buffer.from(upgrade("/ws")), frame('{"op":"ping"}')]))
      yield* Effect.promise(() => raw.until("pong", () => raw.texts.length > 0))
      assert.include(raw.texts[0], '"op":"pong"')
      raw.socket.destroy()
    })
  )

  it.live("that is malformed, or has two thousand headers, is refused, and new ones are accepted", () =>
    Effect.gen(function* () {
      const { undisturbed, world } = yield* scene()
      const many = Array.from({ length: 2_000 }, (_, i) => `X-Header-${i}: ${i}`)
      const good = upgrade("/ws")
      for (const [what, bytes] of [
        ["many headers", upgrade("/ws", many)],
        ["a long header", upgrade("/ws", [`X-Header: ${"x".repeat(64 * KIB)}`])],
        ["no key", good.replace(/Sec-WebSocket-Key: .*\r\n/u, "")],
        ["a bad key", good.replace(/Sec-WebSocket-Key: .*\r\n/u, "Sec-WebSocket-Key: short\r\n")],
        ["an old version", good.replace("Version: 13", "Version: 7")],
        ["another method", good.replace("GET", "POST")],
        ["another protocol", good.replace("Upgrade: websocket", "Upgrade: h2c")],
        ["another path", upgrade("/ws/other")]
      ] as const) {
        const raw = new RawSocket(world.url, bytes)
        yield* Effect.promise(() => raw.until(`answer to ${what}`, () => raw.head ?? raw.ended))
        assert.isAtLeast(raw.status ?? 400, 400, what)
        assert.isBelow(raw.status ?? 400, 500, what)
        yield* Effect.promise(() => raw.over())
        yield* undisturbed
      }
    })
  )

  it.live("that is followed by a reset gives its place back", () =>
    Effect.gen(function* () {
      const { undisturbed, world } = yield* scene({ connections_per_ip: 5 })
      for (let round = 0; round < 30; round++) {
        // before the answer, after it, and in the middle of a frame
        const raw = new RawSocket(world.url, upgrade("/ws/public"))
        if (round % 3 > 0) yield* Effect.promise(() => raw.until("answer", () => raw.head))
        if (round % 3 > 1) raw.write(frame('{"op":"ping"}').subarray(0, 5))
        raw.socket.resetAndDestroy()
      }
      // all five places but the bystander's are there again
      for (let i = 0; i < 4; i++) {
        yield* connect(world, "/ws").pipe(Effect.retry({ times: 400, schedule: Schedule.spaced(25) }))
      }
      yield* undisturbed
    })
  )
})

describe("a connection whose peer is gone", () => {
  it.live("is found by the keepalive, closed with 4000, and given up when that is not answered", () =>
    Effect.gen(function* () {
      let ahead = 0
      const clock = aheadOf(yield* Clock.Clock, () => ahead, true)
      const { bystander, undisturbed, world } = yield* scene({ close_timeout_ms: 100 }, clock)
      const raw = new RawSocket(world.url, upgrade("/ws/public"), { halfOpen: true })
      yield* Effect.promise(() => raw.until("answer", () => raw.head))
      ahead += 15_001
      yield* Effect.promise(() => raw.until("ping", () => raw.count(ping) > 0))
      assert.strictEqual((yield* bystander.ask({ op: "ping" })).op, "pong")
      assert.isFalse(raw.ended)
      ahead += 15_001
      assert.strictEqual(yield* Effect.promise(() => raw.over()), 4000)
      // the peer answers nothing, not even the end
      const connections = () =>
        new Promise<number>((resolve) => world.server.getConnections((_, count) => resolve(count)))
      yield* Effect.promise(connections).pipe(
        Effect.delay(10),
        Effect.repeat({ until: (count) => count === 1, times: 2_000 }),
        Effect.map((count) => assert.strictEqual(count, 1))
      )
      raw.socket.destroy()
      yield* undisturbed
    })
  )

  it.live("ends when one side of it does", () =>
    Effect.gen(function* () {
      const { undisturbed, world } = yield* scene()
      const raw = new RawSocket(world.url, upgrade("/ws/public"), { halfOpen: true })
      yield* Effect.promise(() => raw.until("answer", () => raw.head))
      raw.socket.end()
      yield* Effect.promise(() => raw.over())
      yield* undisturbed
    })
  )
})
