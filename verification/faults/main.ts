/**
 * Injects faults into what a gateway depends on, and prints how its callers are answered:
 * `node verification/faults/main.ts [part of "Redis hung" …] [--ms 8000] [--every 100] [--back 30000] [--json]`.
 *
 * A cell shows the most frequent answer of the fault's second half, the slowest answer of the first half, and the median of
 * the second. Needs redis-server, nats-server and PostgreSQL. Ends with 1 where an acknowledged order is missing, a signature
 * was accepted twice, or a call was not answered.
 */
import { Effect } from "effect"
import { parseArgs } from "node:util"
import { interruption } from "../harness/Arguments.ts"
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
const injections = plan.filter(
  ({ dependency, fault }) =>
    positionals.length === 0 || positionals.some((part) => `${dependency} ${fault}`.includes(part))
)

if (!values.json) console.log(tableHead)
const rows = await Effect.runPromise(
  run({
    injections,
    fault_ms: Number(values.ms),
    every_ms: Number(values.every),
    back_ms: Number(values.back),
    say: (line) => (values.json ? console.error(line) : console.log(line))
  }),
  { signal: interruption() }
)
if (values.json) console.log(JSON.stringify(rows, undefined, 2))
// an emptied server has lost its data
const wrong = rows.filter(({ fault, hung, lost, repeated }) => hung + repeated > 0 || (fault !== "emptied" && lost > 0))
for (const { dependency, fault, hung, lost, repeated } of wrong)
  console.log(`${dependency} ${fault}: ${lost} lost, ${repeated} signatures accepted twice, ${hung} not answered`)
process.exit(wrong.length === 0 ? 0 : 1)
