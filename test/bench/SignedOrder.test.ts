import { assert, describe, it } from "vitest"
import { run } from "../../bench/SignedOrder.bench.ts"

describe("the benchmark of signed orders", () => {
  it("has a correct response of every variant, with the code of the measurement", { timeout: 60_000 }, async () => {
    const rows = await run({ rounds: 1, seconds: 5, connections: 4, requests_max: 40 })
    assert.deepStrictEqual(
      rows.map(({ errors, name }) => [name, errors]),
      [
        ["floor", 0],
        ["fastify", 0],
        ["gateway", 0]
      ]
    )
    for (const { cpu_us } of rows) assert.isAbove(cpu_us.median, 0)
  })
})
