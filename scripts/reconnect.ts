/**
 * Cuts connections until so many have been cut, and tells whether anybody missed or was told anything twice:
 * `node scripts/reconnect.ts [cycles = 10000] [seed = 1]`. Ends with 1 where something was wrong.
 */
import { Effect } from "effect"
import { reconnect } from "./reconnect/Reconnect.ts"

const report = await Effect.runPromise(
  reconnect({
    cycles: Number(process.argv[2] ?? 10_000),
    seed: Number(process.argv[3] ?? 1),
    users: 8,
    connections: 7,
    books: 8,
    kept: 32,
    killEvery: 4,
    round_ms: 10_000,
    say: (line) => console.log(line)
  })
)
console.log(JSON.stringify(report, undefined, 2))
process.exit(report.faults.length === 0 && report.gaps + report.repetitions + report.differences === 0 ? 0 : 1)
