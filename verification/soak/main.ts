/**
 * Looks for leaks: `node verification/soak/main.ts [minutes = 20]` loads an exchange and samples its memory, handles and
 * descriptors every ten seconds. Prints their growth, and ends with 1 where a figure certainly grows faster than its bound.
 */
import { boundOf, bounds, type Figure, run, violations } from "./Soak.ts"

const minutes = Number(process.argv[2] ?? 20)
const outcome = await run({
  minutes,
  users: 8,
  sockets: 500,
  sample_ms: Math.min(10_000, (minutes * 60_000) / 20),
  say: (line) => console.log(line)
})
const { slopes, ...rest } = outcome
console.log(JSON.stringify(rest))
for (const figure of Object.keys(bounds) as Array<Figure>) {
  const { first, last, per_hour, plus_minus } = slopes[figure]
  const slope = `${per_hour.toFixed(1)} ± ${plus_minus.toFixed(1)} an hour, bound ${boundOf(figure, outcome).toFixed(1)}`
  console.log(`  ${figure}: ${first.toFixed(1)} -> ${last.toFixed(1)}, ${slope}`)
}
const found = violations(outcome)
for (const violation of found) console.log(`  above its bound: ${violation}`)
process.exit(found.length === 0 ? 0 : 1)
