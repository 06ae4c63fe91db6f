/**
 * Preloaded into a gateway: measures the processor time of its main thread, in total and of the longest turn of its event loop.
 * Garbage collections are not counted in a turn: the one in which a collection falls did not cause it alone.
 */
import { PerformanceObserver } from "node:perf_hooks"
import timers from "node:timers/promises"
import { isMainThread } from "node:worker_threads"
import { cpuOfThisThread } from "../harness/Cpu.ts"

export type Order = "begin" | "watch" | "end"
export interface Cost {
  /** Processor time of the thread, in ms. */
  readonly cpu_ms: number
  /** The same of the longest turn of the event loop, without collections; 0 unless "watch" was the order. */
  readonly longest_ms: number
  /** The longest collection, in ms. */
  readonly collection_ms: number
}

/** Shorter turns are not kept, in ms. */
const SHORT_MS = 0.5
/** Time after which a collection is reported, in ms, and the turns that this takes where the thread had to wait. */
const REPORTED_MS = 5
const REPORTED_TURNS = 3

interface Turn {
  readonly cpu_ms: number
  /** Begin and end, as of `performance.now()`. */
  readonly from: number
  readonly to: number
}

if (isMainThread && process.send !== undefined) {
  let collections: Array<{ readonly startTime: number; readonly duration: number }> = []
  new PerformanceObserver((list) => void collections.push(...list.getEntries())).observe({ entryTypes: ["gc"] })
  let turns: Array<Turn> = []
  let began = 0
  let last = 0
  let from = 0
  let watching = false
  const turn = (): void => {
    const now = cpuOfThisThread()
    const to = performance.now()
    if (now - last > SHORT_MS) turns.push({ cpu_ms: now - last, from, to })
    last = now
    from = to
    if (watching) setImmediate(turn)
  }
  const withoutCollections = ({ cpu_ms, from, to }: Turn): number =>
    collections
      .filter(({ startTime }) => startTime >= from && startTime < to)
      .reduce((ms, { duration }) => ms - duration, cpu_ms)
  process.on("message", ({ order }: { readonly order: Order }) => {
    if (order === "end") {
      const cpu_ms = cpuOfThisThread() - began
      watching = false
      const reported = async () => {
        await timers.setTimeout(REPORTED_MS)
        for (let i = 0; i < REPORTED_TURNS; i++) await timers.setImmediate()
        const longest_ms = Math.max(0, ...turns.map(withoutCollections))
        const collection_ms = Math.max(0, ...collections.map(({ duration }) => duration))
        process.send!({ cpu_ms, longest_ms, collection_ms } satisfies Cost)
      }
      void reported()
      return
    }
    turns = []
    collections = []
    began = last = cpuOfThisThread()
    from = performance.now()
    watching = order === "watch"
    if (watching) setImmediate(turn)
    process.send!({})
  })
}
