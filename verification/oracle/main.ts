/** Runs seeds of the oracle: `node verification/oracle/main.ts [seeds = 10000] [commands = 200] [first = 1] [stop]`. With `stop`, to the first difference. */
import { explain, noCounts, run } from "./Oracle.ts"
import { RULES } from "./Rules.ts"

const [seeds = 10_000, commands = 200, first = 1] = process.argv.slice(2).map(Number)
const began = performance.now()
const counts = noCounts()
let failures = 0
for (let seed = first; seed < first + seeds; seed++) {
  const found = run(seed, commands, counts)
  if (found === undefined) continue
  failures++
  process.stderr.write(`${explain(found)}\n\n`)
  if (process.argv[5] === "stop") break
}
const seconds = Math.round((performance.now() - began) / 1000)
const { coverage, ...happened } = counts
process.stdout.write(
  `${JSON.stringify({ seeds, commands, failures, happened, rules: RULES.size, never: [...coverage.never], seconds })}\n`
)
process.exitCode = failures === 0 ? 0 : 1
