/** Plants each fault and counts the seeds until the oracle finds it: `node verification/oracle/plant.ts [seeds = 1000] [commands = 150]`. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { FAULTS } from "./Faults.ts"

const [seeds = 1000, commands = 150] = process.argv.slice(2).map(Number)
const root = join(import.meta.dirname, "../..")
let unseen = 0
for (const { name, ...mutant } of FAULTS) {
  const { status, stderr, stdout } = spawnSync(
    process.execPath,
    [
      "--import",
      join(root, "verification/simulation/Mutant.ts"),
      join(import.meta.dirname, "main.ts"),
      ...[seeds, commands, 1, "stop"].map(String)
    ],
    { encoding: "utf8", env: { ...process.env, MUTANT: JSON.stringify(mutant) } }
  )
  const found = /^seed (\d+), command/u.exec(stderr)
  if (status === 1 && found !== null) process.stdout.write(`${name}: found at seed ${found[1]}\n`)
  else {
    unseen++
    process.stdout.write(`${name}: NOT FOUND in ${seeds} seeds ${stdout} ${stderr}\n`)
  }
}
process.exitCode = unseen === 0 ? 0 : 1
