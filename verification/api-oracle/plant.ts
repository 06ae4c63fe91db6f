/**
 * Plants each fault in the gateways and prints the seed that finds it:
 * `node verification/api-oracle/plant.ts [seeds = 5] [actions = 80] [users = 4] [part of a name]`. Two gateways where they are
 * installed. Ends with 1 where a fault is not found.
 */
import { join } from "node:path"
import { isFleetInstalled } from "../harness/Fleet.ts"
import { isNatsInstalled } from "../harness/NatsServer.ts"
import { FAULTS } from "./Faults.ts"
import { judge } from "./Judge.ts"
import { run } from "./Run.ts"
import { Truth } from "./Truth.ts"
import { startOne, startTwo } from "./World.ts"

// a fault is planted in the sources: a bundle has none
delete process.env["PROGRAMS"]

const [seeds = 5, actions = 80, users = 4] = process.argv.slice(2, 5).map(Number)
const chosen = FAULTS.filter(({ name }) => name.includes(process.argv[5] ?? ""))
const planter = join(import.meta.dirname, "../simulation/Mutant.ts")

let unseen = 0
for (const { name, ...mutant } of chosen) {
  const env = { NODE_OPTIONS: `--import=${planter}`, MUTANT: JSON.stringify(mutant) }
  const world = await (isFleetInstalled ? startTwo({ nats: isNatsInstalled, env }) : startOne(env))
  let found: string | undefined
  try {
    for (let seed = 1; seed <= seeds && found === undefined; seed++) {
      const seen = await run(world, { seed, actions, users, disturbances: 1 })
      const { different, differences } = judge(Truth.read(world.dataDir), seen)
      if (different > 0) found = `found by seed ${seed}, ${different} differences: ${differences[0]}`
    }
  } finally {
    await world.close()
  }
  if (found === undefined) unseen++
  process.stdout.write(`${name}: ${found ?? `NOT FOUND by ${seeds} seeds`}\n`)
}
process.stdout.write(`${chosen.length} faults, ${unseen} not found\n`)
process.exitCode = chosen.length > 0 && unseen === 0 ? 0 : 1
