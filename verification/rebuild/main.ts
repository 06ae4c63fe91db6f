/**
 * Deletes the read model of an exchange and compares the one that its gateway builds again:
 * `node verification/rebuild/main.ts [--events 1000000] [--callers 64] [--seconds 10]`. Ends with 1 where a row differs.
 */
import { numbers } from "../harness/Arguments.ts"
import { run } from "./Rebuild.ts"

const { values } = numbers({ events: 1_000_000, callers: 64, seconds: 10 })
const { differences, events, rebuilt_ms, rows } = await run(values)
console.log(`${events} events, ready again after ${(rebuilt_ms / 1_000).toFixed(1)} s`)
for (const [table, count] of Object.entries(rows)) console.log(`${table.padEnd(28)} ${count} rows`)
for (const difference of differences) console.log(`DIFFERENCE ${difference.slice(0, 400)}`)
process.exitCode = differences.length === 0 ? 0 : 1
