/**
 * Sets the clocks of a gateway and a backend by ±1 s to ±1 year and back: `node verification/clocks/main.ts`. Needs faketime.
 * Ends with 1 where prices stop, an order expires early, or a token or nonce is accepted that must not be.
 */
import { isFakeTimeInstalled } from "../harness/FakeTime.ts"
import { run } from "./Clocks.ts"

const YEAR_S = 31_536_000
const STEPS = [1, 5, 60, 3_600, 86_400, YEAR_S].flatMap((s) => [s, -s])

if (!isFakeTimeInstalled) {
  console.error("faketime must be installed")
  process.exit(2)
}
const violations = await run({
  steps: STEPS,
  subjects: ["gateway", "backend"],
  onStep: (line) => console.log(line)
})
console.log(`${STEPS.length * 4} settings, ${violations.length} violations`)
process.exitCode = violations.length === 0 ? 0 : 1
