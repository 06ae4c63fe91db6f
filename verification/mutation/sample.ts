/**
 * Plants a seeded sample of faults in folders of src and prints how many of them the tests find:
 * `node verification/mutation/sample.ts COUNT SEED FOLDER… [--keep DIRECTORY]`. For each fault it runs the test files that are
 * nearest by imports. For the faults that live it runs each other related test file once, to record which of their places it
 * executes, and then for each fault those that do, the fastest first. With `--keep` a later run of the same sample continues
 * where this one ended.
 * The faults that live are to be read: each is a missing test, or changes nothing.
 */
import { appendFileSync, existsSync, globSync, mkdirSync, readFileSync } from "node:fs"
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

const near = records<Verdict>(join(folder.path, "near.jsonl"))
const wide = records<Verdict>(join(folder.path, "wide.jsonl"))

/** Runs test files with a fault planted, to the first failure. */
const judge = async (runner: Runner, place: number, tests: ReadonlyArray<string>): Promise<Verdict> => {
  const { candidate, folder, path, source } = places[place]!
  const line = source.slice(0, candidate.start).split("\n").length
  const right = source.slice(candidate.start, candidate.end)
  const fault = `${path}:${line} ${candidate.operator}: ${right} → ${candidate.wrong}`
  const common = { place, fault, folder, tests }
  const sources = { [join(root, path)]: planted(source, candidate) }
  // one by one: Vitest would run the slowest first
  for (const test of tests) {
    const response = await runner.run({ sources, tests: [test], bail: 1 }, LIMIT_MS)
    if (response === undefined) return { ...common, verdict: "slow", failed: [] }
    const failed: TestFile["failed"] = [
      ...response.files.flatMap((file) => file.failed),
      ...response.errors.map((error) => ["", error] as const)
    ]
    if (failed.length > 0) return { ...common, verdict: "killed", failed: failed.slice(0, 3) }
  }
  return { ...common, verdict: "survived", failed: [] }
}

/** Runs each test file once with the places marked, and returns those that pass, with the places that they execute. */
const record = async (marking: ReadonlyArray<number>, tests: ReadonlySet<string>) => {
  const known = records<TestFile>(join(folder.path, "files.jsonl"))
  const markers = new Map<string, Array<readonly [number, Candidate]>>()
  for (const number of marking) {
    const { candidate, path } = places[number]!
    markers.set(path, [...(markers.get(path) ?? []), [number, candidate]])
  }
  const sources = Object.fromEntries(
    [...markers].map(([path, found]) => [join(root, path), marked(readFileSync(join(root, path), "utf8"), found)])
  )
  const runner = new Runner(marks)
  try {
    for (const path of tests) {
      if (known.all.some((file) => file.path === path)) continue
      const response = await runner.run({ sources, tests: [path], bail: 0 }, LIMIT_MS)
      const [file] = response?.files ?? []
      known.add(file ?? { path, ms: LIMIT_MS, failed: [["", response?.errors.join() ?? "slow"]] })
    }
  } finally {
    await runner.close()
  }
  for (const { failed, path } of known.all) {
    for (const [name, message] of failed) process.stderr.write(`fails without a fault: ${path} ${name}: ${message}\n`)
  }
  return known.all
    .filter(({ failed }) => failed.length === 0)
    .map(({ ms, path }) => {
      const file = join(marks, encodeURIComponent(join(root, path)))
      return { path, ms, reached: new Set(existsSync(file) ? readFileSync(file, "utf8").split("\n").map(Number) : []) }
    })
}

const runner = new Runner()
try {
  for (const [number, { path }] of places.entries()) {
    if (near.all.some(({ place }) => place === number)) continue
    near.add(await judge(runner, number, testsOf(path).slice(0, NEAR)))
  }
  const open = near.all.filter(({ verdict }) => verdict === "survived")
  const others = new Set(open.flatMap(({ place }) => testsOf(places[place]!.path)))
  const files =
    open.length === 0
      ? []
      : await record(
          open.map(({ place }) => place),
          others
        )
  for (const { place, tests } of open) {
    if (wide.all.some((verdict) => verdict.place === place)) continue
    let left_ms = BUDGET_MS
    const able = files
      .filter(({ path, reached }) => reached.has(place) && !tests.includes(path))
      .toSorted((a, b) => a.ms - b.ms)
      .filter(({ ms }) => (left_ms -= ms) > 0)
    wide.add(
      await judge(
        runner,
        place,
        able.map(({ path }) => path)
      )
    )
  }
} finally {
  await runner.close()
  folder.remove()
}

for (const name of new Set(places.map((place) => place.folder))) {
  const all = near.all.filter((verdict) => verdict.folder === name)
  const alive = wide.all.filter(({ folder, verdict }) => folder === name && verdict === "survived")
  const share = all.length === 0 ? 0 : Math.floor((100 * (all.length - alive.length)) / all.length)
  process.stdout.write(`${name}: ${share} % of ${all.length}\n`)
  for (const { fault, tests } of alive) process.stdout.write(`  ${tests.length} more test files: ${fault}\n`)
}
