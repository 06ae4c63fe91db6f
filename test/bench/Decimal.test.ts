import { assert, describe, it } from "vitest"
import { run } from "../../bench/Decimal.bench.ts"

describe("the decimal benchmark", () => {
  it("formats the same texts with every variant, with the code of the measurement", () => {
    const rows = run({ rounds: 1, trips: 60_000 })
    for (const prices of ["near", "spread"] as const) {
      const own = rows.filter(({ load }) => load === prices)
      assert.deepStrictEqual(
        own.map(({ name }) => name),
        ["bigint", "grid", "number"]
      )
      assert.strictEqual(new Set(own.map(({ hash }) => hash)).size, 1)
    }
    for (const { cpu_ns } of rows) assert.isAbove(cpu_ns.median, 0)
  })
})
