/**
 * Preloaded into every thread of a gateway: appends a line a second with what the thread did, to the file in
 * {@link RECORD_FILE}.
 */
import { appendFileSync } from "node:fs"
import { monitorEventLoopDelay, performance, PerformanceObserver } from "node:perf_hooks"
import { isMainThread, threadId, threadName } from "node:worker_threads"
import { RECORD_FILE, type ThreadSecond } from "./Record.ts"

const EVERY_MS = 1_000
const file = process.env[RECORD_FILE]

const record = (path: string): void => {
  let collected = { ms: 0, longest: 0 }
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) {
      collected = { ms: collected.ms + duration, longest: Math.max(collected.longest, duration) }
    }
  }).observe({ entryTypes: ["gc"] })
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  let cpu = process.threadCpuUsage()
  let use = performance.eventLoopUtilization()
  setInterval(() => {
    const spent = process.threadCpuUsage(cpu)
    const second: ThreadSecond = {
      at: Date.now(),
      thread: isMainThread ? "gateway" : threadName || String(threadId),
      cpu_ms: (spent.user + spent.system) / 1_000,
      busy: performance.eventLoopUtilization(use).utilization,
      delay_ms: delay.max / 1e6,
      gc_ms: collected.ms,
      longest_gc_ms: collected.longest,
      heap_mb: process.memoryUsage().heapUsed / 2 ** 20
    }
    cpu = process.threadCpuUsage()
    use = performance.eventLoopUtilization()
    delay.reset()
    collected = { ms: 0, longest: 0 }
    appendFileSync(path, `${JSON.stringify(second)}\n`)
  }, EVERY_MS).unref()
}

if (file !== undefined) record(file)
