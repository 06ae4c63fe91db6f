/**
 * An exchange under twice the rate that it can execute, for a long time: its goodput of each minute, its memory, the latency of
 * cancels and reads, and whether every acknowledged order is shown and stored.
 */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { readFileSync } from "node:fs"
import { startGateway } from "../harness/GatewayProcess.ts"
import { startLoad } from "../harness/LoadProcess.ts"
import { temporaryFolder } from "../harness/Programs.ts"
import { type Counts, mean, percentile, sumOf } from "../harness/Statistics.ts"
import { sleep } from "../harness/Wait.ts"
import { fundedUsers, LOAD_ENV } from "../overload/Overload.ts"
import type { Calls, SustainedReport } from "../overload/Plan.ts"
import type { Second } from "../overload/Seconds.ts"
import type { ReadCalls, Reads } from "./Reader.ts"

export interface Options {
  readonly minutes: number
  /** Length of the measurement of the capacity, in seconds; its first half does not count. */
  readonly capacity_s: number
  /** Length of the measurement of an idle exchange's reads, in seconds. */
  readonly idle_s: number
  readonly users: number
  readonly say?: (line: string) => void
}
export interface Minute {
  /** Executed orders and cancels a second. */
  readonly goodput: number
  /** Refused requests a second. */
  readonly refused: number
  readonly p50_ms: number
  /** p99 of accepted orders and of executed cancels: the median of the seconds' figures. */
  readonly p99_ms: number
  readonly cancel_p99_ms: number
  readonly rss_mib: number
}
export interface Outcome extends Omit<SustainedReport, "seconds"> {
  /** Executed orders and cancels a second of callers that do not pause. */
  readonly capacity: number
  readonly minutes: ReadonlyArray<Minute>
  /** Reads of an idle exchange, and during the load; the same paths. */
  readonly idle: ReadonlyArray<Reads>
  readonly loaded: ReadonlyArray<Reads>
  /** Refused requests, by reason. */
  readonly reasons: Readonly<Counts>
  /** Orders stored during the load, and requests of unknown fate, which may be stored. */
  readonly stored: number
  readonly unanswered: number
}

/** Callers that measure the capacity, and those that share the load. */
const CAPACITY_CALLERS = 256
const CALLERS = 1_024
/** Share of the best minute's goodput that the last one must reach. */
const SHARE_MIN = 0.95
const CANCEL_P99_MS = 100
/** Longest reads under load, relative to those of an idle exchange. */
const READS_MAX = 2
/** Growth of the memory between the first quarter and the end, in MiB: histories on disk are cached. */
const GROWTH_MIB = 256

const rssMib = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/u.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1_024
const done = ({ accepted, canceled }: Second): number => accepted + canceled
const rateOf = (seconds: ReadonlyArray<Second>, of: (second: Second) => number): number =>
  (seconds.reduce((sum, second) => sum + of(second), 0) / seconds.reduce((sum, { ms }) => sum + ms, 0)) * 1_000
const refusedOf = ({ refused, uncanceled }: Second): number =>
  [...Object.values(refused), ...Object.values(uncanceled)].reduce((sum, each) => sum + each, 0)
/** Requests whose fate is unknown: without an answer, or with one that says so. */
const lostOf = ({ refused }: Second): number => (refused["lost"] ?? 0) + (refused["DeadlineExceeded"] ?? 0)

const minuteOf = (seconds: ReadonlyArray<Second>, rss_mib: number): Minute => {
  const middle = (of: (second: Second) => number) => percentile(seconds.map(of), 0.5)
  return {
    goodput: rateOf(seconds, done),
    refused: rateOf(seconds, refusedOf),
    p50_ms: middle(({ p50_ms }) => p50_ms),
    p99_ms: middle(({ p99_ms }) => p99_ms),
    cancel_p99_ms: middle(({ cancel_p99_ms }) => cancel_p99_ms),
    rss_mib
  }
}

/** Pause between two counts, in ms: much longer than histories usually wait to be written. */
const COUNT_MS = 2_000

/** Counts the stored orders until two counts are equal: then all histories are written. */
const storedIn = async (dataDir: string): Promise<number> => {
  const history = new DatabaseSync(join(dataDir, "history.sqlite"), { readOnly: true })
  try {
    for (let last = -1; ; await sleep(COUNT_MS)) {
      const { n } = history.prepare("SELECT count(*) AS n FROM orders").get() as { readonly n: number }
      if (n === last) return n
      last = n
    }
  } finally {
    history.close()
  }
}

export const run = async ({ capacity_s, idle_s, minutes, say = () => {}, users: count }: Options): Promise<Outcome> => {
  const folder = temporaryFolder("sustained")
  const gateway = await startGateway({ dataDir: folder.path, env: LOAD_ENV })
  const load = startLoad<Calls>(join(import.meta.dirname, "../overload/Load.ts"))
  const reader = startLoad<ReadCalls>(join(import.meta.dirname, "Reader.ts"))
  const { pid, port, url } = gateway
  const rss: Array<number> = []
  const sampling = setInterval(() => rss.push(rssMib(pid)), 1_000)
  try {
    const users = await fundedUsers(url, count)
    const { token } = users[0]!
    await reader.call("read", { url, token, seconds: idle_s })
    const before = await load.call("run", { pid, port, users, callers: CAPACITY_CALLERS, seconds: capacity_s })
    const capacity = rateOf(before.seconds.slice(capacity_s >> 1), done)
    const idle = await reader.call("read", { url, token, seconds: idle_s })
    say(`capacity ${capacity.toFixed(0)}/s`)
    const earlier = await storedIn(folder.path)
    rss.length = 0
    const seconds = Math.round(minutes * 60)
    const [report, loaded] = await Promise.all([
      load.call("sustain", { pid, port, users, callers: CALLERS, seconds, rate: 2 * capacity }),
      reader.call("read", { url, token, seconds })
    ])
    const stored = (await storedIn(folder.path)) - earlier
    const length = Math.min(60, seconds)
    const byMinute = Array.from({ length: Math.floor(seconds / length) }, (_, i) =>
      minuteOf(report.seconds.slice(i * length, (i + 1) * length), mean(rss.slice(i * length, (i + 1) * length)))
    )
    const reasons = sumOf(report.seconds.flatMap(({ refused, uncanceled }) => [refused, uncanceled]))
    const unanswered = report.seconds.reduce((sum, second) => sum + lostOf(second), 0)
    return { ...report, capacity, minutes: byMinute, idle, loaded, reasons, stored, unanswered }
  } finally {
    clearInterval(sampling)
    await Promise.all([load.stop(), reader.stop()])
    await gateway.kill()
    folder.remove()
  }
}

/** What must hold after any load: nothing acknowledged is lost, and no private stream has a gap. */
export const losses = ({
  acknowledged,
  closed,
  deaf,
  holes,
  reasons,
  stored,
  unanswered,
  unseen
}: Outcome): ReadonlyArray<string> => [
  // an acknowledged order may be rejected later, and then costs less than one that rests
  ...((reasons["OrderAlreadyClosed"] ?? 0) > unanswered
    ? [`${reasons["OrderAlreadyClosed"]} orders had ended before their callers canceled them`]
    : []),
  ...(stored < acknowledged || stored > acknowledged + unanswered
    ? [`${acknowledged} orders were acknowledged, ${unanswered} requests had no answer, ${stored} orders are stored`]
    : []),
  ...(unseen > 0 ? [`${unseen} acknowledged orders were not shown`] : []),
  ...(holes > 0 ? [`${holes} gaps in private streams`] : []),
  ...(deaf > 0 ? [`${deaf} private sockets received nothing`] : []),
  ...(closed > 0 ? [`${closed} private sockets were closed`] : [])
]

/** Every violation, as text. */
export const violations = (outcome: Outcome): ReadonlyArray<string> => {
  const { idle, loaded, minutes } = outcome
  const last = minutes.at(-1)!
  const share = last.goodput / Math.max(...minutes.map(({ goodput }) => goodput))
  const growth = last.rss_mib - minutes[Math.floor(minutes.length / 4)]!.rss_mib
  const cancel = Math.max(...minutes.map(({ cancel_p99_ms }) => cancel_p99_ms))
  return [
    ...losses(outcome),
    ...(share < SHARE_MIN ? [`the last minute has ${share.toFixed(2)} of the best one's goodput`] : []),
    ...(growth > GROWTH_MIB ? [`the memory grew by ${growth.toFixed(0)} MiB`] : []),
    ...(cancel > CANCEL_P99_MS ? [`cancels have a p99 of ${cancel.toFixed(0)} ms`] : []),
    ...loaded.flatMap(({ failed, p99_ms, path }, i) => [
      ...(p99_ms > READS_MAX * idle[i]!.p99_ms
        ? [`reads of ${path} have a p99 of ${p99_ms.toFixed(1)} ms, ${idle[i]!.p99_ms.toFixed(1)} when idle`]
        : []),
      ...(failed > 0 ? [`${failed} reads of ${path} failed`] : [])
    ])
  ]
}
