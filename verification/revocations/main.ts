/**
 * Races changes of credentials (a deleted key, narrowed scopes, a ban, a logout) against authentications and orders that use
 * them, over every transport: `node verification/revocations/main.ts one|two…`. Ends with 1 where a use has an effect after the
 * answer to the change; across two gateways, a second after it.
 *
 *   [--changes 1000] [--uses 16, authentications and as many orders a change] [--lanes 4] [--seed 1]
 *
 * `two` needs the programs of PostgreSQL, Redis and NATS.
 */
import { numbers } from "../harness/Arguments.ts"
import * as Gateways from "./Gateways.ts"
import { kinds, type Report, run, violationsOf } from "./Races.ts"

const { positionals, values: options } = numbers({ changes: 1_000, uses: 16, lanes: 4, seed: 1 })
const starters: Readonly<Record<string, () => Promise<Gateways.Running>>> = { one: Gateways.one, two: Gateways.two }

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

const unknown = positionals.filter((name) => !(name in starters))
if (positionals.length === 0 || unknown.length > 0) {
  console.error(`usage: node verification/revocations/main.ts ${Object.keys(starters).join("|")}…`)
  process.exit(2)
}
let isSound = true
for (const name of positionals) {
  const gateways = await starters[name]!()
  try {
    const report = await run(gateways, options)
    show(name, report)
    const wrong = violationsOf(report, options)
    for (const violation of wrong) console.log(`  VIOLATION: ${violation}`)
    isSound &&= wrong.length === 0
  } finally {
    await gateways.close()
  }
}
process.exit(isSound ? 0 : 1)
