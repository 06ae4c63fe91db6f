import { assert, describe, it } from "vitest"
import { run } from "../../bench/Start.bench.ts"
import { programOf } from "../../verification/harness/NodeProcess.ts"

describe("the benchmark of starts", { timeout: 120_000 }, () => {
  it("sees the open port and the first response of each variant", async () => {
    const rows = await run({ rounds: 1, variants: { gateway: [programOf("src/cli/main.ts")] } })
    assert.deepStrictEqual(
      rows.map(({ name }) => name),
      ["floor", "gateway"]
    )
    for (const { cpu_ms, first_ms, port_ms, wall_ms } of rows) {
      assert.isAbove(Math.min(cpu_ms.min, port_ms.min, first_ms), 0)
      assert.isAtLeast(wall_ms.min, port_ms.min)
    }
    assert.strictEqual(rows[0]!.ratio.median, 1)
  })
})
