/**
 * `node verification/sustained/main.ts [minutes = 20] [seconds = 60]` measures for some seconds what an exchange can execute, then sends
 * twice as much. Prints each minute. Ends with 1 where goodput falls, memory grows, cancels or reads become slow, or an
 * acknowledged order is lost.
 */
import { listed } from "../harness/Statistics.ts"
import { run, violations } from "./Sustained.ts"

const minutes = Number(process.argv[2] ?? 20)
const outcome = await run({
  minutes,
  capacity_s: Number(process.argv[3] ?? 60),
  idle_s: 10,
  users: 8,
  say: (line) => console.log(line)
})
outcome.minutes.forEach(({ cancel_p99_ms, goodput, p50_ms, p99_ms, refused, rss_mib }, i) =>
  console.log(
    `${String(i + 1).padStart(3)}  ${goodput.toFixed(0)}/s  refused ${refused.toFixed(0)}/s  p50 ${p50_ms.toFixed(0)} p99 ${p99_ms.toFixed(0)} ms  cancels p99 ${cancel_p99_ms.toFixed(0)} ms  ${rss_mib.toFixed(0)} MiB`
  )
)
const { acknowledged, holes, idle, loaded, stored, unanswered, unseen, unsent } = outcome
console.log(
  `${acknowledged} acknowledged, ${stored} stored, ${unseen} not shown, ${unanswered} without an answer, ${holes} gaps, ${unsent.toFixed(0)} not sent for lack of a free caller`
)
console.log(`refused: ${listed(outcome.reasons)}`)
for (const [name, reads] of Object.entries({ idle, loaded }))
  for (const { count, p50_ms, p99_ms, path } of reads)
    console.log(`${name}: ${count} reads of ${path}, p50 ${p50_ms.toFixed(1)} p99 ${p99_ms.toFixed(1)} ms`)
const found = violations(outcome)
for (const violation of found) console.log(`violation: ${violation}`)
process.exit(found.length === 0 ? 0 : 1)
