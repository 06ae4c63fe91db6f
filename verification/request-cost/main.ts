/**
 * Prints the cost of the most expensive request of each kind: `node verification/request-cost/main.ts [--rounds 15]`. Ends with
 * 1 where a turn of the event loop is longer than {@link TURN_MS}.
 */
import { numbers } from "../harness/Arguments.ts"
import { measure, TURN_MS } from "./RequestCost.ts"

const { values } = numbers({ rounds: 15 })
const rows = await measure(undefined, values.rounds)
console.log("| Request | Processor time, ms | Longest turn, ms | Longest collection, ms |\n|---|---|---|---|")
for (const { collection_ms, cpu_ms, kind, longest_ms } of rows.toSorted((a, b) => b.longest_ms - a.longest_ms)) {
  console.log(`| ${kind} | ${cpu_ms.toFixed(2)} | ${longest_ms.toFixed(2)} | ${collection_ms.toFixed(2)} |`)
}
process.exitCode = rows.some(({ longest_ms }) => longest_ms > TURN_MS) ? 1 : 0
