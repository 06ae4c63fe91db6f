/**
 * Replays a recorded session: `npm run replay -- FILE [--steps N] [--pauses 100] [--subscribers 4] [--in-flight 1] [--crashes 0] [--seed 1]`.
 * A file that ends with `.ndjson.gz` is a depth feed of another exchange; of the options only `--subscribers` applies to it.
 */
import { existsSync } from "node:fs"
import { numbers } from "../harness/Arguments.ts"
import * as Levels from "./Levels.ts"
import type { Report } from "./Replay.ts"
import { type Outcome, run } from "./Run.ts"

const list = (map: ReadonlyMap<string, number>): string =>
  map.size === 0 ? "none" : [...map].map(([reason, n]) => `${reason} ${n}`).join(", ")

const summary = (
  in_flight: number,
  cpu_s: number,
  { crashes, entries, history, report, stateHash }: Outcome
): string => {
  const refused = [...report.refused.values()].reduce((a, b) => a + b, 0)
  return `
  requests           ${report.requests}: accepted ${report.accepted}, refused ${refused} (${list(report.refused)})
  rows without one   ${report.skipped}, corrections ${report.corrected}
  ended in sequence  ${list(report.ended)}
  fills              ${report.fills}
  same order hit     ${report.sameHits} of ${report.recordedHits} (${((100 * report.sameHits) / report.recordedHits).toFixed(1)} %)
  book checks        ${report.bookChecks} equal to REST, ${report.bookFaults} checksum or gap faults, ${report.crossed} crossed
  history            ${report.acknowledged.size} acknowledged orders, ${history.missing.length} missing, ${history.doubled.length} doubled
  crashes            ${crashes}, each followed by a walk of the whole history; requests sent again ${report.repeated}
  journal            ${entries} entries replay to state ${stateHash}
  speed              ${(report.requests / report.seconds).toFixed(0)} requests a second, ${in_flight} in flight, ${report.seconds.toFixed(0)} s; CPU of the client ${(cpu_s / report.seconds).toFixed(2)} cores
`
}

const { positionals, values } = numbers({
  steps: Number.MAX_SAFE_INTEGER,
  pauses: 100,
  subscribers: 4,
  "in-flight": 1,
  crashes: 0,
  seed: 1
})
const file = positionals[0]
if (file === undefined || !existsSync(file)) {
  console.error(
    "usage: npm run replay -- FILE [--steps N] [--pauses N] [--subscribers N] [--in-flight N] [--crashes N] [--seed N]"
  )
  process.exit(2)
}
const { subscribers } = values
if (file.endsWith(".ndjson.gz")) {
  const played = await Levels.play({ messages: Levels.readFeed(file), subscribers, every: 1 })
  console.log(
    `${played.messages} messages of a depth feed, ${played.requests} requests: ${played.bookChecks} books equal to REST and to the feed, ${played.bookFaults} checksum or gap faults, ${played.crossed} crossed`
  )
  process.exit(played.bookFaults + played.crossed === 0 ? 0 : 1)
}
const bar = (done: number, total: number, report: Report) => {
  const width = 30
  const filled = Math.floor((done / total) * width)
  const line = `[${"#".repeat(filled)}${"-".repeat(width - filled)}] ${done}/${total}  ${(done / report.seconds).toFixed(0)}/s  fills ${report.fills}  checks ${report.bookChecks}`
  if (process.stderr.isTTY) process.stderr.write(`\r${line}`)
  else if (done % 5_000 === 0) process.stderr.write(`${line}\n`)
}
const { "in-flight": in_flight, ...options } = values
const outcome = await run({ file, ...options, in_flight, onProgress: bar })
const { system, user } = process.cpuUsage()
console.log(summary(in_flight, (user + system) / 1_000_000, outcome))
const sound =
  outcome.history.missing.length === 0 &&
  outcome.history.doubled.length === 0 &&
  outcome.report.bookFaults === 0 &&
  outcome.report.crossed === 0
process.exit(sound ? 0 : 1)
