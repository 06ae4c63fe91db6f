import { assert, describe, it } from "vitest"
import { BURSTS, run } from "../../bench/FanOut.bench.ts"

describe("the fan-out benchmark", () => {
  it("delivers every event to every client, with the code of the measurement", { timeout: 60_000 }, async () => {
    const { bursts, hashes, leftOut, memory } = await run({ clients: 20, rounds: 1, ms: 60_000, events_max: 20 })
    const variants = ["floor", "nchan", "ws", "gateway"].filter((name) => !leftOut.includes(name))
    assert.includeMembers(variants, ["ws", "gateway"])
    assert.deepStrictEqual([...bursts.keys()], [...BURSTS])
    for (const rows of bursts.values()) {
      assert.deepStrictEqual(
        rows.map(({ name }) => name),
        variants
      )
      for (const { cpu_us } of rows) assert.isAbove(cpu_us.median, 0)
    }
    assert.deepStrictEqual([...hashes.keys()], variants)
    assert.lengthOf(new Set(hashes.values()), 1)
    assert.deepStrictEqual(
      memory.map(({ name }) => name),
      variants
    )
  })
})
