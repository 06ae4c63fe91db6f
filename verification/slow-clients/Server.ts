/** The server of the slow readers: the gateway's own WebSocket door over a market that its parent moves by messages. */
import { Effect } from "effect"
import type { Socket } from "node:net"
import { trade } from "../harness/Records.ts"
import { start, SYMBOL, World } from "../harness/WebSocketWorld.ts"

export type Order =
  /** Replaces the whole book `rounds` times, and tells a trade and many liquidations with each. */
  | { readonly do: "fill"; readonly rounds: number; readonly every_ms: number }
  /** Tells `count` trades, each with the time of its making, and a change of the book. */
  | { readonly do: "tick"; readonly count: number; readonly every_ms: number }
  | { readonly do: "measure" }
  | { readonly do: "stop" }
export type Answer =
  | { readonly said: "ready"; readonly url: string }
  /** Trades told so far. */
  | { readonly said: "done"; readonly told: number }
  | {
      readonly said: "measured"
      /** Heap and buffers after a collection, and what sockets hold that the system has not taken. */
      readonly memory_bytes: number
      readonly queued_bytes: number
      readonly connections: number
    }

const LEVELS = 1_000
const FILLS = 600
/** Far above the limits of these tests: nobody is silent. */
const NEVER_MS = 1e9
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const world = new World()
const sockets = new Set<Socket>()
world.server.on("connection", (socket) => {
  sockets.add(socket)
  socket.on("close", () => sockets.delete(socket))
})

let told = 0
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
/** The time is that of the machine's monotonic clock, the same in every process. */
const tell = () => world.market.tell({ prints: [[trade({ seq: ++told, trade_id: String(process.hrtime.bigint()) })]] })

const obey = async (order: Order): Promise<Answer | undefined> => {
  switch (order.do) {
    case "fill":
      for (let i = 0; i < order.rounds; i++) {
        world.market.stream_id = `book-${++books}`
        world.market.book.reset(side(1_000_000, -1), side(1_000_001, 1), books)
        world.market.tell({ reset: true, liquidations: liquidations() })
        tell()
        await pause(order.every_ms)
      }
      return { said: "done", told }
    case "tick":
      for (let i = 0; i < order.count; i++) {
        tell()
        world.market.move([["1000000", String(1 + told)]], [])
        await pause(order.every_ms)
      }
      return { said: "done", told }
    case "measure": {
      for (let i = 0; i < 3; i++) {
        globalThis.gc?.()
        await pause(50)
      }
      const { external, heapUsed } = process.memoryUsage()
      return {
        said: "measured",
        memory_bytes: heapUsed + external,
        queued_bytes: [...sockets].reduce((sum, socket) => sum + socket.writableLength, 0),
        connections: sockets.size
      }
    }
    case "stop":
      return undefined
  }
}

const outbound_bytes = Number(process.argv[2])
await Effect.runPromise(
  Effect.scoped(
    Effect.gen(function* () {
      yield* start(world, {
        connections_per_ip: 0,
        silence_ms: NEVER_MS,
        outbound_bytes,
        // long, so that a stuck peer sees the code when it reads again
        close_timeout_ms: 600_000,
        drain_ms: 0
      })
      yield* Effect.callback<void>((resume) => {
        process.on("message", (order: Order) => {
          void obey(order).then((answer) => {
            if (answer === undefined) resume(Effect.void)
            else process.send!(answer)
          })
        })
        process.on("disconnect", () => resume(Effect.void))
        process.send!({ said: "ready", url: world.url } satisfies Answer)
      })
    })
  )
)
process.exit(0)
