/** The figures of callers, second by second, and the load of the machine. */
import { readFileSync } from "node:fs"
import { loadavg } from "node:os"
import { percentile } from "../harness/Statistics.ts"

export interface Second {
  /** Its duration, in ms: timers of a busy process are late. */
  readonly ms: number
  /** Accepted orders, and executed cancels. */
  readonly accepted: number
  readonly canceled: number
  /** Refused orders, by reason; `lost`: without an answer. */
  readonly refused: Readonly<Record<string, number>>
  /** The same of cancels. */
  readonly uncanceled: Readonly<Record<string, number>>
  /** Latency of accepted orders, of executed cancels, and of refusals of either. */
  readonly p50_ms: number
  readonly p99_ms: number
  readonly cancel_p99_ms: number
  readonly refusal_p99_ms: number
  /** Messages on the private sockets. */
  readonly frames: number
  /** Share of the processor time that the hypervisor gave to others. */
  readonly steal: number
  readonly load: number
  /** Speed of the machine: rounds of a fixed computation in a millisecond of processor time. */
  readonly pace: number
}

/** Ticks of all processors: stolen ones, and the total. */
const ticks = (): readonly [number, number] => {
  const all = readFileSync("/proc/stat", "utf8").split("\n", 1)[0]!.split(/\s+/u).slice(1, 9).map(Number)
  return [all[7] ?? 0, all.reduce((sum, each) => sum + each, 0)]
}

/** Rounds of the computation that measures the machine, about a millisecond. */
const PACE_ROUNDS = 20_000

/** The fixed computation: property writes and small objects, as a server creates them. */
const spin = (): number => {
  const { system, user } = process.threadCpuUsage()
  const kept: Record<string, { readonly i: number }> = {}
  for (let i = 0; i < PACE_ROUNDS; i++) kept[`k${i & 255}`] = { i }
  const after = process.threadCpuUsage()
  return (PACE_ROUNDS * 1_000) / Math.max(1, after.user + after.system - user - system)
}

export class Seconds {
  readonly seconds: Array<Second> = []
  private accepted: Array<number> = []
  private canceled: Array<number> = []
  private refusals: Array<number> = []
  private refused: Record<string, number> = {}
  private uncanceled: Record<string, number> = {}
  private frames = 0
  private ticks = ticks()
  private began = performance.now()
  private paces: Array<number> = []

  /** Measures the machine; called several times a second. */
  measure(): void {
    this.paces.push(spin())
  }
  order(ms: number): void {
    this.accepted.push(ms)
  }
  cancel(ms: number): void {
    this.canceled.push(ms)
  }
  refusal(of: "order" | "cancel", reason: string, ms: number | undefined): void {
    const counts = of === "order" ? this.refused : this.uncanceled
    counts[reason] = (counts[reason] ?? 0) + 1
    if (ms !== undefined) this.refusals.push(ms)
  }
  frame(): void {
    this.frames++
  }
  /** Ends a second. */
  close(): Second {
    const [stolen, all] = ticks()
    const now = performance.now()
    const second: Second = {
      ms: now - this.began,
      accepted: this.accepted.length,
      canceled: this.canceled.length,
      refused: this.refused,
      uncanceled: this.uncanceled,
      p50_ms: percentile(this.accepted, 0.5),
      p99_ms: percentile(this.accepted, 0.99),
      cancel_p99_ms: percentile(this.canceled, 0.99),
      refusal_p99_ms: percentile(this.refusals, 0.99),
      frames: this.frames,
      steal: (stolen - this.ticks[0]) / Math.max(1, all - this.ticks[1]),
      load: loadavg()[0]!,
      pace: percentile(this.paces, 0.5)
    }
    this.seconds.push(second)
    this.ticks = [stolen, all]
    this.accepted = []
    this.canceled = []
    this.refusals = []
    this.refused = {}
    this.uncanceled = {}
    this.frames = 0
    this.paces = []
    this.began = now
    return second
  }
}
