import { assert, describe, it } from "vitest"
import { run } from "../../bench/EventLatency.bench.ts"

describe("the event-latency benchmark", () => {
  it("sees the event of every order, with the code of the measurement", { timeout: 120_000 }, async () => {
    const rows = await run({ rounds: 1, orders: 5 })
    assert.deepStrictEqual(
      rows.map(({ name }) => name),
      ["floor", "unary", "gateway"]
    )
    for (const { p50_us } of rows) assert.isAbove(p50_us.median, 0)
  })
})
