/**
 * Lets the power fail: `node verification/power-loss/main.ts [points = 10000] [seed = 1] [point]`; with a point only that one. Needs
 * strace. What it does: verification/power-loss/PowerLoss.ts.
 */
import { judge, recordLives } from "./PowerLoss.ts"

/** Commands of each of the two lives. */
const COMMANDS = 400

const [points = 10_000, seed = 1, only] = process.argv.slice(2).map(Number)
const began = performance.now()
const recording = recordLives({ seed, commands: COMMANDS })
const { failures, ...judged } = judge(recording, {
  points,
  seed,
  ...(only === undefined ? {} : { only }),
  failures_max: 20
})
for (const failure of failures)
  process.stderr.write(
    `${failure}\nagain: node verification/power-loss/main.ts ${points} ${seed} ${/\d+/u.exec(failure)![0]}\n`
  )
const seconds = Math.round((performance.now() - began) / 1000)
process.stdout.write(`${JSON.stringify({ ...judged, seed, failures: failures.length, seconds })}\n`)
process.exitCode = failures.length === 0 ? 0 : 1
