/**
 * `node verification/overload/main.ts [--callers 256] [--seconds 60] [--gateway FOLDER]`: what an exchange makes of callers that do not
 * pause and try again at once, with every limit off. Prints each second as the callers saw it, then how long the exchange takes
 * to be well after the load's end. Ends with 1 where the accepted orders of a second fall below 0.7 of the best one's, or the
 * recovery takes more than two seconds. The first seconds, in which the programs get warm, are not judged.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { cpus, loadavg, tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { Effect } from "effect"
import { cpuOf } from "../harness/Cpu.ts"
import { Client, Wallet } from "../../src/client/index.ts"
import * as Child from "../harness/LoadProcess.ts"
import { startGateway } from "../harness/GatewayProcess.ts"
import { type Calls, PRICE, type Report, type User } from "./Plan.ts"
import type { Second } from "./Seconds.ts"

export interface Options {
  readonly callers: number
  readonly seconds: number
  readonly users: number
  /** Settings of the gateway beside those that switch its limits off. */
  readonly env?: Readonly<Record<string, string>>
  /** The folder of the program; default: this project. */
  readonly gateway?: string
}
export interface Outcome extends Report {
  /** Processor time of the gateway and its backend, all threads, in us a carried-out command. */
  readonly cpu_us: number
}

/** Seconds at the beginning that are not judged: connections open and code gets compiled. */
const WARM_S = 5
/** Share of the best second that every second must reach. */
const SHARE_MIN = 0.7
/** Longest time until all is well after the load's end, in ms. */
const RECOVERY_MS = 2_000
/** Time that a start may take on a busy machine, in ms. */
const START_MS = 180_000
const ADMIN = { username: "admin", password: "correct-horse-battery" }
const FUNDS = "100000"

const limitsOff = {
  RATE_LIMIT_MODE: "off",
  CONNECTIONS_PER_IP: "0",
  WS_CONNECTIONS_PER_IP: "0",
  WS_CONNECTIONS_PER_USER: "0",
  ARRIVALS_PER_IP: "0",
  SIM_MAKER: "off",
  INDEX_SOURCE: "manual",
  LOG_LEVEL: "error",
  ADMIN_USERNAME: ADMIN.username,
  ADMIN_PASSWORD: ADMIN.password
}

/** A user with money. */
const funded = Effect.fnUntraced(function* (baseUrl: string) {
  const client = yield* Client.make({ baseUrl })
  const { token } = yield* client.login(Wallet.generate().wallet)
  const vault = (yield* client.user.subAccounts()).list[0]!.sub_account_address
  yield* client.account.faucet({ payload: { sub_account_address: vault, asset: "USDC", amount: FUNDS } })
  return { token, vault } satisfies User
})

/** Starts an exchange, loads it, and reports what its callers saw. */
export const run = async (options: Options): Promise<Outcome> => {
  const dataDir = mkdtempSync(join(tmpdir(), "overload-"))
  const env = { ...limitsOff, ...options.env }
  const home = options.gateway === undefined ? {} : { home: options.gateway }
  const gateway = await startGateway({ dataDir, env, ready_ms: START_MS, ...home })
  const load = Child.start<Calls>(join(import.meta.dirname, "Load.ts"))
  try {
    const users = await Effect.runPromise(
      Effect.gen(function* () {
        const admin = yield* Client.make({ baseUrl: gateway.url, admin: ADMIN })
        yield* admin.admin.indexPrice({ payload: { symbol: "BTC-USDC", price: PRICE } })
        return yield* Effect.all(Array.from({ length: options.users }, () => funded(gateway.url)))
      })
    )
    const before = cpuOf(gateway.pid)
    const { callers, seconds } = options
    const report = await load.call("run", { port: gateway.port, users, callers, seconds })
    const commands = report.seconds.reduce((sum, { accepted, canceled }) => sum + accepted + canceled, 0)
    return { ...report, cpu_us: (cpuOf(gateway.pid) - before) / Math.max(1, commands) }
  } finally {
    await load.stop()
    await gateway.kill()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** The share of the best second that the worst one reached, of what `of` says. */
const shareOf = ({ seconds }: Outcome, of: (second: Second) => number): number => {
  const judged = seconds.slice(Math.min(WARM_S, seconds.length - 1)).map(of)
  return Math.min(...judged) / Math.max(1, ...judged)
}
/** The share of the best second's rate of accepted orders that the worst second reached. */
export const worstShare = (outcome: Outcome): number => shareOf(outcome, ({ accepted, ms }) => (accepted / ms) * 1_000)
/** The same of the machine's own speed, which no service can even out. */
export const paceShare = (outcome: Outcome): number => shareOf(outcome, ({ pace }) => pace)
/** The same of accepted orders for the speed that the machine had. */
export const pacedShare = (outcome: Outcome): number =>
  shareOf(outcome, ({ accepted, ms, pace }) => (accepted / ms / pace) * 1_000_000)

/** What must not be, in words. */
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

const counted = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([reason, count]) => `${count} ${reason}`)
    .join(", ")
const line = (second: Second, i: number): string =>
  [
    String(i + 1).padStart(3),
    `accepted ${String(second.accepted).padStart(5)}`,
    `p50 ${second.p50_ms.toFixed(0)} p99 ${second.p99_ms.toFixed(0)} ms`,
    `canceled ${String(second.canceled).padStart(5)} p99 ${second.cancel_p99_ms.toFixed(0)} ms`,
    `frames ${String(second.frames).padStart(5)}`,
    `steal ${(second.steal * 100).toFixed(0)} % load ${second.load.toFixed(1)} pace ${second.pace.toFixed(0)} in ${second.ms.toFixed(0)} ms`,
    `refused ${counted(second.refused) || "0"} p99 ${second.refusal_p99_ms.toFixed(0)} ms`,
    ...(Object.keys(second.uncanceled).length > 0 ? [`cancels refused ${counted(second.uncanceled)}`] : [])
  ].join("  ")

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      callers: { type: "string", default: "256" },
      seconds: { type: "string", default: "60" },
      users: { type: "string", default: "8" },
      gateway: { type: "string" }
    }
  })
  const { callers, gateway, seconds, users } = values
  const options = { callers: Number(callers), seconds: Number(seconds), users: Number(users) }
  console.log(`${callers} callers, ${seconds} s, ${cpus().length} cores, load ${loadavg()[0]!.toFixed(1)}`)
  const outcome = await run(gateway === undefined ? options : { ...options, gateway })
  outcome.seconds.forEach((second, i) => console.log(line(second, i)))
  const { accepted_ms, ready_ms, shown_ms } = outcome.recovery
  const ms = (time: number | undefined) => (time === undefined ? "never" : `${time.toFixed(0)} ms`)
  console.log(`after the load: ready ${ms(ready_ms)}, accepted ${ms(accepted_ms)}, shown ${ms(shown_ms)}`)
  const of = (share: number) => share.toFixed(2)
  console.log(`the machine alone: worst second ${of(paceShare(outcome))} of the best`)
  console.log(`for the machine's speed: worst second ${of(pacedShare(outcome))} of the best`)
  console.log(`worst second ${worstShare(outcome).toFixed(2)} of the best; ${outcome.cpu_us.toFixed(0)} us a command`)
  const found = violations(outcome)
  for (const violation of found) console.log(`VIOLATION ${violation}`)
  process.exitCode = found.length === 0 ? 0 : 1
}
if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
