/** Runs seeds of the simulation: `node scripts/simulate.ts [seeds = 10000] [commands = 1000] [first = 1]`. */
import { simulate } from "../test/simulation/Simulation.ts"

const [seeds = 10_000, commands = 1000, first = 1] = process.argv.slice(2).map(Number)
const began = performance.now()
let failures = 0
let [crashes, fills, entries] = [0, 0, 0]
for (let seed = first; seed < first + seeds; seed++) {
  try {
    const outcome = await simulate({ seed, commands })
    crashes += outcome.crashes
    fills += outcome.fills
    entries += outcome.entries
  } catch (error) {
    failures++
    process.stderr.write(`${(error as Error).message}\n`)
  }
}
const seconds = Math.round((performance.now() - began) / 1000)
process.stdout.write(`${JSON.stringify({ seeds, commands, failures, crashes, fills, entries, seconds })}\n`)
process.exitCode = failures === 0 ? 0 : 1
