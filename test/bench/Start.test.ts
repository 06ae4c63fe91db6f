import { assert, describe, it } from "vitest"
import { run } from "../../bench/Start.bench.ts"
import { programOf } from "../../verification/harness/NodeProcess.ts"

describe("the benchmark of starts", { timeout: 120_000 }, () => {
  it("sees the open port and the first responses of each variant", async () => {
    const rows = await run({ rounds: 1, variants: { gateway: [programOf("src/cli/main.ts")] } })
    assert.deepStrictEqual(
      rows.map(({ name }) => name),
      ["floor", "gateway"]
    )
    for (const { cpu_ms, first_ms, port_ms, probe_ms, wall_ms } of rows) {
      assert.isAbove(Math.min(cpu_ms.min, port_ms.min, first_ms), 0)
      assert.isAtLeast(probe_ms.min, port_ms.min)
      assert.isAtLeast(wall_ms.min, probe_ms.min)
    }
    assert.strictEqual(rows[0]!.ratio.median, 1)
  })
})
