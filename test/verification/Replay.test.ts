import { existsSync } from "node:fs"
import { assert, describe, it } from "vitest"
import { run } from "../../verification/replay/Run.ts"

const file = "../shared/data/es-mbo-2023-12-25.csv.gz"

describe.skipIf(!existsSync(file))("a replay of the recorded session", () => {
  it(
    "accounts for every request, keeps the book of the feed equal to REST, and survives a crash",
    { timeout: 120_000 },
    async () => {
      const { crashes, history, report, stateHash } = await run({
        file,
        opening: 400,
        steps: 150,
        pauses: 3,
        subscribers: 8,
        crashes: 1,
        seed: 3,
        onProgress: () => {}
      })
      const refused = [...report.refused.values()].reduce((a, b) => a + b, 0)
      assert.strictEqual(report.accepted + refused, report.requests)
      assert.isAtLeast(report.acknowledged.size, 400)
      assert.deepStrictEqual([history.missing, history.doubled], [[], []])
      assert.isAtLeast(report.bookChecks, 8 * 4)
      assert.deepStrictEqual([report.bookFaults, report.crossed], [0, 0])
      assert.strictEqual(crashes, 1)
      assert.match(stateHash, /^[0-9a-f]{64}$/u)
    }
  )
})
