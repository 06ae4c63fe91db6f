/** Tells the bench what this process used: CPU of all threads, memory, garbage collection. */
import { PerformanceObserver } from "node:perf_hooks"

let gcMs = 0
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) gcMs += entry.duration
}).observe({ entryTypes: ["gc"] })

export const serve = (port: number): void => {
  process.on("message", (message) => {
    if (message !== "usage") return
    const cpu = process.cpuUsage()
    const main = process.threadCpuUsage()
    process.send!({
      cpu_us: cpu.user + cpu.system,
      main_us: main.user + main.system,
      rss_mb: process.memoryUsage.rss() / 1_048_576,
      gc_ms: gcMs
    })
  })
  process.on("disconnect", () => process.exit(0))
  process.send!({ port })
}
