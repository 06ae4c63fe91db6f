/**
 * `node verification/slow-clients/main.ts [--readers N] [--stuck N] [--pairs N]`: some of many sockets stop reading while everything is
 * told. Each of them is conflated or closed as docs/contract/websocket.md#slow-consumers says; the others must not
 * notice, and nothing stays in memory.
 *
 * The door and the sockets are processes of their own. A pair is the same trades told twice, once while everybody reads and
 * once while some are stuck, in turns.
 */
import { type ChildProcess, fork } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import type { Answer, Order } from "./Server.ts"
import { type Kind, Reader } from "./Reader.ts"

/** Longest wait for anything that must come, in ms. */
const WAIT_MS = 60_000
const TASKSET = "/usr/bin/taskset"
/** Sockets that connect at the same time. */
const CONNECTING_MAX = 50

export interface Options {
  readonly readers: number
  /** Of those that stop reading every second one follows liquidations, which must not be lost. */
  readonly stuck: number
  readonly pairs: number
  readonly ticks: number
  readonly tick_ms: number
  readonly outbound_bytes: number
  /** Whole books told while some are stuck: more than systems and limits hold. */
  readonly rounds: number
  readonly round_ms: number
}
export interface Latency {
  readonly median_ms: number
  readonly p99_ms: number
}
export interface Outcome {
  readonly pairs: ReadonlyArray<{ readonly all: Latency; readonly some: Latency }>
  /** Closed with 4008, of those that followed liquidations, over all pairs and the round before them. */
  readonly closed: number
  /** Went on with the market's books after fewer frames than were told, of those that did not. */
  readonly conflated: number
  readonly otherwise: ReadonlyArray<string>
  /** Trades that the others missed. */
  readonly missed: number
  readonly queued_bytes: number
  readonly memory: { readonly before_bytes: number; readonly after_bytes: number }
}

const until = async (what: string, holds: () => boolean): Promise<void> => {
  for (const deadline = Date.now() + WAIT_MS; !holds();) {
    if (Date.now() > deadline) throw new Error(`not in ${WAIT_MS} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** The door in a process of its own; one order at a time. */
class Door {
  readonly child: ChildProcess
  private constructor(child: ChildProcess) {
    this.child = child
  }
  static async start(outbound_bytes: number): Promise<{ readonly door: Door; readonly url: string }> {
    const file = join(fileURLToPath(new URL(".", import.meta.url)), "Server.ts")
    // on a core of its own, as its sockets are: who waits for whom does not change with every wake
    const pinned = existsSync(TASKSET)
    const door = new Door(
      fork(file, [String(outbound_bytes)], {
        execPath: pinned ? TASKSET : process.execPath,
        execArgv: [...(pinned ? ["-c", "0", process.execPath] : []), "--expose-gc"]
      })
    )
    const answer = await door.answer()
    if (answer.said !== "ready") throw new Error("the door does not open")
    return { door, url: answer.url }
  }
  private answer(): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const ended = (code: number | null) => reject(new Error(`the door ended with ${code}`))
      this.child.once("exit", ended)
      this.child.once("message", (answer: Answer) => {
        this.child.off("exit", ended)
        resolve(answer)
      })
    })
  }
  async told(order: Extract<Order, { readonly do: "fill" | "tick" }>): Promise<number> {
    this.child.send(order)
    const answer = await this.answer()
    return answer.said === "done" ? answer.told : 0
  }
  async measure(): Promise<Extract<Answer, { readonly said: "measured" }>> {
    this.child.send({ do: "measure" } satisfies Order)
    const answer = await this.answer()
    if (answer.said !== "measured") throw new Error(`the door said ${answer.said}`)
    return answer
  }
  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once("exit", resolve))
    if (this.child.connected) this.child.send({ do: "stop" } satisfies Order)
    await ended
  }
}

const latencyOf = (samples: Array<number>): Latency => {
  const sorted = Float64Array.from(samples).sort()
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]! / 1e6
  return { median_ms: at(0.5), p99_ms: at(0.99) }
}

export const run = async (options: Options): Promise<Outcome> => {
  const { outbound_bytes, pairs, readers, round_ms, rounds, stuck, tick_ms, ticks } = options
  const { door, url } = await Door.start(outbound_bytes)
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
    await door.told({ do: "fill", rounds: 1, every_ms: 0 })
    const others = await open("reader", readers - stuck)
    const level = (told: number) =>
      until("everybody has the last trade", () => others.every(({ last }) => last === told))
    const half = Math.floor(stuck / 2)
    let slow = [...(await open("books", half)), ...(await open("lasting", stuck - half))]
    /** Follows the same books and reads: what it gets is what was told. */
    const [witness] = (await open("books", 1)) as [Reader]

    const measure = async (): Promise<Latency> => {
      // what was made before is not collected meanwhile, and everybody is awake
      await door.measure()
      await level(await door.told({ do: "tick", count: ticks, every_ms: tick_ms }))
      samples = []
      await level(await door.told({ do: "tick", count: ticks, every_ms: tick_ms }))
      return latencyOf(samples)
    }
    /** What precedes the measure of either half: the whole feed for a while. */
    const feed = async () => level(await door.told({ do: "fill", rounds, every_ms: round_ms }))
    const whileAllRead = async (): Promise<Latency> => {
      await feed()
      return measure()
    }
    /** Some stop reading until they are dealt with; answers what the others saw meanwhile. */
    const whileStuck = async (): Promise<Latency> => {
      const before = new Map([witness, ...slow].map((reader) => [reader, reader.frames]))
      const framesOf = (reader: Reader) => reader.frames - before.get(reader)!
      for (const { ws } of slow) ws.pause()
      await feed()
      const seen = await measure()
      for (const { ws } of slow) ws.resume()
      const told = await door.told({ do: "tick", count: 1, every_ms: 0 })
      await level(told)
      const isLevel = ({ books }: Reader) =>
        [...books.values()].every((book) => book.bids(1)[0]![1] === String(1 + told))
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

    // once before the memory is taken: what is made once is made, and the system's buffers have grown
    await whileStuck()
    const before = await door.measure()
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
    const after = await door.measure()
    const missed = others.reduce((sum, { gaps }) => sum + gaps, 0)
    for (const { code, faults } of others)
      if (code !== undefined || faults > 0) otherwise.push(`another ended: ${code}`)
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
    await door.stop()
  }
}

const middle = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      readers: { type: "string", default: "1000" },
      stuck: { type: "string", default: "100" },
      pairs: { type: "string", default: "9" }
    }
  })
  const [readers, stuck, pairs] = [Number(values.readers), Number(values.stuck), Number(values.pairs)]
  const outcome = await run({
    readers,
    stuck,
    pairs,
    ticks: 60,
    tick_ms: 50,
    outbound_bytes: 4 * 1024 * 1024,
    rounds: 250,
    round_ms: 20
  })
  for (const { all, some } of outcome.pairs) {
    const show = ({ median_ms, p99_ms }: Latency) => `median ${median_ms.toFixed(2)} ms, p99 ${p99_ms.toFixed(2)} ms`
    console.log(`all read: ${show(all)}   ${stuck} stuck: ${show(some)}`)
  }
  const ratio = (of: (latency: Latency) => number) => middle(outcome.pairs.map(({ all, some }) => of(some) / of(all)))
  const { after_bytes, before_bytes } = outcome.memory
  const mib = (bytes: number) => (bytes / 1024 / 1024).toFixed(1)
  console.log(`
  ${readers} sockets, ${stuck} of them stuck, ${pairs} pairs and a round before them
  stuck      ${outcome.closed} closed with 4008, ${outcome.conflated} conflated, ${outcome.otherwise.length} otherwise
  others     ${outcome.missed} trades missed; delivery beside the stuck ones, ratio of medians ${ratio((l) => l.median_ms).toFixed(2)}, of p99 ${ratio((l) => l.p99_ms).toFixed(2)}
  afterwards ${outcome.queued_bytes} bytes queued, heap and buffers ${mib(before_bytes)} → ${mib(after_bytes)} MiB
`)
  for (const what of new Set(outcome.otherwise)) console.log(`  otherwise  ${what}`)
  const sound = outcome.otherwise.length === 0 && outcome.missed === 0 && outcome.queued_bytes === 0
  process.exit(sound && after_bytes <= 1.1 * before_bytes ? 0 : 1)
}
