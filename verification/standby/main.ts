/**
 * Backends that share a journal, under orders and private sockets, and faults one after another:
 * `node verification/standby/main.ts [--faults 20] [--users 4] [--callers 2, of each user] [--sockets 20] [--seed 1] [--calm 500, ms]`.
 * Prints figures and ends with 1 at any violation. A switch in order may fail no request; every other fault may leave the fate of
 * requests open, and may lose nothing that was acknowledged.
 *
 * Needs the programs of PostgreSQL.
 */
import { join } from "node:path"
import { Effect } from "effect"
import { check } from "../crashes/OrderChecker.ts"
import { Load } from "../crashes/Load.ts"
import type * as Sessions from "../fleet/Sessions.ts"
import { numbers } from "../harness/Arguments.ts"
import { verifyJournal } from "../harness/BackendProcess.ts"
import { startLoad } from "../harness/LoadProcess.ts"
import { isPostgresInstalled } from "../harness/PostgresServer.ts"
import { random } from "../harness/Random.ts"
import { count, type Counts, listed, percentile } from "../harness/Statistics.ts"
import { enlistAll } from "../harness/Trader.ts"
import { sleep, until } from "../harness/Wait.ts"
import { faultOf } from "./Faults.ts"
import { Pair } from "./Pair.ts"

const { values } = numbers({ faults: 20, users: 4, callers: 2, sockets: 20, seed: 1, calm: 500 })
if (!isPostgresInstalled) {
  console.error("PostgreSQL must be installed")
  process.exit(2)
}
const say = (line: string) => console.error(line)
const next = random(values.seed)
/** Log lines by what they say. */
const lines: Counts = {}
const observe = (line: string) => {
  const fenced = /another backend leads now|nothing could be committed/u.exec(line)
  if (fenced !== null && line.includes(": backend: ")) count(lines, fenced[0])
  if (/ ended with |: backend: |"level":"ERROR"/u.test(line)) say(line.slice(0, 300))
}

const pair = await Pair.start(observe)
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void pair.close().then(() => process.exit(1)))
const violations: Array<string> = []
const injected: Counts = {}
/** Times from a fault until the other backend leads, and until an order is acknowledged again, in ms. */
const takeovers: Array<number> = []
const outages: Array<number> = []
try {
  const { url } = pair.gateway
  await pair.settled()
  const traders = await Effect.runPromise(enlistAll(url, values.users))
  const sessions = startLoad<Sessions.Calls>(join(import.meta.dirname, "../fleet/Sessions.ts"))
  await sessions.call("start", {
    url,
    tokens: traders.map(({ token }) => token),
    books: 2,
    tickers: 0,
    privates: values.sockets
  })
  const since_ms = Date.now()
  const load = new Load(url, random(values.seed + 1))
  const round = load.begin(traders, values.callers)
  const began = performance.now()
  for (let i = 1; i <= values.faults; i++) {
    const leader = await pair.settled()
    const standby = pair.members.find((member) => member !== leader)!
    await sleep(next() * values.calm)
    const fault = faultOf(i - 1, next)
    let begun_ms = 0
    const over = fault.inject(pair, leader, standby, next, () => (begun_ms = performance.now()))
    if (fault.takesOver) {
      const sent = load.sent.length
      // the other one alone: a suspended leader answers nothing
      await until("the other backend leads", () => pair.leads(standby))
      const leads_ms = performance.now() - begun_ms
      // from the fault to the first order that is acknowledged again
      const answered = () =>
        load.sent.slice(sent).some(({ answers: [first] }) => first !== undefined && first.as === "acknowledged")
      await until("an order is acknowledged", answered)
      takeovers.push(leads_ms)
      outages.push(performance.now() - begun_ms)
    }
    await over
    count(injected, fault.name)
    say(
      `${i} ${fault.name}${fault.takesOver ? `: ${Math.round(takeovers.at(-1)!)} ms, orders again after ${Math.round(outages.at(-1)!)} ms` : ""}, ${load.sent.length} orders`
    )
  }
  await pair.settled()
  const settle = await round.end()
  await settle()
  const seconds = (performance.now() - began) / 1_000
  for (const trader of traders) await load.clear(trader)
  const leader = await pair.settled()
  const held = await Promise.all(traders.map((trader) => load.held(trader, since_ms)))
  const verdict = check(
    load.sent,
    held.flatMap(([orders]) => orders),
    held.flatMap(([, fills]) => fills)
  )
  violations.push(...verdict.faults)
  const report = await sessions.call("compare", null)
  await sessions.stop()
  for (const [what, found] of Object.entries({
    "events missing": report.gaps,
    "events repeated": report.repetitions,
    "events that differ": report.differences
  }))
    if (found > 0) violations.push(`${found} ${what}`)
  violations.push(...report.faults)
  // both copies and a replay of each give one state
  await Promise.all(
    pair.members.map(async (member) => {
      const { process } = member
      member.process = undefined
      await process!.stop()
    })
  )
  const hashes = pair.members.map(({ dataDir }) => verifyJournal(dataDir))
  const [one, two] = hashes
  if (one!.state_hash !== two!.state_hash || one!.head_seq !== two!.head_seq)
    violations.push(`the copies differ: ${JSON.stringify(hashes)}`)
  const times = (of: ReadonlyArray<number>) =>
    [0.5, 0.99, 1].map((share, i) => `${["p50", "p99", "most"][i]} ${Math.round(percentile(of, share))} ms`).join(", ")
  const rows = {
    faults: listed(injected),
    orders: `${load.sent.length} in ${seconds.toFixed(0)} s, ${verdict.acknowledged} acknowledged, ${verdict.unknown} of unknown fate`,
    "lost, doubled": `${verdict.lost}, ${verdict.doubled}`,
    takeover: times(takeovers),
    "orders again": times(outages),
    "leaders that ended": listed(lines),
    "private sessions": `${report.recovered} resumed, ${report.unrecovered} with an announced gap; ${report.gaps} missing, ${report.repetitions} repeated`,
    "last leader": leader.name,
    state: `${one!.entries} entries, head ${one!.head_seq}, ${one!.state_hash.slice(0, 16)} on both`
  }
  for (const [title, figure] of Object.entries(rows)) console.log(`${title.padEnd(20)} ${figure}`)
} finally {
  await pair.close()
}
for (const violation of violations.slice(0, 20)) console.log(`VIOLATION: ${violation}`)
process.exit(violations.length === 0 ? 0 : 1)
