/**
 * The lease of a shared journal over a simulated database: `node verification/lease/main.ts [--seeds 1000] [--first 1]`. Then each
 * planted fault must be found. Prints figures and ends with 1 at any violation, with its seed.
 */
import { numbers } from "../harness/Arguments.ts"
import { PLANTED, simulate } from "./Simulation.ts"

const { values } = numbers({ seeds: 1000, first: 1 })
let [acknowledged, terms, lostSessions] = [0, 0, 0]
let isSound = true
for (let seed = values.first; seed < values.first + values.seeds; seed++) {
  const outcome = await simulate(seed)
  acknowledged += outcome.acknowledged
  terms += outcome.terms
  lostSessions += outcome.lostSessions
  for (const violation of outcome.violations.slice(0, 3)) console.log(`VIOLATION with seed ${seed}: ${violation}`)
  isSound &&= outcome.violations.length === 0
}
console.log(
  `${values.seeds} seeds: ${acknowledged} turns acknowledged in ${terms} terms, ${lostSessions} sessions lost`
)
for (const planted of PLANTED) {
  let seed = 1
  while (seed <= values.seeds && (await simulate(seed, planted)).violations.length === 0) seed++
  const isFound = seed <= values.seeds
  console.log(`${planted}: ${isFound ? `found with seed ${seed}` : "NOT FOUND"}`)
  isSound &&= isFound
}
process.exit(isSound ? 0 : 1)
