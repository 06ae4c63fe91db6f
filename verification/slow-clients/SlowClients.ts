/**
 * Some of many sockets stop reading while the market sends everything. Each is conflated or closed, as
 * docs/contract/websocket.md#slow-consumers says. The others must not notice, and no memory may leak.
 *
 * The server and the sockets are processes of their own. A pair is the same trades sent twice: once while all read, and once
 * while some are stuck, by turns.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { startLoad } from "../harness/LoadProcess.ts"
import { percentile } from "../harness/Statistics.ts"
import { until } from "../harness/Wait.ts"
import { type Kind, Reader } from "./Reader.ts"
import type { Calls } from "./Server.ts"

const TASKSET = "/usr/bin/taskset"
/** Sockets that connect at the same time. */
const CONNECTING_MAX = 50

export interface Options {
  readonly readers: number
  /** Sockets that stop reading. Every second one follows liquidations, which must not be lost. */
  readonly stuck: number
  readonly pairs: number
  readonly ticks: number
  readonly tick_ms: number
  readonly outbound_bytes: number
  /** Whole books sent while some are stuck: more than the system's buffers and the limits hold. */
  readonly rounds: number
  readonly round_ms: number
}
export interface Latency {
  readonly median_ms: number
  readonly p99_ms: number
}
export interface Outcome {
  readonly pairs: ReadonlyArray<{ readonly all: Latency; readonly some: Latency }>
  /** Followers of liquidations that were closed with 4008, over all pairs and the round before them. */
  readonly closed: number
  /** Followers of books that resumed with fewer frames than were sent. */
  readonly conflated: number
  readonly otherwise: ReadonlyArray<string>
  /** Trades that the other sockets missed. */
  readonly missed: number
  readonly queued_bytes: number
  readonly memory: { readonly before_bytes: number; readonly after_bytes: number }
}

const latencyOf = (samples_ns: ReadonlyArray<number>): Latency => ({
  median_ms: percentile(samples_ns, 0.5) / 1e6,
  p99_ms: percentile(samples_ns, 0.99) / 1e6
})

/** The server's process, on a core of its own as the sockets are: otherwise the scheduling of both varies with every wake-up. */
const startServer = () => {
  const pinned = existsSync(TASKSET)
  return startLoad<Calls>(join(import.meta.dirname, "Server.ts"), {
    execPath: pinned ? TASKSET : process.execPath,
    execArgv: [...(pinned ? ["-c", "0", process.execPath] : []), "--expose-gc"]
  })
}

export const run = async (options: Options): Promise<Outcome> => {
  const { outbound_bytes, pairs, readers, round_ms, rounds, stuck, tick_ms, ticks } = options
  const server = startServer()
  let url = ""
  let samples: Array<number> = []
  const open = async (kind: Kind, count: number): Promise<Array<Reader>> => {
    const all: Array<Reader> = []
    while (all.length < count) {
      const some = Array.from({ length: Math.min(CONNECTING_MAX, count - all.length) }, () =>
        Reader.open(url, kind, kind === "reader" ? (ns) => void samples.push(ns) : () => {})
      )
      all.push(...(await Promise.all(some)))
    }
    return all
  }
  const otherwise: Array<string> = []
  let closed = 0
  let conflated = 0
  try {
    url = await server.call("open", outbound_bytes)
    await server.call("fill", { rounds: 1, every_ms: 0 })
    const others = await open("reader", readers - stuck)
    const level = (sent: number) =>
      until("every socket has the last trade", () => others.every(({ last }) => last === sent))
    const half = Math.floor(stuck / 2)
    let slow = [...(await open("books", half)), ...(await open("lasting", stuck - half))]
    /** A socket that follows the same books and reads everything. */
    const [witness] = (await open("books", 1)) as [Reader]

    const measure = async (): Promise<Latency> => {
      // a garbage collection first, so that none falls into the measurement
      await server.call("measure", null)
      await level(await server.call("tick", { count: ticks, every_ms: tick_ms }))
      samples = []
      await level(await server.call("tick", { count: ticks, every_ms: tick_ms }))
      return latencyOf(samples)
    }
    /** Before each half: the whole feed for a while. */
    const feed = async () => level(await server.call("fill", { rounds, every_ms: round_ms }))
    const whileAllRead = async (): Promise<Latency> => {
      await feed()
      return measure()
    }
    /** Some stop reading until they are conflated or closed; returns the latency of the others meanwhile. */
    const whileStuck = async (): Promise<Latency> => {
      const before = new Map([witness, ...slow].map((reader) => [reader, reader.frames]))
      const framesOf = (reader: Reader) => reader.frames - before.get(reader)!
      for (const { ws } of slow) ws.pause()
      await feed()
      const seen = await measure()
      for (const { ws } of slow) ws.resume()
      const sent = await server.call("tick", { count: 1, every_ms: 0 })
      await level(sent)
      const isLevel = ({ books }: Reader) =>
        [...books.values()].every((book) => book.bids(1)[0]![1] === String(1 + sent))
      await until("the witness has the market's books", () => isLevel(witness))
      const again: Array<Reader> = []
      for (const reader of slow) {
        if (reader.kind === "lasting") {
          await until("a follower of liquidations is closed", () => reader.code !== undefined)
          if (reader.code === 4008 && reader.gaps === 0) closed++
          else otherwise.push(`closed with ${reader.code}, ${reader.gaps} gaps`)
          continue
        }
        await until("a book is the market's again", () => isLevel(reader))
        const frames = framesOf(reader)
        if (reader.code === undefined && reader.faults === 0 && frames < framesOf(witness)) conflated++
        else
          otherwise.push(
            `open: ${reader.code === undefined}, ${reader.faults} faults, ${frames} frames of ${framesOf(witness)}`
          )
        again.push(reader)
      }
      slow = [...again, ...(await open("lasting", stuck - half))]
      return seen
    }

    // one round before the first measure of memory, so that caches and system buffers have grown
    await whileStuck()
    const before = await server.call("measure", null)
    const results: Array<{ readonly all: Latency; readonly some: Latency }> = []
    for (let i = 0; i < pairs; i++) {
      if (i % 2 === 0) {
        const all = await whileAllRead()
        results.push({ all, some: await whileStuck() })
      } else {
        const some = await whileStuck()
        results.push({ all: await whileAllRead(), some })
      }
    }
    const after = await server.call("measure", null)
    const missed = others.reduce((sum, { gaps }) => sum + gaps, 0)
    for (const { code, faults } of others)
      if (code !== undefined || faults > 0) otherwise.push(`another socket was closed: ${code}`)
    for (const { ws } of [...others, ...slow]) ws.terminate()
    return {
      pairs: results,
      closed,
      conflated,
      otherwise,
      missed,
      queued_bytes: after.queued_bytes,
      memory: { before_bytes: before.memory_bytes, after_bytes: after.memory_bytes }
    }
  } finally {
    await server.stop()
  }
}
