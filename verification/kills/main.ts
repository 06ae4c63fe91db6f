/**
 * Kills a whole exchange at random moments under full load: `node verification/kills/main.ts [--kills 100] [--callers 64] [--seed 1]`.
 * Ends with 1 where an order is missing, a stream has a fault, or a row differs from that of a gateway that nobody killed.
 */
import { numbers } from "../harness/Arguments.ts"
import { run } from "./Kills.ts"

const { values } = numbers({ kills: 100, callers: 64, seed: 1 })
const found = await run({ ...values, say: (line) => console.log(line) })
console.log(
  `${values.kills} kills, ${found.acknowledged} orders acknowledged, ${found.missing.length} not stored; the slowest start ${found.slowest_ms.toFixed(0)} ms`
)
console.log(
  `${found.messages} messages of one user, ${found.resumed} resumed, ${found.unrecovered} gaps announced, ${found.faults.length} faults`
)
console.log(`${found.events} events; a gateway builds the same rows in ${(found.rebuilt_ms / 1_000).toFixed(1)} s:`)
for (const [table, count] of Object.entries(found.rows)) console.log(`  ${table.padEnd(28)} ${count}`)
const wrong = [
  ...found.missing.map((order_id) => `order ${order_id} is not stored`),
  ...found.faults,
  ...found.differences
]
for (const one of wrong.slice(0, 20)) console.log(`WRONG ${one.slice(0, 400)}`)
process.exitCode = wrong.length === 0 ? 0 : 1
