/**
 * Harms what a gateway depends on, and prints what its callers are answered: `node verification/faults/main.ts [part of "Redis hung" …]
 * [--ms 8000] [--every 100] [--back 30000] [--json]`. Each cell is the answer that most calls of its kind got in the second half of the fault, then
 * how long the slowest of the first half took, and the median of the second. Needs redis-server, nats-server and PostgreSQL. Ends with 1 where an
 * acknowledged order is not on record, a signature was taken twice, or a call was not answered at all.
 */
import { Effect } from "effect"
import { parseArgs } from "node:util"
import { run, tableHead } from "./Faults.ts"
import { plan } from "./Plan.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    ms: { type: "string", default: "8000" },
    every: { type: "string", default: "100" },
    back: { type: "string", default: "30000" },
    json: { type: "boolean", default: false }
  }
})
const harms = plan.filter(
  ({ dependency, fault }) =>
    positionals.length === 0 || positionals.some((part) => `${dependency} ${fault}`.includes(part))
)
const stop = new AbortController()
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort())

if (!values.json) console.log(tableHead)
const rows = await Effect.runPromise(
  run({
    harms,
    fault_ms: Number(values.ms),
    every_ms: Number(values.every),
    back_ms: Number(values.back),
    say: (line) => (values.json ? console.error(line) : console.log(line))
  }),
  { signal: stop.signal }
)
if (values.json) console.log(JSON.stringify(rows, undefined, 2))
// what was emptied has lost what it held
const wrong = rows.filter(({ fault, hung, lost, repeated }) => hung + repeated > 0 || (fault !== "emptied" && lost > 0))
for (const { dependency, fault, hung, lost, repeated } of wrong)
  console.log(`${dependency} ${fault}: ${lost} lost, ${repeated} signatures taken twice, ${hung} not answered`)
process.exit(wrong.length === 0 ? 0 : 1)
