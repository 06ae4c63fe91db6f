import { assert, describe, it } from "vitest"
import { run } from "../../bench/Event.bench.ts"

describe("the event benchmark", () => {
  it("shows and writes every event, with the code of the measurement", { timeout: 60_000 }, async () => {
    const report = await run({ rounds: 1, turn: 8, turns: 2, accounts: 4 })
    for (const { max, median, min } of Object.values(report)) {
      assert.isAbove(min, 0)
      assert.isTrue(min <= median && median <= max)
    }
  })
})
