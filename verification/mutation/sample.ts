/**
 * Plants a seeded sample of faults in folders of src and prints how many of them the tests find:
 * `node verification/mutation/sample.ts COUNT SEED FOLDER… [--keep DIRECTORY]`. First it runs each related test file once, to
 * record which of the places it executes. Then it runs for each fault the test files that execute its place: the nearest by
 * imports first, then the fastest. With `--keep` a later run of the same sample continues where this one ended.
 * The faults that live are to be read: each is a missing test, or changes nothing.
 */
import { appendFileSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { parseArgs } from "node:util"
import { temporaryFolder } from "../harness/Programs.ts"
import { random } from "../harness/Random.ts"
import { type Candidate, candidatesOf, marked, planted } from "./Candidates.ts"
import { relatedTests } from "./Related.ts"
import { Runner, type TestFile } from "./Runner.ts"

const root = join(import.meta.dirname, "../..")
/** Longest run of tests for one fault, in ms. */
const LIMIT_MS = 240_000
/** Test files that run first, the nearest ones. */
const NEAR = 3
/** Time of the test files that run for one fault, without the fault, in ms. */
const BUDGET_MS = 90_000

interface Place {
  readonly folder: string
  readonly path: string
  readonly source: string
  readonly candidate: Candidate
}

interface Verdict {
  readonly place: number
  readonly fault: string
  readonly folder: string
  /** `slow`: the tests did not end. */
  readonly verdict: "killed" | "survived" | "slow"
  /** Test files that ran. */
  readonly tests: number
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

const places = (named.length > 0 ? named : ["src/domain"]).flatMap(placesOf)
const testsOf = relatedTests()

/** Runs each related test file once with all places marked. */
const record = async (): Promise<ReadonlyArray<TestFile>> => {
  const known = records<TestFile>(join(folder.path, "files.jsonl"))
  const markers = new Map<string, Array<readonly [number, Candidate]>>()
  for (const [number, { candidate, path }] of places.entries()) {
    markers.set(path, [...(markers.get(path) ?? []), [number, candidate]])
  }
  const sources = Object.fromEntries(
    [...markers].map(([path, found]) => {
      const text = readFileSync(join(root, path), "utf8")
      return [join(root, path), marked(text, found)]
    })
  )
  const runner = new Runner(marks)
  try {
    for (const path of new Set(places.flatMap((place) => testsOf(place.path)))) {
      if (known.all.some((file) => file.path === path)) continue
      const response = await runner.run({ sources, tests: [path], bail: 0 }, LIMIT_MS)
      const [file] = response?.files ?? []
      known.add(file ?? { path, ms: LIMIT_MS, failed: [["", response?.errors.join() ?? "slow"]] })
    }
  } finally {
    await runner.close()
  }
  return known.all
}

const files = await record()
for (const { failed, path } of files) {
  for (const [name, message] of failed) process.stderr.write(`fails without a fault: ${path} ${name}: ${message}\n`)
}
const sound = new Map(files.filter(({ failed }) => failed.length === 0).map((file) => [file.path, file]))
const reachedBy = new Map<number, Array<TestFile>>()
for (const name of readdirSync(marks)) {
  const file = sound.get(relative(root, decodeURIComponent(name)))
  if (file === undefined) continue
  for (const line of readFileSync(join(marks, name), "utf8").split("\n")) {
    if (line === "") continue
    const known = reachedBy.get(Number(line)) ?? []
    if (!known.includes(file)) reachedBy.set(Number(line), [...known, file])
  }
}

/** The test files for a place, in the order in which they run. */
const chosen = (number: number): ReadonlyArray<string> => {
  const near = testsOf(places[number]!.path)
  const able = (reachedBy.get(number) ?? []).toSorted((a, b) => near.indexOf(a.path) - near.indexOf(b.path))
  const others = able.slice(NEAR).toSorted((a, b) => a.ms - b.ms)
  let spent_ms = 0
  return [...able.slice(0, NEAR), ...others]
    .filter(({ ms }, i) => i < NEAR || (spent_ms += ms) < BUDGET_MS)
    .map(({ path }) => path)
}

const verdicts = records<Verdict>(join(folder.path, "verdicts.jsonl"))
const runner = new Runner()
try {
  for (const [place, { candidate, folder, path, source }] of places.entries()) {
    if (verdicts.all.some((verdict) => verdict.place === place)) continue
    const line = source.slice(0, candidate.start).split("\n").length
    const right = source.slice(candidate.start, candidate.end)
    const fault = `${path}:${line} ${candidate.operator}: ${right} → ${candidate.wrong}`
    const sources = { [join(root, path)]: planted(source, candidate) }
    const tests = chosen(place)
    let verdict: Pick<Verdict, "verdict" | "failed"> = { verdict: "survived", failed: [] }
    for (const part of [tests.slice(0, NEAR), tests.slice(NEAR)]) {
      if (part.length === 0 || verdict.verdict !== "survived") continue
      const response = await runner.run({ sources, tests: part, bail: 1 }, LIMIT_MS)
      if (response === undefined) verdict = { verdict: "slow", failed: [] }
      else {
        const failed: TestFile["failed"] = [
          ...response.files.flatMap((file) => file.failed),
          ...response.errors.map((error) => ["", error] as const)
        ]
        if (failed.length > 0) verdict = { verdict: "killed", failed: failed.slice(0, 3) }
      }
    }
    verdicts.add({ place, fault, folder, tests: tests.length, ...verdict })
  }
} finally {
  await runner.close()
  folder.remove()
}

for (const name of new Set(places.map((place) => place.folder))) {
  const all = verdicts.all.filter((verdict) => verdict.folder === name)
  const alive = all.filter(({ verdict }) => verdict === "survived")
  const share = all.length === 0 ? 0 : Math.floor((100 * (all.length - alive.length)) / all.length)
  process.stdout.write(`${name}: ${share} % of ${all.length}\n`)
  for (const { fault, tests } of alive) process.stdout.write(`  ${tests} test files: ${fault}\n`)
}
