/**
 * Plants each fault and counts the seeds until the oracle finds it:
 * `node verification/oracle/plant.ts [seeds = 1000] [commands = 150] [part of a name]`. With a part of a name it also cuts the
 * first seed that finds a fault to few commands.
 */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { FAULTS, locate } from "./Faults.ts"

const [seeds = 1000, commands = 150] = process.argv.slice(2, 4).map(Number)
const part = process.argv[4]
const chosen = FAULTS.filter(({ name }) => name.includes(part ?? ""))
const mutants = chosen.map((fault) => ({ name: fault.name, mutant: locate(fault) }))
const root = join(import.meta.dirname, "../..")

const node = (mutant: object, program: string, ...args: ReadonlyArray<number | string>) =>
  spawnSync(
    process.execPath,
    [
      "--import",
      join(root, "verification/simulation/Mutant.ts"),
      join(import.meta.dirname, program),
      ...args.map(String)
    ],
    { encoding: "utf8", env: { ...process.env, MUTANT: JSON.stringify(mutant) } }
  )

let unseen = 0
let latest = 0
for (const { mutant, name } of mutants) {
  const { status, stderr, stdout } = node(mutant, "main.ts", seeds, commands, 1, "stop")
  const seed = /^seed (\d+), command/mu.exec(stderr)?.[1]
  if (status === 1 && seed !== undefined) {
    latest = Math.max(latest, Number(seed))
    process.stdout.write(`${name}: found at seed ${seed}\n`)
    if (part !== undefined) process.stdout.write(`${node(mutant, "shrink.ts", seed, commands).stdout}\n`)
  } else {
    unseen++
    process.stdout.write(`${name}: NOT FOUND in ${seeds} seeds ${stdout} ${stderr}\n`)
  }
}
process.stdout.write(`${mutants.length} faults, ${unseen} not found, the latest at seed ${latest}\n`)
process.exitCode = mutants.length > 0 && unseen === 0 ? 0 : 1
