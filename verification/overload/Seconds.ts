/** What callers saw, second by second, and how busy the machine was. */
import { readFileSync } from "node:fs"
import { loadavg } from "node:os"

export interface Second {
  /** How long it took, in ms: timers of a busy process are late. */
  readonly ms: number
  /** Orders that were accepted, and cancels. */
  readonly accepted: number
  readonly canceled: number
  /** Orders that were refused, by reason; `lost`: no answer. */
  readonly refused: Readonly<Record<string, number>>
  /** The same of cancels. */
  readonly uncanceled: Readonly<Record<string, number>>
  /** Latency of accepted orders, of cancels that were carried out, and of refusals of either. */
  readonly p50_ms: number
  readonly p99_ms: number
  readonly cancel_p99_ms: number
  readonly refusal_p99_ms: number
  /** Messages on the private sockets. */
  readonly frames: number
  /** Share of the machine's processor time that others took from it. */
  readonly steal: number
  readonly load: number
  /** Speed of the machine: rounds of a fixed computation in a millisecond of processor time. */
  readonly pace: number
}

const percentile = (values: Array<number>, share: number): number =>
  values.length === 0
    ? 0
    : values.sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))]!

/** Ticks of all processors: stolen ones, and all. */
const ticks = (): readonly [number, number] => {
  const all = readFileSync("/proc/stat", "utf8").split("\n", 1)[0]!.split(/\s+/u).slice(1, 9).map(Number)
  return [all[7] ?? 0, all.reduce((sum, each) => sum + each, 0)]
}

/** Rounds of the computation that measures the machine; about a millisecond. */
const PACE_ROUNDS = 20_000

/** The fixed computation: property writes and small objects, as servers make them. */
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

  /** Measures the machine; to be called several times a second. */
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
  /** A second is over. */
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
    this.began = now
    this.accepted = []
    this.canceled = []
    this.refusals = []
    this.refused = {}
    this.uncanceled = {}
    this.frames = 0
    this.paces = []
    return second
  }
}
