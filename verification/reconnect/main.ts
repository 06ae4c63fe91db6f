/**
 * Cuts connections until so many have been cut, and tells whether anybody missed anything or was told anything twice:
 * `node verification/reconnect/main.ts [cycles = 10000] [seed = 1]`. Ends with 1 where something was wrong.
 */
import { Effect } from "effect"
import { reconnect } from "./Reconnect.ts"

const stop = new AbortController()
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort())

const report = await Effect.runPromise(
  reconnect({
    cycles: Number(process.argv[2] ?? 10_000),
    seed: Number(process.argv[3] ?? 1),
    users: 8,
    connections: 12,
    books: 12,
    kept: 32,
    killEvery: 4,
    round_ms: 10_000,
    say: (line) => console.log(line)
  }),
  { signal: stop.signal }
)
console.log(JSON.stringify(report, undefined, 2))
process.exit(report.faults.length === 0 && report.gaps + report.repetitions + report.differences === 0 ? 0 : 1)
