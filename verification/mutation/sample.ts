/**
 * Plants a seeded sample of faults in folders of src and prints how many of them the tests find:
 * `node verification/mutation/sample.ts COUNT SEED FOLDER… [--keep DIRECTORY]`. It runs each related test file once, to record
 * its time and which of the places it executes. Then it plants one fault after another and runs the files that execute its
 * place, the one of its module's name first and then the fastest, until one fails. With `--keep` a later run of the same sample
 * continues where this one ended.
 * The faults that live are to be read: each is a missing test, or changes nothing.
 */
import { appendFileSync, existsSync, globSync, mkdirSync, readFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join, relative } from "node:path"
import { parseArgs } from "node:util"
import { temporaryFolder } from "../harness/Programs.ts"
import { random } from "../harness/Random.ts"
import { type Candidate, candidatesOf, marked, planted } from "./Candidates.ts"
import { isNamedAfter, relatedTests } from "./Related.ts"
import { Runner, type TestFile } from "./Runner.ts"

const root = join(import.meta.dirname, "../..")
/** Longest run of a test file without a fault, in ms. */
const LIMIT_MS = 120_000
/** Longest run of a test file with a fault: this many times its usual time, and the time in which its process starts. */
const LATE = 5
const START_MS = 15_000
/** Time of the test files that run for one fault, without the fault, in ms. */
const BUDGET_MS = 90_000

interface Place {
  readonly folder: string
  readonly path: string
  readonly source: string
  readonly candidate: Candidate
}

/** A test file, with the numbers of the places that it executes. */
interface Recorded extends TestFile {
  readonly reached: ReadonlyArray<number>
}

interface Verdict {
  readonly place: number
  readonly fault: string
  readonly folder: string
  /** `slow`: the tests did not end. */
  readonly verdict: "killed" | "survived" | "slow"
  /** Test files that ran. */
  readonly tests: ReadonlyArray<string>
  readonly failed: TestFile["failed"]
}

/** Records of a file with one JSON value a line, which grows while this runs. */
const records = <A>(path: string): { readonly all: Array<A>; readonly add: (record: A) => void } => {
  const all = existsSync(path)
    ? readFileSync(path, "utf8")
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as A)
    : []
  return {
    all,
    add: (record) => {
      all.push(record)
      appendFileSync(path, `${JSON.stringify(record)}\n`)
    }
  }
}

const { positionals, values } = parseArgs({ allowPositionals: true, options: { keep: { type: "string" } } })
const [count = "10", seed = "1", ...named] = positionals
const next = random(Number(seed))

const placesOf = (folder: string): ReadonlyArray<Place> => {
  const all = globSync(join(root, folder, "**/*.ts"))
    .map((path) => relative(root, path))
    .filter((path) => !path.startsWith("src/proto/"))
    .toSorted()
    .flatMap((path) => {
      const source = readFileSync(join(root, path), "utf8")
      return candidatesOf(source).map((candidate) => ({ folder, path, source, candidate }))
    })
  return Array.from({ length: Math.min(Number(count), all.length) }, () => {
    const [place] = all.splice(Math.floor(next() * all.length), 1)
    return place!
  })
}

const folder = values.keep === undefined ? temporaryFolder("mutation") : { path: values.keep, remove: () => {} }
const marks = join(folder.path, "reached")
mkdirSync(marks, { recursive: true })

const chosen = (named.length > 0 ? named : ["src/domain"]).map(placesOf)
/** One of each folder by turns, so that a part of a run has some of each. */
const places = Array.from({ length: Number(count) }, (_, i) => chosen.flatMap((of) => of[i] ?? [])).flat()
const testsOf = relatedTests()

const recorded = records<Recorded>(join(folder.path, "files.jsonl"))
const verdicts = records<Verdict>(join(folder.path, "verdicts.jsonl"))

/** Does the items in order, as many at a time as the machine has cores, each with a runner that no other one has. */
const inParallel = async <A>(
  items: ReadonlyArray<A>,
  make: () => Runner,
  run: (runner: Runner, item: A) => Promise<void>
): Promise<void> => {
  const queue = items.values()
  await Promise.all(
    Array.from({ length: availableParallelism() }, async () => {
      const runner = make()
      try {
        for (const item of queue) await run(runner, item)
      } finally {
        await runner.close()
      }
    })
  )
}

/** Runs a test file with all places marked. */
const record = async (runner: Runner, sources: Readonly<Record<string, string>>, test: string): Promise<void> => {
  const response = await runner.run({ sources, tests: [test], bail: 0 }, LIMIT_MS)
  const [file = { path: test, ms: LIMIT_MS, failed: [["", response?.errors.join() ?? "slow"] as const] }] =
    response?.files ?? []
  const written = join(marks, encodeURIComponent(join(root, test)))
  const reached = existsSync(written) ? readFileSync(written, "utf8").split("\n").filter(Boolean).map(Number) : []
  recorded.add({ ...file, reached })
}

/** The test files that execute a place, in the order in which they run. */
const executing = (number: number): ReadonlyArray<Recorded> => {
  const { path: module } = places[number]!
  const rank = ({ path }: TestFile) => (isNamedAfter(module, path) ? 0 : 1)
  let left_ms = BUDGET_MS
  return recorded.all
    .filter(({ failed, reached }) => failed.length === 0 && reached.includes(number))
    .toSorted((a, b) => rank(a) - rank(b) || a.ms - b.ms)
    .filter(({ ms }, i) => (left_ms -= ms) > 0 || i === 0)
}

/** Runs test files with a fault planted, to the first failure. */
const judge = async (runner: Runner, number: number): Promise<void> => {
  const { candidate, folder, path, source } = places[number]!
  const line = source.slice(0, candidate.start).split("\n").length
  const right = source.slice(candidate.start, candidate.end)
  const sources = { [join(root, path)]: planted(source, candidate) }
  const tests: Array<string> = []
  let verdict: Verdict["verdict"] = "survived"
  let failed: TestFile["failed"] = []
  // one by one: Vitest would run the slowest first
  for (const { ms, path: test } of executing(number)) {
    tests.push(test)
    const response = await runner.run({ sources, tests: [test], bail: 1 }, START_MS + LATE * ms)
    failed = [
      ...(response?.files.flatMap((file) => file.failed) ?? []),
      ...(response?.errors.map((error) => ["", error] as const) ?? [])
    ]
    verdict = response === undefined ? "slow" : failed.length > 0 ? "killed" : "survived"
    if (verdict !== "survived") break
  }
  const fault = `${path}:${line} ${candidate.operator}: ${right} → ${candidate.wrong}`
  verdicts.add({ place: number, fault, folder, verdict, tests, failed: failed.slice(0, 3) })
}

try {
  const markers = new Map<string, Array<readonly [number, Candidate]>>()
  for (const [number, { candidate, path }] of places.entries()) {
    markers.set(path, [...(markers.get(path) ?? []), [number, candidate]])
  }
  const sources = Object.fromEntries(
    [...markers].map(([path, found]) => [join(root, path), marked(readFileSync(join(root, path), "utf8"), found)])
  )
  const unknown = new Set(places.flatMap(({ path }) => testsOf(path)))
  for (const { path } of recorded.all) unknown.delete(path)
  const recorder = () => new Runner(marks)
  await inParallel([...unknown], recorder, (runner, test) => record(runner, sources, test))
  for (const { failed, path } of recorded.all) {
    for (const [name, message] of failed) process.stderr.write(`fails without a fault: ${path} ${name}: ${message}\n`)
  }

  const open = new Set(places.keys())
  for (const { place } of verdicts.all) open.delete(place)
  await inParallel([...open], () => new Runner(), judge)
} finally {
  folder.remove()
}

for (const name of new Set(places.map((place) => place.folder))) {
  const all = verdicts.all.filter(({ folder }) => folder === name)
  const alive = all.filter(({ verdict }) => verdict === "survived")
  const share = all.length === 0 ? 0 : Math.floor((100 * (all.length - alive.length)) / all.length)
  process.stdout.write(`${name}: ${share} % of ${all.length}\n`)
  for (const { fault, tests } of alive) process.stdout.write(`  ${tests.length} test files: ${fault}\n`)
}
