import { Effect, Layer } from "effect"
import * as fs from "node:fs"
import { afterEach, assert, describe, it, vi } from "vitest"
import * as ProcessMetrics from "../../../src/layers/node/ProcessMetrics.ts"
import { CurrentMetricsRegistry, MetricsRegistry } from "../../../src/services/operations/MetricsRegistry.ts"

vi.mock("node:fs", { spy: true })
const monitor = vi.hoisted(() => ({ enable() {}, disable() {}, reset() {}, percentile: (of: number) => of }))
vi.mock(import("node:perf_hooks"), async (original) => ({
  ...(await original()),
  monitorEventLoopDelay: () => monitor as never
}))
afterEach(() => void vi.restoreAllMocks())

const scrape = (): Promise<string> => {
  const meter = new MetricsRegistry()
  return Effect.runPromise(
    Effect.provide(meter.text, ProcessMetrics.layer).pipe(Effect.provideService(CurrentMetricsRegistry, meter))
  )
}
/** Open files, and their limit. */
const files = async (): Promise<ReadonlyArray<number>> =>
  [...(await scrape()).matchAll(/^process_(?:open|max)_fds (\d+)$/gmu)].map(([, count]) => Number(count))

describe("the metrics of the process", () => {
  it.runIf(process.platform === "linux")("count open files and name their limit", async () => {
    const [open, most] = await files()
    assert.isAbove(open!, 2)
    assert.isAbove(most!, open!)
  })

  it("count the CPU time of the user and of the system, and show when it started", async () => {
    vi.spyOn(process, "cpuUsage").mockReturnValue({ user: 2_500_000, system: 1_000_000 })
    const text = await scrape()
    assert.match(text, /^process_cpu_seconds_total 3\.5$/mu)
    // Unix seconds
    const started = Number(/^process_start_time_seconds (.+)$/mu.exec(text)?.[1])
    assert.closeTo(started, performance.timeOrigin / 1_000, 1)
  })

  it("report no open files and no limit where the system has no such figures", async () => {
    const missing = () => {
      throw Object.assign(new Error("no such file"), { code: "ENOENT" })
    }
    vi.mocked(fs.statSync).mockImplementation(missing)
    vi.mocked(fs.readFileSync).mockImplementation(missing)
    assert.deepStrictEqual(await files(), [0, 0])
  })

  it("show the delays of the event loop in the last complete window", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })
    // the time between two ticks, of which 50 ms are no delay
    const ticks_ms = new Map([
      [50, 49.5],
      [99, 62.5],
      [100, 250]
    ])
    monitor.percentile = (percentile) => ticks_ms.get(percentile)! * 1e6
    let windows = 0
    monitor.reset = () => void windows++
    const meter = new MetricsRegistry()
    const delays = Effect.map(meter.text, (text) =>
      [...text.matchAll(/^nodejs_eventloop_delay_seconds\{percentile="(\d+)"\} (\S+)$/gmu)].map(([, of, delay]) => [
        Number(of),
        Number(delay)
      ])
    )
    const shown = Effect.gen(function* () {
      yield* Layer.build(ProcessMetrics.layer)
      const before = yield* delays
      vi.advanceTimersByTime(10_000)
      return [before, yield* delays]
    })
    const [before, after] = await Effect.runPromise(
      Effect.provideService(Effect.scoped(shown), CurrentMetricsRegistry, meter)
    )
    assert.deepStrictEqual(before, [
      [50, 0],
      [99, 0],
      [100, 0]
    ])
    assert.deepStrictEqual(after, [
      [50, 0],
      [99, 0.0125],
      [100, 0.2]
    ])
    assert.deepStrictEqual([windows, vi.getTimerCount()], [1, 0])
    vi.useRealTimers()
  })
})
