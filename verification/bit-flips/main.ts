/**
 * Inverts bits of a backend's files: `node verification/bit-flips/main.ts [--flips 1000] [--seed 1] [--commands 400] [--only -1]`.
 * Prints what became of them, and ends with 1 where something was lost without a word, or refused without advice.
 */
import { numbers } from "../harness/Arguments.ts"
import { listed } from "../harness/Statistics.ts"
import { run } from "./BitFlips.ts"

const { values } = numbers({ flips: 1_000, seed: 1, commands: 400, only: -1 })
const { effects, violations } = run({ ...values, only: values.only < 0 ? undefined : values.only })
for (const [kind, counts] of Object.entries(effects)) console.log(`${kind.padEnd(16)} ${listed(counts)}`)
for (const violation of violations) console.log(`VIOLATION ${violation}`)
process.exitCode = violations.length === 0 ? 0 : 1
