/**
 * Kills one gateway of a fleet under many sockets and measures their return:
 * `node verification/storm/main.ts [--sockets 10000] [--gateways 3] [--users 50]`. Ends with 1 where a socket was refused,
 * missed an event or was late.
 */
import { numbers } from "../harness/Arguments.ts"
import { run, violations } from "./Storm.ts"

const { values } = numbers({ sockets: 10_000, gateways: 3, users: 50 })
const outcome = await run({ ...values, say: (line) => console.log(line) })
console.log(JSON.stringify(outcome, undefined, 2))
const found = violations(outcome)
for (const violation of found) console.log(`  ${violation}`)
process.exit(found.length === 0 ? 0 : 1)
