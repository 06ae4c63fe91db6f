/**
 * Kills gateway and backend under load, so often at each of ten points, and tells whether an order that was acknowledged
 * is lost or there twice: `node verification/crashes/main.ts [rounds = 20] [seed = 1] [point]`; `point` is a part of its name. Needs strace.
 * Ends with 1 where something was wrong. What it does: verification/crashes/Crashes.ts.
 */
import { Effect } from "effect"
import { kills } from "./Crashes.ts"
import { points } from "./CrashPoints.ts"

const [rounds = "20", seed = "1", part = ""] = process.argv.slice(2)
const stop = new AbortController()
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort())

const report = await Effect.runPromise(
  kills({
    rounds: Number(rounds),
    seed: Number(seed),
    points: points.filter((point) => point.includes(part)),
    users: 4,
    callers: 2,
    say: (line) => console.log(line)
  }),
  { signal: stop.signal }
)
console.log(JSON.stringify(report, undefined, 2))
process.exit(report.faults.length === 0 ? 0 : 1)
