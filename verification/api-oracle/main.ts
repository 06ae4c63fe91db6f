/**
 * Random users over REST, RPC and sockets, compared with the replayed journal:
 * `node verification/api-oracle/main.ts [runs = 20] [first seed = 1] [actions = 120] [users = 5] [one|two]`. Two gateways,
 * PostgreSQL and NATS where they are installed, otherwise one gateway; a new exchange every 25 runs. Ends with 1 at a difference.
 */
import { isFleetInstalled } from "../harness/Fleet.ts"
import { isNatsInstalled } from "../harness/NatsServer.ts"
import { judge } from "./Judge.ts"
import { run } from "./Run.ts"
import type { Seen } from "./Seen.ts"
import { Truth } from "./Truth.ts"
import { startOne, startTwo } from "./World.ts"

const [runs = 20, first = 1, actions = 120, users = 5] = process.argv.slice(2, 6).map(Number)
const two = (process.argv[6] ?? (isFleetInstalled ? "two" : "one")) === "two"
/** Runs on one exchange, with new users each. */
const RUNS_OF_A_WORLD = 25

/** Prints what a gateway reports as an internal error. */
const onLog = (line: string): void => {
  if (line.includes('"level":"ERROR"')) process.stderr.write(`${line}\n`)
}

const totals = { runs: 0, actions: 0, compared: 0, executions: 0, liquidations: 0, deleveragings: 0, different: 0 }
const began = performance.now()
for (let seed = first; seed < first + runs;) {
  const world = await (two ? startTwo({ nats: isNatsInstalled, onLog }) : startOne())
  try {
    const found: Array<readonly [seed: number, seen: Seen]> = []
    for (const end = Math.min(seed + RUNS_OF_A_WORLD, first + runs); seed < end; seed++) {
      const say = (line: string) => process.stderr.write(`seed ${seed}, ${line}\n`)
      found.push([seed, await run(world, { seed, actions, users, disturbances: Math.ceil(actions / 60), say })])
    }
    const truth = Truth.read(world.dataDir)
    for (const [seed, seen] of found) {
      const { differences, ...verdict } = judge(truth, seen)
      totals.runs++
      totals.actions += seen.actions
      for (const key of ["compared", "executions", "liquidations", "deleveragings", "different"] as const)
        totals[key] += verdict[key]
      if (verdict.different > 0)
        process.stdout.write(`seed ${seed}: ${verdict.different} differences\n${differences.join("\n")}\n`)
    }
  } finally {
    await world.close()
  }
}
process.stdout.write(`${JSON.stringify({ ...totals, seconds: Math.round((performance.now() - began) / 1000) })}\n`)
process.exitCode = totals.different === 0 ? 0 : 1
