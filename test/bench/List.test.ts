import { assert, describe, it } from "vitest"
import { run } from "../../bench/List.bench.ts"

describe("the benchmark of lists", () => {
  it("produces the same text with every variant", () => {
    const rows = run({ rounds: 1, lists: 20 })
    assert.deepStrictEqual(
      rows.map(({ errors, name }) => [name, errors]),
      [
        ["stringify", 0],
        ["schema", 0],
        ["joined", 0]
      ]
    )
  })
})
