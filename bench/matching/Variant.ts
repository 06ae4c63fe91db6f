/** One variant of the matching benchmark in a separate process: runs flows on request and reports their cost. */
import { createRequire } from "node:module"
import { join } from "node:path"
import { PerformanceObserver } from "node:perf_hooks"
import * as Ids from "../../src/backend/engine/state/Ids.ts"
import * as OrderBook from "../../src/backend/engine/book/OrderBook.ts"
import * as Slots from "../../src/backend/engine/book/Slots.ts"
import { Side } from "../../src/proto/gateway/v1/types.ts"
import * as Flow from "./Flow.ts"
import * as Venue from "./Venue.ts"

export interface FlowOptions {
  readonly seed: number
  readonly mixed: number
  readonly resting: number
}

export type Request =
  | { readonly type: "verify"; readonly flow: FlowOptions }
  | { readonly type: "run"; readonly flow: FlowOptions; readonly seconds: number }
  | { readonly type: "latency"; readonly flow: FlowOptions }

export interface Cost {
  readonly operations: number
  readonly cpu_us: number
  readonly seconds: number
  readonly gc_count: number
  readonly gc_ms: number
  readonly heap_bytes: number
}

export interface Latency {
  readonly p50_ns: number
  readonly p99_ns: number
  readonly p999_ns: number
  /** the cost of the time measurement itself, in the same figures */
  readonly clock_ns: number
}

/** A book under test: one operation of a flow. */
interface Subject {
  readonly apply: (flow: Flow.Flow, i: number) => void
  /** Called before the first operation of a flow, while the book is empty. */
  readonly restart: (flow: Flow.Flow) => void
  /** Totals by price, best first. */
  readonly depth: (side: Side) => ReadonlyArray<OrderBook.Level>
}

const overVenue = (book: OrderBook.OrderBook): Subject => {
  let venue: Venue.Venue | undefined
  let orders = 0
  const slots = Slots.make()
  return {
    apply: (flow, i) => {
      const kind = flow.kind[i]
      if (kind === Flow.Kind.ADD) venue!.place(1, flow.side[i]!, flow.ticks[i]!, flow.lots[i]!, Venue.Smp.TAKER)
      else if (kind === Flow.Kind.CANCEL) venue!.cancel(flow.target[i]!)
      else venue!.take(2, flow.side[i]!, flow.ticks[i]!, flow.lots[i]!, Venue.Smp.TAKER)
    },
    restart: ({ adds }) => {
      if (venue === undefined || adds > orders) {
        venue = Venue.make(book, slots, adds)
        orders = adds
      }
      venue.restart()
    },
    depth: (side) => OrderBook.levels(book, side, 0)
  }
}

/** The same book with text ids: each added order gets one, each cancellation looks one up. */
const withIds = (): Subject => {
  const seed = Ids.seedOf("bench", "order")
  const inner = overVenue(OrderBook.make())
  let ids: Array<string> = []
  let added = 0
  let read = 0
  return {
    apply: (flow, i) => {
      const kind = flow.kind[i]
      if (kind === Flow.Kind.ADD) {
        added++
        ids[added] = Ids.print(seed, 1_767_225_600_000 + (i >>> 4), added, added & 0xffff)
      } else if (kind === Flow.Kind.CANCEL) read += Ids.read(seed, ids[flow.target[i]!]!)!.number
      inner.apply(flow, i)
    },
    restart: (flow) => {
      if (read < 0) throw new Error("unreachable")
      if (ids.length <= flow.adds) ids = Array.from({ length: flow.adds + 1 }, () => "")
      added = 0
      inner.restart(flow)
    },
    depth: inner.depth
  }
}

interface PeerBook {
  readonly limit: (order: {
    readonly side: "buy" | "sell"
    readonly id: string
    readonly size: number
    readonly price: number
    readonly timeInForce?: "IOC"
  }) => { readonly err: Error | null }
  readonly cancel: (id: string) => unknown
  readonly depth: () => [asks: Array<[number, number]>, bids: Array<[number, number]>]
}

/** nodejs-order-book; `BENCH_PEERS` names the directory of its installation, if it is not a dependency. */
const peer = (): Subject => {
  const require = createRequire(join(process.env["BENCH_PEERS"] ?? import.meta.dirname, "package.json"))
  const { OrderBook: Peer } = require("nodejs-order-book") as { readonly OrderBook: new () => PeerBook }
  const book = new Peer()
  let ids: Array<string> = []
  let added = 0
  const limit = (flow: Flow.Flow, i: number, id: string, ioc: boolean): void => {
    const side = flow.side[i] === Side.SIDE_BUY ? "buy" : "sell"
    const order = { side, id, size: flow.lots[i]!, price: flow.ticks[i]! } as const
    const { err } = book.limit(ioc ? { ...order, timeInForce: "IOC" } : order)
    if (err !== null) throw err
  }
  return {
    apply: (flow, i) => {
      const kind = flow.kind[i]
      if (kind === Flow.Kind.ADD) limit(flow, i, ids[++added]!, false)
      else if (kind === Flow.Kind.CANCEL) {
        if (book.cancel(ids[flow.target[i]!]!) === undefined) throw new Error("an order is missing")
      } else limit(flow, i, "taker", true)
    },
    restart: ({ adds }) => {
      if (ids.length <= adds) ids = Array.from({ length: adds + 1 }, (_, i) => `order-${i}`)
      added = 0
    },
    depth: (side) => {
      const [asks, bids] = book.depth()
      const found = side === Side.SIDE_BUY ? bids : asks
      const sign = side === Side.SIDE_BUY ? -1 : 1
      return found.map(([ticks, lots]) => ({ ticks, lots })).sort((a, b) => sign * (a.ticks - b.ticks))
    }
  }
}

export const subjects: Readonly<Record<string, () => Subject>> = {
  book: () => overVenue(OrderBook.make()),
  "book, text ids": withIds,
  "nodejs-order-book": peer
}

/** Digest of all totals by price; equal books have equal ones. */
export const digest = (subject: Pick<Subject, "depth">): number => {
  let hash = 0x811c9dc5
  for (const side of [Side.SIDE_BUY, Side.SIDE_SELL] as const)
    for (const { ticks, lots } of subject.depth(side)) {
      hash = Math.imul(hash ^ ticks, 0x01000193)
      hash = Math.imul(hash ^ lots, 0x01000193)
    }
  return hash >>> 0
}

const pass = (subject: Subject, flow: Flow.Flow): void => {
  subject.restart(flow)
  for (let i = 0; i < flow.count; i++) subject.apply(flow, i)
}

/** Runs a flow up to the point where it empties the book; returns a digest of the resting orders. */
export const verify = (subject: Subject, flow: Flow.Flow, resting: number): number => {
  subject.restart(flow)
  const end = resting + flow.mixed
  for (let i = 0; i < end; i++) subject.apply(flow, i)
  const hash = digest(subject)
  for (let i = end; i < flow.count; i++) subject.apply(flow, i)
  return hash
}

/** The oracle of the tests, as a subject. */
export const subjectOf = overVenue

const run = async (subject: Subject, flow: Flow.Flow, seconds: number): Promise<Cost> => {
  const pauses: Array<PerformanceEntry> = []
  const observer = new PerformanceObserver((list) => pauses.push(...list.getEntries()))
  observer.observe({ entryTypes: ["gc"] })
  global.gc?.()
  await new Promise((resolve) => setTimeout(resolve, 10))
  const heap = process.memoryUsage().heapUsed
  const cpu = process.cpuUsage()
  const began = performance.now()
  let operations = 0
  let now = began
  do {
    pass(subject, flow)
    operations += flow.count
    now = performance.now()
  } while (now - began < seconds * 1_000)
  const used = process.cpuUsage(cpu)
  const heapAfter = process.memoryUsage().heapUsed
  await new Promise((resolve) => setTimeout(resolve, 10))
  observer.disconnect()
  const inside = pauses.filter(({ startTime }) => startTime >= began && startTime <= now)
  return {
    operations,
    cpu_us: used.user + used.system,
    seconds: (now - began) / 1_000,
    gc_count: inside.length,
    gc_ms: inside.reduce((sum, { duration }) => sum + duration, 0),
    heap_bytes: heapAfter - heap
  }
}

const latency = (subject: Subject, flow: Flow.Flow): Latency => {
  const samples = new Float64Array(flow.count)
  const clock = new Float64Array(100_000)
  for (let i = 0; i < clock.length; i++) {
    const before = performance.now()
    clock[i] = performance.now() - before
  }
  subject.restart(flow)
  for (let i = 0; i < flow.count; i++) {
    const before = performance.now()
    subject.apply(flow, i)
    samples[i] = performance.now() - before
  }
  samples.sort()
  clock.sort()
  const at = (share: number) => samples[Math.floor(share * samples.length)]! * 1e6
  return { p50_ns: at(0.5), p99_ns: at(0.99), p999_ns: at(0.999), clock_ns: clock[clock.length >>> 1]! * 1e6 }
}

if (process.send !== undefined && process.argv[2] !== undefined && process.argv[2] in subjects) {
  const subject = subjects[process.argv[2]]!()
  const flows = new Map<string, Flow.Flow>()
  const flowOf = (options: FlowOptions): Flow.Flow => {
    const key = JSON.stringify(options)
    const flow = flows.get(key) ?? Flow.make(options.seed, options.mixed, options.resting)
    flows.set(key, flow)
    return flow
  }
  process.on("message", async (request: Request) => {
    const flow = flowOf(request.flow)
    switch (request.type) {
      case "verify":
        return process.send!(verify(subject, flow, request.flow.resting))
      case "run":
        return process.send!(await run(subject, flow, request.seconds))
      case "latency":
        return process.send!(latency(subject, flow))
    }
  })
  process.on("disconnect", () => process.exit(0))
}
