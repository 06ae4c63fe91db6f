import { existsSync } from "node:fs"
import { assert, describe, it } from "vitest"
import { run } from "../../verification/replay/Run.ts"

const file = "../shared/data/es-mbo-2023-12-25.csv.gz"
const options = { file, opening: 400, steps: 150, pauses: 3, subscribers: 8, seed: 3, onProgress: () => {} }

describe.skipIf(!existsSync(file))("a replay of the recorded session", { timeout: 120_000 }, () => {
  for (const [title, { crashes, in_flight }] of Object.entries({
    "one request at a time, with a crash": { in_flight: 1, crashes: 1 },
    "64 requests in flight": { in_flight: 64, crashes: 0 }
  })) {
    it(`accounts for every request and keeps the book of the feed equal to REST: ${title}`, async () => {
      const outcome = await run({ ...options, in_flight, crashes })
      const { history, report, stateHash } = outcome
      const refused = [...report.refused.values()].reduce((a, b) => a + b, 0)
      assert.strictEqual(report.accepted + refused, report.requests)
      assert.isAtLeast(report.acknowledged.size, 400)
      assert.deepStrictEqual([history.missing, history.doubled], [[], []])
      assert.isAtLeast(report.bookChecks, 8 * 4)
      assert.deepStrictEqual([report.bookFaults, report.crossed], [0, 0])
      assert.strictEqual(outcome.crashes, crashes)
      assert.match(stateHash, /^[0-9a-f]{64}$/u)
    })
  }
})
