/**
 * Measures the market page in Chromium: `node verification/page/main.ts [minutes = 60] [--trades 50]` trades so often a second, and
 * prints frames a second, processor time per frame, and the growth of heap, nodes and listeners after forced collections. Ends
 * with 1 where the page cannot draw in time, or certainly grows faster than its bounds.
 */
import { numbers } from "../harness/Arguments.ts"
import { bounds, type Figure, run, type Traced, violations } from "./Rendering.ts"

const { positionals, values } = numbers({ trades: 50 })
const minutes = Number(positionals[0] ?? 60)
const outcome = await run({
  minutes,
  trades_per_s: values.trades,
  trace_s: 10,
  sample_ms: Math.min(10_000, (minutes * 60_000) / 20),
  say: (line) => console.log(line)
})
const { books_per_s, first, last, slopes, trades_per_s } = outcome
console.log(`received: ${books_per_s.toFixed(1)} book updates and ${trades_per_s.toFixed(1)} trades a second`)
const show = (name: string, { frames, work }: Traced): void => {
  const rate = `${frames.per_s.toFixed(1)} frames a second, slowest second ${frames.slowest_s}, late ${(frames.late * 100).toFixed(1)} %`
  const cpu = `work per frame: mean ${work.mean_ms.toFixed(2)} ms, p99 ${work.p99_ms.toFixed(2)}, longest ${work.longest_ms.toFixed(2)}, over a frame ${(work.over * 100).toFixed(1)} %, ${(work.share * 100).toFixed(1)} % of a processor`
  console.log(`${name}: ${rate}; ${cpu}; wall time p99 ${work.wall_p99_ms.toFixed(2)} ms`)
}
show("at the begin", first)
show("at the end", last)
for (const figure of Object.keys(bounds) as Array<Figure>) {
  const { first: from, last: to, per_hour, plus_minus } = slopes[figure]
  console.log(
    `${figure}: ${from.toFixed(2)} -> ${to.toFixed(2)}, ${per_hour.toFixed(2)} ± ${plus_minus.toFixed(2)} an hour, bound ${bounds[figure]}`
  )
}
if (outcome.failed > 0) console.log(`${outcome.failed} orders failed`)
const found = violations(outcome)
for (const violation of found) console.log(`violation: ${violation}`)
process.exit(found.length === 0 ? 0 : 1)
