/** Plants each known fault and runs the tests that must find it: `node verification/mutation/plant.ts [part of a name]`. */
import { SURVIVORS } from "./Survivors.ts"
import { judge } from "./Run.ts"

/** Longest run of the tests of one fault, in ms. */
const LIMIT_MS = 240_000
const [part = ""] = process.argv.slice(2)

let alive = 0
for (const { name, tests, ...mutant } of SURVIVORS) {
  if (!name.includes(part)) continue
  const { failed, verdict } = judge(mutant, tests, LIMIT_MS)
  if (verdict !== "killed") alive++
  process.stdout.write(`${verdict}: ${name}\n${failed.map((test) => `    ${test}\n`).join("")}`)
}
process.exitCode = alive === 0 ? 0 : 1
