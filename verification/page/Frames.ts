/** Frames of a page, from the times of its animation frames and from a trace of Chromium. */
import { mean, percentile } from "../harness/Statistics.ts"

const SECOND_MS = 1_000
/** Time of one frame at 60 a second, in ms. */
export const FRAME_MS = SECOND_MS / 60

/** An event of a trace. `ts` and `dur` are wall time, `tdur` is processor time of the thread, all in µs. */
interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  readonly ts: number
  readonly dur?: number
  readonly tdur?: number
}

export interface Frames {
  readonly count: number
  readonly per_s: number
  /** Frames of the slowest whole second. */
  readonly slowest_s: number
  /** Share of the intervals between two frames that are longer than one and a half frames. */
  readonly late: number
}

/** The rate of frames, from their times in ms. */
export const framesOf = (times: ReadonlyArray<number>): Frames => {
  const [first, last] = [times[0], times.at(-1)]
  if (first === undefined || last === undefined || last === first) throw new Error("there are no frames")
  const seconds = Math.max(1, Math.floor((last - first) / SECOND_MS))
  const bySecond = Array.from({ length: seconds }, () => 0)
  for (const time of times) {
    const at = Math.floor((time - first) / SECOND_MS)
    if (at < seconds) bySecond[at]!++
  }
  const intervals = times.slice(1).map((time, i) => time - times[i]!)
  return {
    count: times.length,
    per_s: (intervals.length * SECOND_MS) / (last - first),
    slowest_s: Math.min(...bySecond),
    late: intervals.filter((each) => each > 1.5 * FRAME_MS).length / intervals.length
  }
}

export interface Work {
  /** Processor time of the page's main thread in a frame, in ms: independent of other programs of the machine. */
  readonly mean_ms: number
  readonly p99_ms: number
  readonly longest_ms: number
  /** Share of the frames whose work takes longer than a frame. */
  readonly over: number
  /** The same in wall time: with what other programs took. */
  readonly wall_p99_ms: number
  /** Share of a processor that the thread uses. */
  readonly share: number
}

const isTask = ({ name, ph }: TraceEvent): boolean => name === "RunTask" && ph === "X"

/** The work of the main thread, frame by frame: its tasks between two animation frames. */
export const workOf = (trace: Buffer): Work => {
  const { traceEvents } = JSON.parse(trace.toString("utf8")) as { readonly traceEvents: ReadonlyArray<TraceEvent> }
  const begins = traceEvents.filter(({ name }) => name === "FireAnimationFrame").sort((a, b) => a.ts - b.ts)
  const main = begins[0]
  if (main === undefined) throw new Error("the trace has no animation frame")
  const tasks = traceEvents
    .filter((event) => isTask(event) && event.pid === main.pid && event.tid === main.tid)
    .sort((a, b) => a.ts - b.ts)
  const frames: Array<{ cpu_us: number; wall_us: number }> = []
  let next = 0
  let seen = -Infinity
  const last = begins.at(-1)!
  for (const { ts } of begins) {
    // several callbacks of one frame
    if (ts - seen < (FRAME_MS * 1_000) / 4) continue
    seen = ts
    const frame = { cpu_us: 0, wall_us: 0 }
    for (; next < tasks.length && tasks[next]!.ts < ts; next++) {
      const { dur = 0, tdur = dur } = tasks[next]!
      frame.cpu_us += tdur
      frame.wall_us += dur
    }
    frames.push(frame)
  }
  // the tasks before the first frame belong to no whole one
  const cpu = frames.slice(1).map(({ cpu_us }) => cpu_us / 1_000)
  const wall = frames.slice(1).map(({ wall_us }) => wall_us / 1_000)
  return {
    mean_ms: mean(cpu),
    p99_ms: percentile(cpu, 0.99),
    longest_ms: Math.max(...cpu),
    over: cpu.filter((each) => each > FRAME_MS).length / cpu.length,
    wall_p99_ms: percentile(wall, 0.99),
    share: (cpu.reduce((sum, each) => sum + each, 0) * 1_000) / (last.ts - main.ts)
  }
}
