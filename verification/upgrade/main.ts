/**
 * A rolling upgrade under load, and the way back: `node verification/upgrade/main.ts [--gateways 2] [--back 1] [--sockets 400]
 * [--books 40] [--users 10] [--pace 100, requests a second] [--calm 5, seconds] [--seed 1] [--backend 0, 1: of the earlier
 * version]`. Prints figures and ends with 1 at any violation: a failed request, or an event that is missing or repeated.
 *
 * Needs git with the history of the earlier version, and the programs of PostgreSQL, Redis, NATS and HAProxy.
 */
import { numbers } from "../harness/Arguments.ts"
import { isWholeFleetInstalled } from "../harness/Fleet.ts"
import { listed } from "../harness/Statistics.ts"
import { violations } from "../fleet/UnderLoad.ts"
import { upgrade } from "./Rolling.ts"
import { EARLIER, isEarlierThere } from "./Versions.ts"

const { values } = numbers({
  gateways: 2,
  back: 1,
  sockets: 400,
  books: 40,
  users: 10,
  pace: 100,
  calm: 5,
  seed: 1,
  backend: 0
})
if (!isWholeFleetInstalled) throw new Error("PostgreSQL, Redis, NATS and HAProxy are needed")
if (!isEarlierThere()) throw new Error(`this clone has no commit ${EARLIER}`)

const { backend, calm, ...load } = values
const outcome = await upgrade({
  ...load,
  calm_ms: calm * 1_000,
  isBackendEarlier: backend === 1,
  say: (line) => console.error(line)
})
const { failed, requests, sessions, starts } = outcome
console.log(`starts       ${starts.join(", ")}`)
console.log(`requests     ${requests.sent}, of them ${requests.orders} orders; failed: ${listed(failed)}`)
console.log(`latency      p50 ${Math.round(requests.p50_ms)} ms, p99 ${Math.round(requests.p99_ms)} ms`)
console.log(`sockets      ${sessions.live} of ${sessions.all} live, ${sessions.lost} connections lost`)
console.log(
  `events       ${sessions.gaps} missing, ${sessions.repetitions} repeated, ${sessions.differences} different`
)
for (const violation of violations(outcome)) {
  console.log(`VIOLATION    ${violation}`)
  process.exitCode = 1
}
