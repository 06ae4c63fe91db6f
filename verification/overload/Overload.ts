/**
 * An exchange without limits under callers that do not pause and repeat refused requests at once: what they see each second,
 * and how fast the exchange recovers after the load.
 */
import { join } from "node:path"
import { Effect } from "effect"
import { Client } from "../../src/client/index.ts"
import { cpuOf } from "../harness/Cpu.ts"
import { startGateway } from "../harness/GatewayProcess.ts"
import { startLoad } from "../harness/LoadProcess.ts"
import { temporaryFolder } from "../harness/Programs.ts"
import { ADMIN, ADMIN_ENV, QUIET_MARKET, UNLIMITED } from "../harness/Settings.ts"
import { enlistAll } from "../harness/Trader.ts"
import { type Calls, PRICE, type Report, type User } from "./Plan.ts"
import { recording, recordOf, type ThreadSecond } from "./Record.ts"
import type { Second } from "./Seconds.ts"

export interface Options {
  readonly callers: number
  readonly seconds: number
  readonly users: number
  /** More settings of the gateway. */
  readonly env?: Readonly<Record<string, string>>
  /** The folder that holds the program; default: this project. */
  readonly gateway?: string
  /** Records each thread of the gateway, second by second. */
  readonly record?: boolean
}
export interface Outcome extends Report {
  /** Processor time of the gateway and its backend, all threads, in µs for each executed command. */
  readonly cpu_us: number
  /** Seconds of the gateway's threads, if recorded. */
  readonly threads: ReadonlyArray<ThreadSecond>
}

/** Seconds at the beginning that do not count: connections open and code is compiled. */
const WARM_S = 5
/** Share of the best second's accepted orders that every second must reach. */
const SHARE_MIN = 0.7
/** Longest recovery after the load's end, in ms. */
const RECOVERY_MS = 2_000

/** The settings of an exchange under load: no limits, and an index price that only the administrator moves. */
export const LOAD_ENV = { ...UNLIMITED, ...QUIET_MARKET, ...ADMIN_ENV }

/** Users with money, at an index price of {@link PRICE}. */
export const fundedUsers = (baseUrl: string, count: number): Promise<ReadonlyArray<User>> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const admin = yield* Client.make({ baseUrl, admin: ADMIN })
      yield* admin.admin.indexPrice({ payload: { symbol: "BTC-USDC", price: PRICE } })
      const traders = yield* enlistAll(baseUrl, count)
      return traders.map(({ token, vault }) => ({ token, vault }))
    })
  )

/** Starts an exchange, loads it, and reports. */
export const run = async (options: Options): Promise<Outcome> => {
  const folder = temporaryFolder("overload")
  const recorded = join(folder.path, "threads")
  const env = { ...LOAD_ENV, ...(options.record === true ? recording(recorded) : {}), ...options.env }
  const home = options.gateway === undefined ? {} : { home: options.gateway }
  const gateway = await startGateway({ dataDir: folder.path, env, ...home })
  const load = startLoad<Calls>(join(import.meta.dirname, "Load.ts"))
  try {
    const users = await fundedUsers(gateway.url, options.users)
    const before = cpuOf(gateway.pid)
    const { callers, seconds } = options
    const report = await load.call("run", { pid: gateway.pid, port: gateway.port, users, callers, seconds })
    const commands = report.seconds.reduce((sum, { accepted, canceled }) => sum + accepted + canceled, 0)
    const threads = options.record === true ? recordOf(recorded) : []
    return { ...report, threads, cpu_us: (cpuOf(gateway.pid) - before) / Math.max(1, commands) }
  } finally {
    await load.stop()
    await gateway.kill()
    folder.remove()
  }
}

/** A figure of the worst second, as a share of the best second. */
const shareOf = ({ seconds }: Outcome, of: (second: Second) => number): number => {
  const judged = seconds.slice(Math.min(WARM_S, seconds.length - 1)).map(of)
  return Math.min(...judged) / Math.max(1, ...judged)
}
/** The rate of accepted orders. */
export const worstShare = (outcome: Outcome): number => shareOf(outcome, ({ accepted, ms }) => (accepted / ms) * 1_000)
/** What the machine offered: its speed, times the share of its processors that others left. No service can even it out. */
const offered = ({ others, pace, steal }: Second): number => pace * Math.max(0.01, 1 - others - steal)
export const machineShare = (outcome: Outcome): number => shareOf(outcome, offered)
/** The rate of accepted orders relative to what the machine offered. */
export const pacedShare = (outcome: Outcome): number =>
  shareOf(outcome, (second) => (second.accepted / second.ms / offered(second)) * 1_000_000)

/** Every violation, as text. */
export const violations = (outcome: Outcome): ReadonlyArray<string> => {
  const { closed, deaf, recovery } = outcome
  const share = worstShare(outcome)
  return [
    ...(share < SHARE_MIN ? [`the worst second accepted ${share.toFixed(2)} of the best one's orders`] : []),
    ...Object.entries(recovery).flatMap(([what, ms]: [string, number | undefined]) =>
      ms === undefined || ms > RECOVERY_MS ? [`${what} after the load's end: ${ms?.toFixed(0) ?? "never"}`] : []
    ),
    ...(deaf > 0 ? [`${deaf} private sockets received nothing`] : []),
    ...(closed > 0 ? [`${closed} private sockets were closed`] : [])
  ]
}
