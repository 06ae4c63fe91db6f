/** The faults and the operators of mutation testing. The faults themselves are run by `node verification/mutation/plant.ts`. */
import { existsSync, globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { candidatesOf, marked, planted } from "../../verification/mutation/Candidates.ts"
import { relatedTests } from "../../verification/mutation/Related.ts"
import { SURVIVORS } from "../../verification/mutation/Survivors.ts"

const root = join(import.meta.dirname, "../..")

describe("known faults", () => {
  it("fit the source of now, and name tests that exist", () => {
    const sources = globSync(join(root, "src/**/*.ts"))
    for (const { module, name, right, tests } of SURVIVORS) {
      const [path, ...others] = sources.filter((source) => source.endsWith(module))
      assert.deepStrictEqual(others, [], name)
      assert.lengthOf(readFileSync(path!, "utf8").split(right), 2, name)
      for (const test of tests) assert.isTrue(existsSync(join(root, test)), test)
    }
  })
})

describe("faults of a source", () => {
  const source = `
import { f } from "x"
export const g = async (a: bigint, b: boolean) => {
  if (a <= 1n && !b) f(a + 2n, "up")
  await f(true)
  return b ? a : 0n
}
`
  const wrongs = candidatesOf(source).map((candidate) => [candidate.operator, planted(source, candidate)] as const)
  const expected: ReadonlyArray<readonly [operator: string, part: string]> = [
    ["comparison", "if (a < 1n && !b)"],
    ["boolean", "if ((a <= 1n) || (!b))"],
    ["boolean", "if (a <= 1n && b)"],
    ["arithmetic", "f(a - 2n"],
    ["changed constant", "f(a + 3n"],
    ["changed constant", "f(false)"],
    ["rounding direction", `"down"`],
    ["removed statement", "{}\n  await"],
    ["removed await", "  f(true)"],
    ["swapped branch", "return b ? 0n : a"],
    ["swapped branch", "if (!(a <= 1n && !b))"]
  ]
  it.each(expected)("%s: %s", (operator, part) => {
    assert.isTrue(wrongs.some(([by, text]) => by === operator && text.includes(part)))
  })
})

describe("places of faults", () => {
  /** Runs the body of a function with each place marked, and returns what it did with the places that it executed. */
  const run = (source: string, a: number) => {
    const candidates = candidatesOf(source)
    const calls: Array<string> = []
    const places: Array<string> = []
    Object.assign(globalThis, {
      reached: (i: number) => void places.push(source.slice(candidates[i]!.start, candidates[i]!.end))
    })
    try {
      // marked code is not typed
      new Function("a", "f", marked(source, [...candidates.entries()]))(a, (x: unknown) => calls.push(String(x)))
    } finally {
      Object.assign(globalThis, { reached: undefined })
    }
    return { calls, places }
  }

  it("are recorded where they are executed, also without semicolons and within one another", () => {
    const source = `const b = a
a === 1 && f(b + 2)
if (a === 2) f(3)
else f(4)
f(a > 5 ? { 6: 7 }[6] : 8)`
    const { calls, places } = run(source, 1)
    assert.deepStrictEqual(calls, ["3", "4", "8"])
    assert.includeMembers(places, ["a === 1 && f(b + 2)", "a === 1", "b + 2", "2", "a === 2", "f(4)", "4", "8"])
    for (const other of ["f(3)", "3", "7"]) assert.notInclude(places, other)
    assert.notInclude(places, "6", "a name of a property is no expression")
    assert.deepStrictEqual(run(source, 2).calls, ["3", "8"])
  })

  it("keep the statement before them apart", () => {
    const source = "f(1)\na && f(2)"
    for (const candidate of candidatesOf(source)) assert.doesNotThrow(() => new Function(planted(source, candidate)))
    const [other] = candidatesOf(source).filter(({ operator }) => operator === "boolean")
    const calls: Array<number> = []
    new Function("a", "f", planted(source, other!))(false, (x: number) => void calls.push(x))
    assert.deepStrictEqual(calls, [1, 2])
  })
})

describe("related tests", () => {
  it("are the nearest by imports first", () => {
    const tests = relatedTests()("src/domain/Margin.ts")
    assert.strictEqual(tests[0], "test/domain/Margin.test.ts")
    assert.include(tests, "test/backend/engine/Liquidation.test.ts")
  })
})
