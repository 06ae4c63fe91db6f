import { assert, describe, it } from "vitest"
import { run } from "../../bench/Backend.bench.ts"

describe("the backend benchmark", () => {
  it("runs every command of each kind, with the code of the measurement", { timeout: 60_000 }, async () => {
    const report = await run({ rounds: 1, batch: 32, batches: 2, accounts: 4 })
    for (const { max, median, min } of Object.values(report)) {
      assert.isAbove(min, 0)
      assert.isTrue(min <= median && median <= max)
    }
  })
})
