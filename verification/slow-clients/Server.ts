/** The gateway's WebSocket server over a scripted market, which the parent process moves by calls. */
import { Effect, Scope } from "effect"
import type { Socket } from "node:net"
import { type Calls as AnyCalls, serve } from "../harness/LoadProcess.ts"
import { trade } from "../harness/Records.ts"
import { sleep } from "../harness/Wait.ts"
import { start, SYMBOL, World } from "../harness/WebSocketWorld.ts"

export interface Memory {
  /** Heap and buffers after a garbage collection, and bytes that sockets hold back from the system. */
  readonly memory_bytes: number
  readonly queued_bytes: number
}
export interface Calls extends AnyCalls {
  /** Starts the server with this limit of outbound bytes a connection; returns its address. */
  readonly open: (outbound_bytes: number) => Promise<string>
  /** Replaces the whole book so often, each time with a trade and many liquidations; returns the trades sent so far. */
  readonly fill: (rounds: { readonly rounds: number; readonly every_ms: number }) => Promise<number>
  /** Sends trades, each with its time, and a change of the book; returns the trades sent so far. */
  readonly tick: (ticks: { readonly count: number; readonly every_ms: number }) => Promise<number>
  readonly measure: (nothing: null) => Promise<Memory>
}

const LEVELS = 1_000
const FILLS = 600
/** Far above the limits of this suite: no connection is closed for silence, in ms. */
const NEVER_MS = 1e9

const world = new World()
const sockets = new Set<Socket>()
world.server.on("connection", (socket) => {
  sockets.add(socket)
  socket.on("close", () => sockets.delete(socket))
})

let sent = 0
let books = 0
const side = (from: number, step: number) =>
  Array.from({ length: LEVELS }, (_, i) => [String(from + i * step), `${books}.5`] as const)
/** One event of many fills, larger than most. */
const liquidations = () =>
  Array.from({ length: FILLS }, () => ({
    symbol: SYMBOL,
    side: "Buy" as const,
    qty: "0.2",
    price: "40390",
    bust_price: "40033",
    exec_type: "Trade" as const,
    timestamp: 1767225600000,
    seq: books
  }))
/** The trade's id is the time of the monotonic clock, which all processes share. */
const sendTrade = () =>
  world.market.tell({ prints: [[trade({ seq: ++sent, trade_id: String(process.hrtime.bigint()) })]] })

serve({
  open: async (outbound_bytes) => {
    const starting = start(world, {
      connections_per_ip: 0,
      silence_ms: NEVER_MS,
      outbound_bytes,
      // long, so that a stuck client still receives the close code when it reads again
      close_timeout_ms: 600_000,
      drain_ms: 0
    })
    await Effect.runPromise(Scope.provide(starting, Scope.makeUnsafe()))
    return world.url
  },
  fill: async ({ every_ms, rounds }) => {
    for (let i = 0; i < rounds; i++) {
      world.market.stream_id = `book-${++books}`
      world.market.book.reset(side(1_000_000, -1), side(1_000_001, 1), books)
      world.market.tell({ reset: true, liquidations: liquidations() })
      sendTrade()
      await sleep(every_ms)
    }
    return sent
  },
  tick: async ({ count, every_ms }) => {
    for (let i = 0; i < count; i++) {
      sendTrade()
      world.market.move([["1000000", String(1 + sent)]], [])
      await sleep(every_ms)
    }
    return sent
  },
  measure: async () => {
    for (let i = 0; i < 3; i++) {
      globalThis.gc?.()
      await sleep(50)
    }
    const { external, heapUsed } = process.memoryUsage()
    return {
      memory_bytes: heapUsed + external,
      queued_bytes: [...sockets].reduce((sum, socket) => sum + socket.writableLength, 0)
    }
  }
} satisfies Calls)
