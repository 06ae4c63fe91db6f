/**
 * A whole fleet behind HAProxy under restarts, kill -9 and requests that are sent twice:
 * `node verification/fleet/main.ts rolling|kill|raced|cut…`. Prints figures and ends with 1 at any violation.
 *
 *   rolling, kill   [--sockets 3000] [--books 300] [--users 30] [--pace 500, requests a second] [--rounds 3, of kill 1] [--calm 10, seconds]
 *   raced           [--races 10000]
 *   cut             [--calls 100000]
 *   all of them     [--callers 16] [--seed 1] [--drain 5000, as DRAIN_MS]
 *
 * Needs the programs of PostgreSQL, Redis, NATS and HAProxy.
 */
import { numbers } from "../harness/Arguments.ts"
import { Fleet, isWholeFleetInstalled } from "../harness/Fleet.ts"
import { UNLIMITED } from "../harness/Settings.ts"
import { listed } from "../harness/Statistics.ts"
import { cut, cutViolations, raced, racedViolations } from "./Repetitions.ts"
import { type Outcome, underLoad, violations } from "./UnderLoad.ts"

const { positionals, values } = numbers({
  sockets: 3_000,
  books: 300,
  users: 30,
  pace: 500,
  rounds: 0,
  calm: 10,
  races: 10_000,
  calls: 100_000,
  callers: 16,
  seed: 1,
  drain: 5_000
})
const say = (line: string) => console.error(line)
const { callers, seed } = values

interface Result {
  readonly rows: ReadonlyArray<readonly [name: string, figure: string]>
  readonly violations: ReadonlyArray<string>
}

const ms = (value: number) => `${Math.round(value)} ms`

const ofLoad = (outcome: Outcome): Result => {
  const { failed, inFlight, requests, sessions } = outcome
  const { away } = sessions
  return {
    violations: violations(outcome),
    rows: [
      [
        "requests",
        `${requests.sent}, of them ${requests.orders} orders, ${(requests.sent / requests.seconds).toFixed(0)}/s`
      ],
      ["latency", `p50 ${ms(requests.p50_ms)}, p99 ${ms(requests.p99_ms)}, most ${ms(requests.max_ms)}`],
      ["failed", listed(failed)],
      ["failed, in flight at a killed gateway", String(inFlight)],
      [
        "sockets",
        `${sessions.live} of ${sessions.all} live; ${sessions.lost} connections lost, ${sessions.messages} messages`
      ],
      ["private sessions", `${sessions.recovered} resumed, ${sessions.unrecovered} with an announced gap`],
      ["events", `${sessions.gaps} missing, ${sessions.repetitions} repeated, ${sessions.differences} different`],
      ["equal to REST", `${sessions.compared} private sessions and books`],
      ["without a connection", `p50 ${ms(away.p50_ms)}, p99 ${ms(away.p99_ms)}, most ${ms(away.max_ms)}`]
    ]
  }
}
const load = (times: { readonly restarts: number; readonly kills: number }) => ({
  sockets: values.sockets,
  books: values.books,
  users: values.users,
  pace: values.pace,
  ...times,
  calm_ms: values.calm * 1_000,
  seed,
  say
})

const runs: Readonly<Record<string, (fleet: Fleet) => Promise<Result>>> = {
  rolling: async (fleet) => ofLoad(await underLoad(fleet, load({ restarts: values.rounds || 3, kills: 0 }))),
  kill: async (fleet) => ofLoad(await underLoad(fleet, load({ restarts: 0, kills: values.rounds || 1 }))),
  raced: async (fleet) => {
    const { races } = values
    const report = await raced(fleet, { races, users: 8, callers })
    return {
      violations: racedViolations(report, races),
      rows: [
        ["requests sent to two gateways at once", `${races}, ${(races / report.seconds).toFixed(0)}/s`],
        ["accepted by exactly one", String(report.successes)],
        ["accepted by both", String(report.doubled)],
        ["accepted by none, signed again", String(report.again)],
        ["orders in the histories", String(report.orders)],
        ["answers", listed(report.answers)]
      ]
    }
  },
  cut: async (fleet) => {
    const { calls } = values
    const report = await cut(fleet, { calls, users: 20, callers, seed })
    return {
      violations: cutViolations(report, calls),
      rows: [
        ["orders cut off and repeated elsewhere", `${calls}, ${(calls / report.seconds).toFixed(0)}/s`],
        ["cut", listed(report.cuts)],
        ["created by the repetition", String(report.created)],
        ["created by the cut call", String(report.existed)],
        ["repeated again after", listed(report.again)],
        ["orders in the histories", String(report.orders)],
        ["orders by the backend's count", String(report.given)]
      ]
    }
  }
}

const unknown = positionals.filter((name) => !(name in runs))
if (positionals.length === 0 || unknown.length > 0) {
  say(`usage: node verification/fleet/main.ts ${Object.keys(runs).join("|")}…`)
  process.exit(2)
}
if (!isWholeFleetInstalled) {
  say("PostgreSQL, Redis, NATS and HAProxy must be installed")
  process.exit(2)
}
const env = { ...UNLIMITED, TRUSTED_PROXIES: "1", DRAIN_MS: String(values.drain), LOG_LEVEL: "warn" }
const fleet = await Fleet.start({ gateways: 3, nats: true, balanced: true, env, say })
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void fleet.close().then(() => process.exit(1)))
let isSound = true
try {
  for (const name of positionals) {
    const result = await runs[name]!(fleet)
    const width = Math.max(...result.rows.map(([title]) => title.length))
    console.log(`\n${name}`)
    for (const [title, figure] of result.rows) console.log(`  ${title.padEnd(width)}  ${figure}`)
    for (const violation of result.violations) console.log(`  VIOLATION: ${violation}`)
    isSound &&= result.violations.length === 0
  }
} finally {
  await fleet.close()
}
process.exit(isSound ? 0 : 1)
