/**
 * Plants a seeded sample of faults in folders of src and prints how many of them the tests find:
 * `node verification/mutation/sample.ts COUNT SEED FOLDER…`. The tests that are nearest by imports run first, the wider
 * set where they find nothing. The faults that live are to be read: each is a missing test, or changes nothing.
 */
import { globSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { random } from "../harness/Random.ts"
import { candidatesOf, unique } from "./Candidates.ts"
import { relatedTests } from "./Related.ts"
import { judge } from "./Run.ts"

const root = join(import.meta.dirname, "../..")
/** Longest run of tests for one fault, in ms. */
const LIMIT_MS = 180_000
/** Test files of the first run, and of the second one. */
const NEAR = 4
const WIDE = 24

const [count = "10", seed = "1", ...folders] = process.argv.slice(2)
const next = random(Number(seed))
const testsOf = relatedTests()

for (const folder of folders.length > 0 ? folders : ["src/domain"]) {
  const all = globSync(join(root, folder, "**/*.ts"))
    .map((path) => relative(root, path))
    .filter((path) => !path.startsWith("src/proto/"))
    .toSorted()
    .flatMap((path) => {
      const source = readFileSync(join(root, path), "utf8")
      return candidatesOf(source).map((candidate) => ({ candidate, path, source }))
    })
  const counts = { killed: 0, survived: 0, slow: 0, broken: 0 }
  const living: Array<string> = []
  for (let i = 0; i < Number(count) && all.length > 0; i++) {
    const [{ candidate, path, source }] = all.splice(Math.floor(next() * all.length), 1) as [(typeof all)[number]]
    const mutant = { module: path.replace(/^src/u, ""), ...unique(source, candidate) }
    const tests = testsOf(path)
    let verdict = tests.length === 0 ? "survived" : judge(mutant, tests.slice(0, NEAR), LIMIT_MS).verdict
    if (verdict === "survived" && tests.length > NEAR) {
      verdict = judge(mutant, tests.slice(NEAR, WIDE), LIMIT_MS).verdict
    }
    counts[verdict as keyof typeof counts]++
    const line = source.slice(0, candidate.start).split("\n").length
    const right = source.slice(candidate.start, candidate.end)
    if (verdict !== "killed")
      living.push(`  ${verdict}: ${path}:${line} ${candidate.operator}: ${right} → ${candidate.wrong}`)
  }
  // what is slow stopped the tests, which a developer sees too
  const found = counts.killed + counts.slow
  const share = found + counts.survived === 0 ? 0 : Math.round((100 * found) / (found + counts.survived))
  process.stdout.write(`${folder}: ${share} % of ${found + counts.survived}, ${counts.broken} not run\n`)
  for (const each of living) process.stdout.write(`${each}\n`)
}
