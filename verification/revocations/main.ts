/**
 * `node verification/revocations/main.ts one|two…`: races changes of credentials (a key deleted, a key narrowed, a ban, a logout) against
 * authentications and orders that use them, over every transport, on one gateway or across two. Prints what was seen, and ends
 * with 1 where anything had an effect after the change was answered (across two: a second after it).
 *
 *   [--changes 1000] [--uses 16, authentications and as many orders a change] [--lanes 4] [--seed 1]
 *
 * `two` needs the programs of PostgreSQL, Redis, NATS and HAProxy.
 */
import { parseArgs } from "node:util"
import { kinds, type Report, run, violationsOf } from "./Races.ts"
import * as Stands from "./Stands.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    changes: { type: "string", default: "1000" },
    uses: { type: "string", default: "16" },
    lanes: { type: "string", default: "4" },
    seed: { type: "string", default: "1" }
  }
})
const options = {
  changes: Number(values.changes),
  uses: Number(values.uses),
  lanes: Number(values.lanes),
  seed: Number(values.seed)
}
const stands: Readonly<Record<string, () => Promise<Stands.Running>>> = {
  one: Stands.one,
  two: () => Stands.two((line) => console.error(line))
}

const show = (name: string, { answers, byKind, latest_ms, seconds }: Report) => {
  console.log(`\n${name}: ${options.changes} changes in ${seconds.toFixed(0)} s`)
  console.log("  change         changes  orders  accepted  late  authentications  let in  stayed")
  for (const kind of kinds) {
    const { accepted, authentications, changes, lateOrders, letIn, orders, survivors } = byKind[kind]
    const columns = [
      [changes, 7],
      [orders, 6],
      [accepted, 8],
      [lateOrders, 4],
      [authentications, 15],
      [letIn, 6],
      [survivors, 6]
    ] as const
    console.log(`  ${kind.padEnd(13)}${columns.map(([count, width]) => String(count).padStart(width + 2)).join("")}`)
  }
  console.log(`  last acceptance, from the answer of its change: ${latest_ms} ms`)
  for (const [what, count] of Object.entries(answers).toSorted()) console.log(`  ${count} × ${what}`)
}

const unknown = positionals.filter((name) => !(name in stands))
if (positionals.length === 0 || unknown.length > 0) {
  console.error(`usage: node verification/revocations/main.ts ${Object.keys(stands).join("|")}…`)
  process.exit(2)
}
let isSound = true
for (const name of positionals) {
  const stand = await stands[name]!()
  try {
    const report = await run(stand, options)
    show(name, report)
    const wrong = violationsOf(report, options)
    for (const what of wrong) console.log(`  WRONG: ${what}`)
    isSound &&= wrong.length === 0
  } finally {
    await stand.close()
  }
}
process.exit(isSound ? 0 : 1)
