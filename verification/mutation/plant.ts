/** Plants each known fault and runs the tests that must find it: `node verification/mutation/plant.ts [part of a name]`. */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Runner } from "./Runner.ts"
import { SURVIVORS } from "./Survivors.ts"

/** Longest run of the tests of one fault, in ms. */
const LIMIT_MS = 240_000
const root = join(import.meta.dirname, "../..")
const sources = globSync(join(root, "src/**/*.ts"))
const [part = ""] = process.argv.slice(2)

const runner = new Runner()
let alive = 0
try {
  for (const { module, name, right, tests, wrong } of SURVIVORS) {
    if (!name.includes(part)) continue
    const path = sources.find((source) => source.endsWith(module))!
    const text = readFileSync(path, "utf8").replace(right, () => wrong)
    const response = await runner.run({ sources: { [path]: text }, tests, bail: 1 }, LIMIT_MS)
    const failed = response?.files.flatMap((file) => file.failed) ?? [["the tests did not end", ""]]
    if (failed.length === 0) alive++
    process.stdout.write(`${failed.length > 0 ? "killed" : "survived"}: ${name}\n`)
    for (const [test] of failed) process.stdout.write(`    ${test}\n`)
  }
} finally {
  await runner.close()
}
process.exitCode = alive === 0 ? 0 : 1
