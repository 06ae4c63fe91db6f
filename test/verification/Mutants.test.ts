/** The faults and the operators of mutation testing. The faults themselves are run by `node verification/mutation/plant.ts`. */
import { existsSync, globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { candidatesOf, unique } from "../../verification/mutation/Candidates.ts"
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
  const wrongs = candidatesOf(source).map((candidate) => {
    const { right, wrong } = unique(source, candidate)
    assert.lengthOf(source.split(right), 2)
    return [candidate.operator, source.replace(right, () => wrong)] as const
  })
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

describe("related tests", () => {
  it("are the nearest by imports first", () => {
    const tests = relatedTests()("src/domain/Margin.ts")
    assert.strictEqual(tests[0], "test/domain/Margin.test.ts")
    assert.include(tests, "test/backend/engine/Liquidation.test.ts")
  })
})
