/**
 * The cost of attacks for other clients: `node verification/attacks/main.ts [NAME…] [--count N] [--pairs N] [--requests N]`.
 * Prints the figures of each pair of a quiet and an attacked half. `constant-time` measures comparisons of secrets. Without a
 * name all attacks run, one after another.
 */
import { parseArgs } from "node:util"
import { median } from "../harness/Statistics.ts"
import { attacks, type Kind } from "./Attackers.ts"
import { comparisons, growthOf, type Half, run } from "./Attacks.ts"

const mib = (bytes: number) => (bytes / 1024 / 1024).toFixed(0)
const show = ({ cores, held_bytes, p50_ms, p99_ms, refused, rss_bytes }: Half) =>
  `p50 ${p50_ms.toFixed(2)}, p99 ${p99_ms.toFixed(2)} ms, ${refused} refused, ${cores.toFixed(2)} cores, ` +
  `${mib(held_bytes)} MiB held, ${mib(rss_bytes)} MiB resident`

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { count: { type: "string" }, pairs: { type: "string" }, requests: { type: "string" } }
})
const options = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]))
const known = Object.keys(attacks) as Array<Kind>
for (const name of positionals.length > 0 ? positionals : [...known, "constant-time"]) {
  console.log(name)
  if (name === "constant-time") {
    for (const [comparison, { means_ns, samples, t }] of Object.entries(comparisons())) {
      const means = means_ns.map((ns) => ns.toFixed(0)).join(" and ")
      console.log(`  ${comparison}: t ${t.toFixed(2)}, ${means} ns, ${samples} samples`)
    }
    continue
  }
  const kind = known.find((each) => each === name)
  if (kind === undefined) throw new Error(`no such attack: ${name}; there are ${known.join(", ")}, constant-time`)
  const pairs = await run(kind, options)
  for (const { attacked, quiet } of pairs) console.log(`  ${show(quiet)}   attacked ${show(attacked)}`)
  const ratio = (of: (half: Half) => number) => median(pairs.map(({ attacked, quiet }) => of(attacked) / of(quiet)))
  const added = median(pairs.map(({ attacked, quiet }) => attacked.cores - quiet.cores))
  const quiet = pairs.map(({ quiet }) => quiet.p99_ms)
  console.log(
    `  ratio, median of the pairs: p50 ${ratio(({ p50_ms }) => p50_ms).toFixed(2)}, p99 ${ratio(({ p99_ms }) => p99_ms).toFixed(2)}; ${added.toFixed(2)} cores more; ` +
      `p99 of the quiet halves ${Math.min(...quiet).toFixed(2)} to ${Math.max(...quiet).toFixed(2)} ms; ` +
      `${mib(growthOf(pairs))} MiB more memory`
  )
}
