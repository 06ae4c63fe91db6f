/**
 * Cuts connections of the plain client until so many have been cut, under orders, and tells whether an event was missed or told
 * twice, or an order lost or doubled: `node verification/sdk/main.ts [cuts = 1000] [seed = 1]`. Ends with 1 where something was wrong.
 */
import { plainCuts } from "./Cuts.ts"

const report = await plainCuts({
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
