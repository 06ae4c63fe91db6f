/**
 * Cuts connections of the Python client under orders until so many are cut. Checks that no event is missed or repeated, and that
 * no order is lost or doubled: `node verification/python/main.ts [cuts = 1000] [seed = 1]`. Ends with 1 at any fault.
 */
import { pythonCuts } from "./Cuts.ts"

const report = await pythonCuts({
  cuts: Number(process.argv[2] ?? 1_000),
  seed: Number(process.argv[3] ?? 1),
  users: 3,
  connections: 4,
  books: 3,
  kept: 32,
  killEvery: 3,
  round_ms: 5_000,
  say: (line) => console.log(line)
})
console.log(JSON.stringify(report, undefined, 2))
process.exit(report.faults.length === 0 && report.gaps + report.repetitions + report.differences === 0 ? 0 : 1)
