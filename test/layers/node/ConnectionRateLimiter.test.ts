/** When the limiter accepts connections, over sockets and times that the test decides. */
import { EventEmitter } from "node:events"
import type { Server } from "node:http"
import { afterEach, assert, beforeEach, describe, it, vi } from "vitest"
import { type ConnectionRateLimits, install } from "../../../src/layers/node/ConnectionRateLimiter.ts"

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] }))
afterEach(() => void vi.useRealTimers())

class FakeSocket extends EventEmitter {
  readonly name: string
  readonly remoteAddress: string
  isDestroyed = false
  constructor(name: string, remoteAddress: string) {
    super()
    this.name = name
    this.remoteAddress = remoteAddress
  }
  destroy(): void {
    if (this.isDestroyed) return
    this.isDestroyed = true
    this.emit("close")
  }
}
const limited = (limits: Partial<ConnectionRateLimits>) => {
  const server = Object.assign(new EventEmitter(), { listening: true })
  const accepted: Array<string> = []
  server.on("connection", ({ name }: FakeSocket) => accepted.push(name))
  install(server as unknown as Server, {
    connections_per_address: 0,
    arrivals_per_s: 10,
    arrivals_at_once: 2,
    arrivals_waiting: 100,
    ...limits
  })
  let count = 0
  const connect = (address = "192.0.2.1") => {
    const socket = new FakeSocket(String(++count), address)
    server.emit("connection", socket)
    return socket
  }
  return { accepted, connect, server }
}
/** Timers may act one step late. */
const STEP_MS = 2
const pass = (ms: number) => vi.advanceTimersByTime(ms)

describe("connections of one address", () => {
  it("are accepted at once up to the burst, then at the rate, in the order of their arrival", () => {
    const { accepted, connect } = limited({})
    for (let i = 0; i < 5; i++) connect()
    assert.deepStrictEqual(accepted, ["1", "2"])
    pass(100 - STEP_MS)
    assert.lengthOf(accepted, 2)
    pass(2 * STEP_MS)
    assert.deepStrictEqual(accepted, ["1", "2", "3"])
    pass(200)
    assert.deepStrictEqual(accepted, ["1", "2", "3", "4", "5"])
  })

  it("do not regain the burst sooner than at the rate", () => {
    const { accepted, connect } = limited({})
    for (let i = 0; i < 2; i++) connect()
    pass(10 * STEP_MS)
    connect()
    assert.deepStrictEqual(accepted, ["1", "2"])
    pass(100)
    assert.deepStrictEqual(accepted, ["1", "2", "3"])
  })

  it("do not overtake those that are queued, between two steps of the queue", () => {
    const { accepted, connect } = limited({ arrivals_at_once: 1, arrivals_per_s: 1_000 / (50 * STEP_MS + 1) })
    for (let i = 0; i < 2; i++) connect()
    // one may be accepted since 1 ms, and the next step is in 1 ms
    pass(50 * STEP_MS + 1)
    assert.deepStrictEqual(accepted, ["1"])
    connect()
    assert.deepStrictEqual(accepted, ["1"])
    pass(1)
    assert.deepStrictEqual(accepted, ["1", "2"])
  })

  it("are no more than the burst after a stall of this process", () => {
    const { accepted, connect } = limited({})
    for (let i = 0; i < 3; i++) connect()
    const stalled = performance.now() + 60_000
    vi.spyOn(performance, "now").mockImplementation(() => stalled)
    for (let i = 0; i < 5; i++) connect()
    pass(STEP_MS)
    vi.restoreAllMocks()
    assert.lengthOf(accepted, 4)
  })

  it("regain the burst while the address is idle, and no more than it", () => {
    const { accepted, connect } = limited({})
    for (let i = 0; i < 2; i++) connect()
    pass(60_000)
    for (let i = 0; i < 5; i++) connect()
    assert.lengthOf(accepted, 4)
    assert.strictEqual(vi.getTimerCount(), 1)
    pass(60_000)
    assert.lengthOf(accepted, 7)
    // no timer runs for idle addresses
    assert.strictEqual(vi.getTimerCount(), 0)
  })

  it("of one IPv6 network count together, those of others do not", () => {
    const { accepted, connect } = limited({ arrivals_at_once: 1 })
    for (const address of ["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "192.0.2.1", "192.0.2.2"]) connect(address)
    assert.deepStrictEqual(accepted, ["1", "3", "4", "5"])
  })

  it("that end or fail while queued are not accepted, and free their place", () => {
    const { accepted, connect } = limited({ arrivals_waiting: 2 })
    for (let i = 0; i < 2; i++) connect()
    const [ends, resets] = [connect(), connect()]
    assert.isTrue(connect().isDestroyed)
    ends.emit("end")
    assert.isTrue(ends.isDestroyed)
    resets.emit("error", new Error("reset"))
    resets.destroy()
    const [next, last] = [connect(), connect()]
    assert.deepStrictEqual([next.isDestroyed, last.isDestroyed], [false, false])
    pass(1_000)
    assert.deepStrictEqual(accepted, ["1", "2", "6", "7"])
  })

  it("that are accepted after the queue may end their side, and report their own errors", () => {
    const { accepted, connect } = limited({ arrivals_at_once: 1 })
    connect()
    const queued = connect()
    pass(1_000)
    assert.deepStrictEqual(accepted, ["1", "2"])
    queued.emit("end")
    assert.isFalse(queued.isDestroyed)
    assert.throws(() => queued.emit("error", new Error("reset")), /reset/u)
  })

  it("are destroyed in the queue when the server no longer listens", () => {
    const { accepted, connect, server } = limited({ arrivals_at_once: 1 })
    connect()
    const queued = [connect(), connect()]
    server.listening = false
    pass(2 * STEP_MS)
    assert.isTrue(queued.every(({ isDestroyed }) => isDestroyed))
    pass(60_000)
    assert.deepStrictEqual([accepted, vi.getTimerCount()], [["1"], 0])
  })

  it("are closed beyond the limit, queued ones included, until another one has ended", () => {
    const { accepted, connect } = limited({ connections_per_address: 3, arrivals_at_once: 1 })
    const [first, second, third] = [connect(), connect(), connect()]
    const beyond = connect()
    assert.deepStrictEqual(
      [first, second, third, beyond].map(({ isDestroyed }) => isDestroyed),
      [false, false, false, true]
    )
    assert.isFalse(connect("192.0.2.9").isDestroyed)
    // a refused connection has taken no place, so its end frees none
    assert.isTrue(connect().isDestroyed)
    second.destroy()
    assert.isFalse(connect().isDestroyed)
    assert.isTrue(connect().isDestroyed)
    assert.deepStrictEqual(accepted, ["1", "5"])
  })

  it("are counted, and not delayed, where only their number is limited", () => {
    const { accepted, connect } = limited({ connections_per_address: 3, arrivals_per_s: 0 })
    const all = Array.from({ length: 5 }, () => connect())
    assert.deepStrictEqual(accepted, ["1", "2", "3"])
    // the one that stays is still counted
    for (const socket of all.slice(1)) socket.destroy()
    assert.deepStrictEqual(
      [connect(), connect(), connect()].map(({ isDestroyed }) => isDestroyed),
      [false, false, true]
    )
  })
})
