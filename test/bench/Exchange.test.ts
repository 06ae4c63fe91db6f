import { assert, describe, it } from "vitest"
import { run } from "../../bench/Exchange.bench.ts"

describe("bench/exchange, a small run", () => {
  it("measures the gateway and the naive exchange under the same load", { timeout: 120_000 }, async () => {
    const { gateway, naive, ratios } = await run({ callers: 16, kind: "mix", rounds: 1, seconds: 1 })
    const windows = {
      gateway: gateway.warm,
      "gateway, cold": gateway.cold,
      naive: naive.warm,
      "naive, cold": naive.cold
    }
    for (const [name, window] of Object.entries(windows)) {
      assert.isAbove(window.commands_per_s, 10, name)
      assert.isAbove(window.cpu_us, 0, name)
      assert.deepStrictEqual(window.errors, {}, name)
      // each command changes an order, and a fill has a maker and a taker
      assert.isAbove(window.frames, 1, name)
    }
    assert.lengthOf(ratios, 1)
  })
})
