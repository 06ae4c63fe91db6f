/** Which connections the guard closes, over sockets and times that the test decides. */
import { EventEmitter } from "node:events"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { afterEach, assert, beforeEach, describe, it, vi } from "vitest"
import { pipelineLimit, watch } from "../../../src/layers/node/SlowClientGuard.ts"

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] }))
afterEach(() => void vi.useRealTimers())

class FakeSocket extends EventEmitter {
  /** Node's field: the response in progress. */
  _httpMessage: object | undefined = {}
  writableLength: number
  readonly remoteAddress: string
  isDestroyed = false
  constructor(writableLength: number, remoteAddress = "192.0.2.1") {
    super()
    this.writableLength = writableLength
    this.remoteAddress = remoteAddress
  }
  destroy(): void {
    this.isDestroyed = true
    this.emit("close")
  }
}
const guarded = (limits: { readonly reading_ms?: number; readonly unread_bytes?: number }) => {
  const server = new EventEmitter()
  watch(server as unknown as Server, { reading_ms: 1_000, unread_bytes: 0, check_ms: 100, ...limits })
  return {
    server,
    connect: (bytes: number, address?: string) => {
      const socket = new FakeSocket(bytes, address)
      server.emit("connection", socket)
      return socket
    }
  }
}
const pass = (ms: number) => vi.advanceTimersByTime(ms)
const closed = (...sockets: ReadonlyArray<FakeSocket>) => sockets.map(({ isDestroyed }) => isDestroyed)

describe("a response that its client does not read", () => {
  it("closes the connection after the time for reading, and not before", () => {
    const { connect } = guarded({})
    const slow = connect(10)
    // from the first check that finds it unread
    pass(1_100)
    assert.deepStrictEqual(closed(slow), [false])
    pass(100)
    assert.deepStrictEqual(closed(slow), [true])
  })

  it("has the whole time, also after other responses of its connection", () => {
    const { connect } = guarded({})
    const client = connect(10)
    for (let responses = 0; responses < 5; responses++) {
      pass(900)
      client._httpMessage = {}
    }
    assert.deepStrictEqual(closed(client), [false])
    pass(1_200)
    assert.deepStrictEqual(closed(client), [true])
  })

  it("counts neither while a handler makes it nor where the connection has none", () => {
    const { connect } = guarded({ unread_bytes: 5 })
    const [computed, idle] = [connect(0), connect(10)]
    idle._httpMessage = undefined
    pass(10_000)
    assert.deepStrictEqual(closed(computed, idle), [false, false])
  })
})

describe("an address that leaves too much unread", () => {
  it("loses its oldest connections until the others are within the limit, and no other address does", () => {
    const { connect } = guarded({ reading_ms: 60_000, unread_bytes: 100 })
    const first = connect(60, "2001:db8::1")
    pass(100)
    const second = connect(60, "2001:db8::2")
    const other = connect(100, "192.0.2.1")
    pass(100)
    // one network of IPv6 is one address; just the limit is allowed
    assert.deepStrictEqual(closed(first, second, other), [true, false, false])
    const third = connect(40, "2001:db8::1")
    pass(1_000)
    assert.deepStrictEqual(closed(second, third), [false, false])
    third.writableLength = 41
    pass(100)
    assert.deepStrictEqual(closed(second, third), [true, false])
  })

  it("is not charged for connections that have ended, nor without a limit", () => {
    const { connect } = guarded({ reading_ms: 60_000, unread_bytes: 100 })
    const [ended, open] = [connect(90), connect(90)]
    ended.emit("close")
    pass(1_000)
    assert.deepStrictEqual(closed(ended, open), [false, false])
    const free = guarded({ reading_ms: 60_000, unread_bytes: 0 })
    const large = free.connect(1_000_000)
    pass(1_000)
    assert.deepStrictEqual(closed(large), [false])
  })
})

it("checks no more after the server has closed", () => {
  const { server } = guarded({})
  assert.strictEqual(vi.getTimerCount(), 1)
  server.emit("close")
  assert.strictEqual(vi.getTimerCount(), 0)
})

describe("pipelined requests of a connection", () => {
  const ask = (limit: ReturnType<typeof pipelineLimit>, socket: FakeSocket) => {
    const response = new EventEmitter()
    const isRefused = limit({ socket } as unknown as IncomingMessage, response as ServerResponse)
    return { isRefused, end: () => response.emit("close"), socket: socket as unknown as Socket }
  }

  it("are served up to the limit at once, and any number one after the other", () => {
    const limit = pipelineLimit()
    const [one, other] = [new FakeSocket(0), new FakeSocket(0)]
    for (let i = 0; i < 200; i++) {
      const { end, isRefused } = ask(limit, one)
      assert.isFalse(isRefused)
      end()
    }
    const waiting = Array.from({ length: 64 }, () => ask(limit, one))
    assert.isTrue(waiting.every(({ isRefused }) => !isRefused))
    waiting[0]!.end()
    assert.isFalse(ask(limit, one).isRefused)
    assert.isFalse(ask(limit, other).isRefused)
    assert.deepStrictEqual(closed(one, other), [false, false])
    assert.isTrue(ask(limit, one).isRefused)
    assert.deepStrictEqual(closed(one, other), [true, false])
  })
})
