/**
 * The whole exchange, as `npm start` runs it: 8 users with one private socket each, callers that send the next command as soon
 * as the last one is answered. Half of them send limit orders that cross at one price, the others rest an order far from it and
 * cancel it.
 *
 * Peer: an exchange that an engineer writes in a day (servers/naive.ts). Both stay warm and take windows in turns. Figure: CPU
 * time of all threads of the server, ended ones too, for each acknowledged command. Left out: TLS, a real network, the cost of
 * the load itself, which shares the machine with the server.
 */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { startGateway } from "../verification/harness/GatewayProcess.ts"
import { startLoad } from "../verification/harness/LoadProcess.ts"
import { temporaryFolder } from "../verification/harness/Programs.ts"
import { type Counts, listed, sumOf } from "../verification/harness/Statistics.ts"
import { fundedUsers, LOAD_ENV } from "../verification/overload/Overload.ts"
import type { Calls, Kind, User } from "../verification/overload/Plan.ts"
import type { Second } from "../verification/overload/Seconds.ts"
import { start } from "./Harness.ts"

export interface Options {
  readonly callers: number
  readonly kind: Kind
  /** Rounds of which each measures both, warm; a cold round comes before them. */
  readonly rounds: number
  /** Length of a window. */
  readonly seconds: number
}
/** What one window showed. */
export interface Window {
  readonly cpu_us: number
  readonly commands_per_s: number
  readonly p50_ms: number
  readonly p99_ms: number
  /** Commands that were refused or lost, by reason. */
  readonly errors: Readonly<Counts>
  /** Messages on private sockets for each acknowledged command. */
  readonly frames: number
}
/** An exchange: its first window after the start, and the medians of the others. */
export interface Subjected {
  readonly cold: Window
  readonly warm: Window
}
export interface Comparison {
  readonly naive: Subjected
  readonly gateway: Subjected
  /** CPU of the gateway by that of the naive exchange, warm, round by round. */
  readonly ratios: ReadonlyArray<number>
}

/** Ticks of a second, as Linux counts CPU time. */
const TICKS_PER_S = 100
const USERS = 8

/** CPU time of a process, ended threads included, in us. Source: proc_pid_stat(5), utime and stime. */
const cpuOf = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return ((Number(fields[11]) + Number(fields[12])) * 1_000_000) / TICKS_PER_S
}

const middle = (values: ReadonlyArray<number>): number => [...values].sort((a, b) => a - b)[values.length >> 1]!
/** The median of each figure. */
const medians = (windows: ReadonlyArray<Window>): Window => {
  const of = (figure: (window: Window) => number) => middle(windows.map(figure))
  return {
    cpu_us: of(({ cpu_us }) => cpu_us),
    commands_per_s: of(({ commands_per_s }) => commands_per_s),
    p50_ms: of(({ p50_ms }) => p50_ms),
    p99_ms: of(({ p99_ms }) => p99_ms),
    errors: sumOf(windows.map(({ errors }) => errors)),
    frames: of(({ frames }) => frames)
  }
}

interface Subject {
  readonly pid: number
  readonly port: number
  readonly users: ReadonlyArray<User>
}

const windowOf = (seconds: ReadonlyArray<Second>, cpu_us: number): Window => {
  const sum = (of: (second: Second) => number) => seconds.reduce((total, second) => total + of(second), 0)
  const commands = Math.max(
    1,
    sum(({ accepted, canceled }) => accepted + canceled)
  )
  return {
    cpu_us: cpu_us / commands,
    commands_per_s: (commands * 1_000) / sum(({ ms }) => ms),
    p50_ms: middle(seconds.map(({ p50_ms }) => p50_ms)),
    p99_ms: Math.max(...seconds.map(({ p99_ms }) => p99_ms)),
    errors: sumOf(seconds.flatMap(({ refused, uncanceled }) => [refused, uncanceled])),
    frames: sum(({ frames }) => frames) / commands
  }
}

/** Runs both exchanges and measures them in turns. */
export const run = async ({ callers, kind, rounds, seconds }: Options): Promise<Comparison> => {
  const folder = temporaryFolder("bench-exchange")
  const gateway = await startGateway({ dataDir: folder.path, env: LOAD_ENV })
  const naive = await start("naive", "naive.ts", 0)
  const load = startLoad<Calls>(join(import.meta.dirname, "../verification/overload/Load.ts"))
  // the benchmarks' entry keeps itself and its children on one core; here all programs share all of them
  for (const pid of [gateway.pid, naive.pid, process.pid, load.pid])
    execFileSync("taskset", ["-apc", "0,1", String(pid)])
  try {
    const subjects = {
      naive: { pid: naive.pid, port: naive.port, users: naive.ready["users"] as ReadonlyArray<User> },
      gateway: { pid: gateway.pid, port: gateway.port, users: await fundedUsers(gateway.url, USERS) }
    } satisfies Record<string, Subject>
    const measure = async ({ pid, port, users }: Subject): Promise<Window> => {
      const before = cpuOf(pid)
      const report = await load.call("run", { pid, port, users, callers, seconds, kind })
      if (report.deaf > 0) throw new Error(`${report.deaf} private sockets received nothing`)
      return windowOf(report.seconds, cpuOf(pid) - before)
    }
    const seen: { readonly naive: Array<Window>; readonly gateway: Array<Window> } = { naive: [], gateway: [] }
    for (let round = 0; round <= rounds; round++) {
      for (const name of round % 2 === 0 ? (["naive", "gateway"] as const) : (["gateway", "naive"] as const)) {
        seen[name].push(await measure(subjects[name]))
      }
    }
    const subjected = ([cold, ...warm]: ReadonlyArray<Window>): Subjected => ({ cold: cold!, warm: medians(warm) })
    return {
      naive: subjected(seen.naive),
      gateway: subjected(seen.gateway),
      ratios: seen.gateway.map(({ cpu_us }, i) => cpu_us / seen.naive[i]!.cpu_us).slice(1)
    }
  } finally {
    await load.stop()
    await Promise.all([gateway.kill(), naive.stop()])
    folder.remove()
  }
}

const lineOf = (name: string, { commands_per_s, cpu_us, errors, frames, p50_ms, p99_ms }: Window): string =>
  `  ${name.padEnd(8)} ${cpu_us.toFixed(0).padStart(5)} us  ${commands_per_s.toFixed(0).padStart(6)}/s  ` +
  `p50 ${p50_ms.toFixed(0)} p99 ${p99_ms.toFixed(0)} ms  errors: ${listed(errors)}  ${frames.toFixed(2)} frames a command`

export const main = async (): Promise<void> => {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: {
      callers: { type: "string", default: "64,256,1024" },
      kinds: { type: "string", default: "mix,rest,fill" },
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "4" }
    }
  })
  for (const callers of values.callers.split(",").map(Number))
    for (const kind of values.kinds.split(",") as Array<Kind>) {
      const { gateway, naive, ratios } = await run({
        callers,
        kind,
        rounds: Number(values.rounds),
        seconds: Number(values.seconds)
      })
      const range = `${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)}`
      console.log(`${callers} connections, ${kind}: ratio ${middle(ratios).toFixed(2)} [${range}]`)
      for (const [name, { cold, warm }] of Object.entries({ naive, gateway })) {
        console.log(lineOf(name, warm))
        console.log(lineOf("  cold", cold))
      }
    }
}
