/** Reports the resources of this process to the benchmark: CPU of all threads, memory, garbage collection. */
import { PerformanceObserver } from "node:perf_hooks"

let gcMs = 0
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) gcMs += entry.duration
}).observe({ entryTypes: ["gc"] })

/** `more` is sent with the port. */
export const serve = (port: number, more: object = {}): void => {
  process.on("message", (message) => {
    if (message !== "usage" && message !== "settled") return
    // twice: objects released by finalizers are collected the second time
    if (message === "settled") for (let i = 0; i < 2; i++) globalThis.gc!()
    const cpu = process.cpuUsage()
    const main = process.threadCpuUsage()
    const { external, heapUsed, rss } = process.memoryUsage()
    process.send!({
      cpu_us: cpu.user + cpu.system,
      main_us: main.user + main.system,
      rss_mb: rss / 1_048_576,
      heap_mb: (heapUsed + external) / 1_048_576,
      gc_ms: gcMs
    })
  })
  process.on("disconnect", () => process.exit(0))
  process.send!({ port, ...more })
}
