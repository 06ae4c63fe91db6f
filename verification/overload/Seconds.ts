/** The figures of callers, second by second, and the load of the machine. */
import { readFileSync } from "node:fs"
import { loadavg } from "node:os"
import { percentile } from "../harness/Statistics.ts"
import { ticksOf } from "../harness/Cpu.ts"

export interface Second {
  /** Its end, Unix ms. */
  readonly at: number
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
  /** Share of the processor time that other programs of this machine used. */
  readonly others: number
  readonly load: number
  /** Speed of a processor: rounds of a fixed computation in a millisecond, the median of a second's measurements. */
  readonly pace: number
}

/** Ticks of all processors since the start of the machine. */
interface Ticks {
  readonly stolen: number
  readonly idle: number
  readonly all: number
  /** Of the exchange and of its load. */
  readonly own: number
}
const ticks = (pids: ReadonlyArray<number>): Ticks => {
  const all = readFileSync("/proc/stat", "utf8").split("\n", 1)[0]!.split(/\s+/u).slice(1, 9).map(Number)
  const [, , , idle = 0, waiting = 0, , , stolen = 0] = all
  return {
    stolen,
    idle: idle + waiting,
    all: all.reduce((sum, each) => sum + each, 0),
    own: pids.reduce((sum, pid) => sum + ticksOf(pid), 0)
  }
}

/** Rounds of the computation that measures the processor: short enough to run mostly without an interruption. */
const PACE_ROUNDS = 100

/** The fixed computation, as a server does it: small objects, text of them and back, and a table. */
const spin = (): void => {
  const kept = new Map<string, unknown>()
  for (let i = 0; i < PACE_ROUNDS; i++) {
    const text = JSON.stringify({ order_id: `o${i}`, price: String(60_000 + i), qty: "0.001", side: "Buy", seq: i })
    kept.set(`o${i}`, JSON.parse(Buffer.from(text).toString("latin1")))
  }
}

export class Seconds {
  readonly seconds: Array<Second> = []
  private accepted: Array<number> = []
  private canceled: Array<number> = []
  private refusals: Array<number> = []
  private refused: Record<string, number> = {}
  private uncanceled: Record<string, number> = {}
  private frames = 0
  private readonly pids: ReadonlyArray<number>
  private ticks: Ticks
  private began = performance.now()
  private paces: Array<number> = []

  /** `pids`: the processes of the exchange and of its load. */
  constructor(pids: ReadonlyArray<number>) {
    this.pids = pids
    this.ticks = ticks(pids)
  }

  /** Measures the processor; called several times a second. */
  measure(): void {
    const began = performance.now()
    spin()
    this.paces.push(PACE_ROUNDS / (performance.now() - began))
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
    const after = ticks(this.pids)
    const [stolen, idle, own, all] = (["stolen", "idle", "own", "all"] as const).map(
      (kind) => after[kind] - this.ticks[kind]
    ) as [number, number, number, number]
    const now = performance.now()
    const second: Second = {
      at: Date.now(),
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
      steal: stolen / Math.max(1, all),
      others: Math.max(0, all - idle - stolen - own) / Math.max(1, all),
      load: loadavg()[0]!,
      pace: percentile(this.paces, 0.5)
    }
    this.seconds.push(second)
    this.ticks = after
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
