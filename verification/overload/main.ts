/**
 * Overloads an exchange: `node verification/overload/main.ts [--callers 256] [--seconds 60] [--users 8] [--gateway FOLDER]`.
 * Prints each second as the callers see it, then the recovery. Ends with 1 where a second accepts fewer than 0.7 of the best
 * one's orders, or recovery takes more than two seconds. The first five seconds do not count.
 */
import { cpus, loadavg } from "node:os"
import { parseArgs } from "node:util"
import { pacedShare, paceShare, run, violations, worstShare } from "./Overload.ts"
import type { Second } from "./Seconds.ts"

const counted = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([reason, count]) => `${count} ${reason}`)
    .join(", ")
const line = (second: Second, i: number): string =>
  [
    String(i + 1).padStart(3),
    `accepted ${String(second.accepted).padStart(5)}`,
    `p50 ${second.p50_ms.toFixed(0)} p99 ${second.p99_ms.toFixed(0)} ms`,
    `canceled ${String(second.canceled).padStart(5)} p99 ${second.cancel_p99_ms.toFixed(0)} ms`,
    `frames ${String(second.frames).padStart(5)}`,
    `steal ${(second.steal * 100).toFixed(0)} % load ${second.load.toFixed(1)} pace ${second.pace.toFixed(0)} in ${second.ms.toFixed(0)} ms`,
    `refused ${counted(second.refused) || "0"} p99 ${second.refusal_p99_ms.toFixed(0)} ms`,
    ...(Object.keys(second.uncanceled).length > 0 ? [`cancels refused ${counted(second.uncanceled)}`] : [])
  ].join("  ")

const { values } = parseArgs({
  options: {
    callers: { type: "string", default: "256" },
    seconds: { type: "string", default: "60" },
    users: { type: "string", default: "8" },
    gateway: { type: "string" }
  }
})
const { callers, gateway, seconds, users } = values
const options = { callers: Number(callers), seconds: Number(seconds), users: Number(users) }
console.log(`${callers} callers, ${seconds} s, ${cpus().length} cores, load ${loadavg()[0]!.toFixed(1)}`)
const outcome = await run(gateway === undefined ? options : { ...options, gateway })
outcome.seconds.forEach((second, i) => console.log(line(second, i)))
const { accepted_ms, ready_ms, shown_ms } = outcome.recovery
const ms = (time: number | undefined) => (time === undefined ? "never" : `${time.toFixed(0)} ms`)
console.log(`after the load: ready ${ms(ready_ms)}, accepted ${ms(accepted_ms)}, shown ${ms(shown_ms)}`)
const share = (value: number) => value.toFixed(2)
console.log(`the machine alone: worst second ${share(paceShare(outcome))} of the best`)
console.log(`for the machine's speed: worst second ${share(pacedShare(outcome))} of the best`)
console.log(`worst second ${worstShare(outcome).toFixed(2)} of the best; ${outcome.cpu_us.toFixed(0)} µs a command`)
const found = violations(outcome)
for (const violation of found) console.log(`VIOLATION ${violation}`)
process.exitCode = found.length === 0 ? 0 : 1
