/**
 * `node verification/fleet/main.ts rolling|kill|raced|cut…`: a whole fleet behind HAProxy, and what it makes of restarts, of kill -9, and of
 * requests that are sent twice. Prints what was seen, and ends with 1 where anything is not as it must be.
 *
 *   rolling, kill   [--sockets 3000] [--books 300] [--users 30] [--pace 500, requests a second] [--rounds 3, of kill 1] [--calm 10, seconds]
 *   raced           [--races 10000]
 *   cut             [--calls 100000]
 *   all of them     [--seed 1] [--drain 5000, as DRAIN_MS]
 *
 * Needs the programs of PostgreSQL, Redis, NATS and HAProxy.
 */
import { parseArgs } from "node:util"
import { cut, cutViolations, raced, racedViolations } from "./Counted.ts"
import * as Fleet from "./Fleet.ts"
import { type Outcome, underLoad, violations } from "./UnderLoad.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    sockets: { type: "string", default: "3000" },
    books: { type: "string", default: "300" },
    users: { type: "string", default: "30" },
    pace: { type: "string", default: "500" },
    rounds: { type: "string" },
    calm: { type: "string", default: "10" },
    races: { type: "string", default: "10000" },
    calls: { type: "string", default: "100000" },
    callers: { type: "string", default: "16" },
    seed: { type: "string", default: "1" },
    drain: { type: "string", default: "5000" }
  }
})
const say = (line: string) => console.error(line)
const [seed, callers] = [Number(values.seed), Number(values.callers)]

type Rows = ReadonlyArray<readonly [what: string, seen: string]>
interface Seen {
  readonly rows: Rows
  readonly wrong: ReadonlyArray<string>
}

const ms = (value: number) => `${Math.round(value)} ms`
const listed = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts)
    .map(([what, count]) => `${count} × ${what}`)
    .join("; ") || "none"

const ofLoad = (outcome: Outcome): Seen => {
  const { failed, inHand, requests, sessions } = outcome
  const { away } = sessions
  return {
    wrong: violations(outcome),
    rows: [
      [
        "requests",
        `${requests.sent}, ${requests.orders} of them orders, ${(requests.sent / requests.seconds).toFixed(0)}/s`
      ],
      ["latency", `p50 ${ms(requests.p50_ms)}, p99 ${ms(requests.p99_ms)}, most ${ms(requests.max_ms)}`],
      ["failed", listed(failed)],
      ["failed, in hand of who was killed", String(inHand)],
      [
        "sockets",
        `${sessions.live} of ${sessions.all} live; ${sessions.lost} lines lost, ${sessions.messages} messages`
      ],
      ["private sessions", `${sessions.recovered} recovered, ${sessions.unrecovered} told that they were not`],
      ["events", `${sessions.gaps} missing, ${sessions.repetitions} twice, ${sessions.differences} told differently`],
      ["as REST has it", `${sessions.compared} private sessions and books`],
      ["without a line", `p50 ${ms(away.p50_ms)}, p99 ${ms(away.p99_ms)}, most ${ms(away.max_ms)}`]
    ]
  }
}
const load = (times: { readonly restarts: number; readonly kills: number }) => ({
  sockets: Number(values.sockets),
  books: Number(values.books),
  users: Number(values.users),
  pace: Number(values.pace),
  ...times,
  calm_ms: Number(values.calm) * 1_000,
  seed,
  say
})

const runs: Readonly<Record<string, (fleet: Fleet.Fleet) => Promise<Seen>>> = {
  rolling: async (fleet) => ofLoad(await underLoad(fleet, load({ restarts: Number(values.rounds ?? 3), kills: 0 }))),
  kill: async (fleet) => ofLoad(await underLoad(fleet, load({ restarts: 0, kills: Number(values.rounds ?? 1) }))),
  raced: async (fleet) => {
    const races = Number(values.races)
    const report = await raced(fleet, { races, users: 8, callers })
    return {
      wrong: racedViolations(report, races),
      rows: [
        ["requests sent to two gateways at once", `${races}, ${(races / report.seconds).toFixed(0)}/s`],
        ["taken by exactly one", String(report.successes)],
        ["taken by both", String(report.doubled)],
        ["taken by none and signed anew", String(report.again)],
        ["orders in the histories", String(report.orders)],
        ["answers", listed(report.answers)]
      ]
    }
  },
  cut: async (fleet) => {
    const calls = Number(values.calls)
    const report = await cut(fleet, { calls, users: 20, callers, seed })
    return {
      wrong: cutViolations(report, calls),
      rows: [
        ["orders cut off and repeated elsewhere", `${calls}, ${(calls / report.seconds).toFixed(0)}/s`],
        ["cut", listed(report.cuts)],
        ["made by the repetition", String(report.created)],
        ["found made", String(report.existed)],
        ["repeated once more after", listed(report.again)],
        ["orders in the histories", String(report.orders)],
        ["orders by the backend's own count", String(report.given)]
      ]
    }
  }
}

const unknown = positionals.filter((name) => !(name in runs))
if (positionals.length === 0 || unknown.length > 0) {
  say(`usage: node verification/fleet/main.ts ${Object.keys(runs).join("|")}…`)
  process.exit(2)
}
if (!Fleet.isThere) {
  say("PostgreSQL, Redis, NATS and HAProxy must be installed")
  process.exit(2)
}
const fleet = await Fleet.start({ drain_ms: Number(values.drain), say })
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void fleet.close().then(() => process.exit(1)))
let isSound = true
try {
  for (const name of positionals) {
    const { rows, wrong } = await runs[name]!(fleet)
    const width = Math.max(...rows.map(([what]) => what.length))
    console.log(`\n${name}`)
    for (const [what, seen] of rows) console.log(`  ${what.padEnd(width)}  ${seen}`)
    for (const what of wrong) console.log(`  WRONG: ${what}`)
    isSound &&= wrong.length === 0
  }
} finally {
  await fleet.close()
}
process.exit(isSound ? 0 : 1)
