/**
 * Cuts connections under load until so many are cut, and checks that no client missed an event or received one twice:
 * `node verification/reconnect/main.ts [cuts = 10000] [seed = 1]`. Ends with 1 at any fault.
 */
import { Effect } from "effect"
import { interruption } from "../harness/Arguments.ts"
import { reconnect } from "./Reconnect.ts"

const report = await Effect.runPromise(
  reconnect({
    cuts: Number(process.argv[2] ?? 10_000),
    seed: Number(process.argv[3] ?? 1),
    users: 8,
    connections: 12,
    books: 12,
    kept: 32,
    killEvery: 4,
    round_ms: 10_000,
    say: (line) => console.log(line)
  }),
  { signal: interruption() }
)
console.log(JSON.stringify(report, undefined, 2))
process.exit(report.faults.length === 0 && report.gaps + report.repetitions + report.differences === 0 ? 0 : 1)
