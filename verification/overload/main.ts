/**
 * Overloads an exchange: `node verification/overload/main.ts [--callers 256] [--seconds 60] [--users 8] [--gateway FOLDER] [--record]`.
 * Prints each second as the callers see it, then the recovery. Ends with 1 where a second accepts fewer than 0.7 of the best
 * one's orders, or recovery takes more than two seconds. The first five seconds do not count. `--record` prints what each
 * thread of the gateway did in each second.
 */
import { cpus, loadavg } from "node:os"
import { parseArgs } from "node:util"
import { machineShare, pacedShare, run, violations, worstShare } from "./Overload.ts"
import type { ThreadSecond } from "./Record.ts"
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
    `steal ${(second.steal * 100).toFixed(0)} % others ${(second.others * 100).toFixed(0)} % load ${second.load.toFixed(1)} pace ${second.pace.toFixed(0)} in ${second.ms.toFixed(0)} ms`,
    `refused ${counted(second.refused) || "0"} p99 ${second.refusal_p99_ms.toFixed(0)} ms`,
    ...(Object.keys(second.uncanceled).length > 0 ? [`cancels refused ${counted(second.uncanceled)}`] : [])
  ].join("  ")

const threadLine = ({ busy, cpu_ms, delay_ms, gc_ms, heap_mb, longest_gc_ms, thread }: ThreadSecond): string =>
  `      ${thread.padEnd(10)} cpu ${cpu_ms.toFixed(0).padStart(5)} ms  busy ${(busy * 100).toFixed(0).padStart(3)} %  delay ${delay_ms.toFixed(0).padStart(4)} ms  gc ${gc_ms.toFixed(0).padStart(4)} ms, longest ${longest_gc_ms.toFixed(0)} ms  heap ${heap_mb.toFixed(0)} MiB`

const { values } = parseArgs({
  options: {
    callers: { type: "string", default: "256" },
    seconds: { type: "string", default: "60" },
    users: { type: "string", default: "8" },
    gateway: { type: "string" },
    record: { type: "boolean", default: false }
  }
})
const { callers, gateway, record, seconds, users } = values
const options = { callers: Number(callers), seconds: Number(seconds), users: Number(users), record }
console.log(`${callers} callers, ${seconds} s, ${cpus().length} cores, load ${loadavg()[0]!.toFixed(1)}`)
const outcome = await run(gateway === undefined ? options : { ...options, gateway })
const [begin] = outcome.seconds
let from = begin === undefined ? 0 : begin.at - begin.ms
outcome.seconds.forEach((second, i) => {
  console.log(line(second, i))
  for (const thread of outcome.threads) if (thread.at > from && thread.at <= second.at) console.log(threadLine(thread))
  from = second.at
})
const { accepted_ms, ready_ms, shown_ms } = outcome.recovery
const ms = (time: number | undefined) => (time === undefined ? "never" : `${time.toFixed(0)} ms`)
console.log(`after the load: ready ${ms(ready_ms)}, accepted ${ms(accepted_ms)}, shown ${ms(shown_ms)}`)
const share = (value: number) => value.toFixed(2)
console.log(`what the machine offered: worst second ${share(machineShare(outcome))} of the best`)
console.log(`for what the machine offered: worst second ${share(pacedShare(outcome))} of the best`)
console.log(`worst second ${worstShare(outcome).toFixed(2)} of the best; ${outcome.cpu_us.toFixed(0)} µs a command`)
const found = violations(outcome)
for (const violation of found) console.log(`VIOLATION ${violation}`)
process.exitCode = found.length === 0 ? 0 : 1
