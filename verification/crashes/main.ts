/**
 * Kills gateway and backend under load, so often at each of ten points, and checks that no acknowledged order is lost or
 * doubled: `node verification/crashes/main.ts [rounds = 20] [seed = 1] [point]`. `point` is a part of a point's name. Needs
 * strace. Ends with 1 at any fault.
 */
import { Effect } from "effect"
import { interruption } from "../harness/Arguments.ts"
import { crashes } from "./Crashes.ts"
import { points } from "./CrashPoints.ts"

const [rounds = "20", seed = "1", part = ""] = process.argv.slice(2)
const report = await Effect.runPromise(
  crashes({
    rounds: Number(rounds),
    seed: Number(seed),
    points: points.filter((point) => point.includes(part)),
    users: 4,
    callers: 2,
    say: (line) => console.log(line)
  }),
  { signal: interruption() }
)
console.log(JSON.stringify(report, undefined, 2))
process.exit(report.faults.length === 0 ? 0 : 1)
