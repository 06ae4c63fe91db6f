/**
 * Slow clients beside others: `node verification/slow-clients/main.ts [--readers 1000] [--stuck 100] [--pairs 9]`. Ends with 1
 * where a slow client is neither conflated nor closed, another one misses a trade, or memory grows.
 */
import { numbers } from "../harness/Arguments.ts"
import { median } from "../harness/Statistics.ts"
import { type Latency, run } from "./SlowClients.ts"

const { values } = numbers({ readers: 1_000, stuck: 100, pairs: 9 })
const { pairs, readers, stuck } = values
const outcome = await run({
  ...values,
  ticks: 60,
  tick_ms: 50,
  outbound_bytes: 4 * 1024 * 1024,
  rounds: 250,
  round_ms: 20
})
for (const { all, some } of outcome.pairs) {
  const show = ({ median_ms, p99_ms }: Latency) => `median ${median_ms.toFixed(2)} ms, p99 ${p99_ms.toFixed(2)} ms`
  console.log(`all read: ${show(all)}   ${stuck} stuck: ${show(some)}`)
}
const ratio = (of: (latency: Latency) => number) => median(outcome.pairs.map(({ all, some }) => of(some) / of(all)))
const { after_bytes, before_bytes } = outcome.memory
const mib = (bytes: number) => (bytes / 1024 / 1024).toFixed(1)
console.log(`
  ${readers} sockets, of them ${stuck} stuck, ${pairs} pairs and a round before them
  stuck      ${outcome.closed} closed with 4008, ${outcome.conflated} conflated, ${outcome.otherwise.length} otherwise
  others     ${outcome.missed} trades missed; latency beside the stuck ones, ratio of medians ${ratio((l) => l.median_ms).toFixed(2)}, of p99 ${ratio((l) => l.p99_ms).toFixed(2)}
  afterwards ${outcome.queued_bytes} bytes queued, heap and buffers ${mib(before_bytes)} → ${mib(after_bytes)} MiB
`)
for (const difference of new Set(outcome.otherwise)) console.log(`  otherwise  ${difference}`)
const isSound = outcome.otherwise.length === 0 && outcome.missed === 0 && outcome.queued_bytes === 0
process.exit(isSound && after_bytes <= 1.1 * before_bytes ? 0 : 1)
