/** Metrics of the process, under the names of Prometheus' client libraries. */
import { Effect, Layer } from "effect"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { CurrentMetricsRegistry } from "../../services/operations/MetricsRegistry.ts"

/** Length of the windows in which the delay of the event loop is measured, in ms. */
const WINDOW_MS = 10_000
const RESOLUTION_MS = 50
const PERCENTILES = [50, 99, 100]
const FDS = "/proc/self/fd"

/** Open file descriptors; 0 where the system does not report them. */
const openFiles = (): number => {
  try {
    // newer kernels report the count as the size; listing a hundred thousand entries takes long
    return statSync(FDS).size || readdirSync(FDS).length
  } catch {
    return 0
  }
}

/** The limit of open file descriptors. */
const openFilesMax = (): number => {
  try {
    return Number(/^Max open files\s+(\d+)/mu.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? 0)
  } catch {
    return 0
  }
}

export const layer: Layer.Layer<never> = Layer.effectDiscard(
  Effect.gen(function* () {
    const meter = yield* CurrentMetricsRegistry
    meter.gauge("process_cpu_seconds_total", {}, () => {
      const { system, user } = process.cpuUsage()
      return (system + user) / 1e6
    })
    meter.gauge("process_resident_memory_bytes", {}, () => process.memoryUsage.rss())
    meter.gauge("nodejs_heap_used_bytes", {}, () => process.memoryUsage().heapUsed)
    meter.gauge("process_open_fds", {}, openFiles)
    const filesMax = openFilesMax()
    meter.gauge("process_max_fds", {}, () => filesMax)
    meter.gauge("process_start_time_seconds", {}, () => performance.timeOrigin / 1_000)

    // the last complete window
    let delays = PERCENTILES.map(() => 0)
    PERCENTILES.forEach((percentile, i) => {
      meter.gauge("nodejs_eventloop_delay_seconds", { percentile: String(percentile) }, () => delays[i]!)
    })
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        const monitor = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
        monitor.enable()
        const timer = setInterval(() => {
          // the monitor measures the interval between its ticks, not the delay alone
          delays = PERCENTILES.map(
            (percentile) => Math.max(0, monitor.percentile(percentile) / 1e6 - RESOLUTION_MS) / 1e3
          )
          monitor.reset()
        }, WINDOW_MS)
        timer.unref()
        return { monitor, timer }
      }),
      ({ monitor, timer }) =>
        Effect.sync(() => {
          clearInterval(timer)
          monitor.disable()
        })
    )
  })
)
