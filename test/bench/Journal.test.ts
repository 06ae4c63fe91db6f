import { assert, describe, it } from "vitest"
import { run } from "../../bench/Journal.bench.ts"

describe("the journal benchmark", () => {
  it("journals every given record, with the code of the measurement", { timeout: 60_000 }, async () => {
    const report = await run({ rounds: 1, callers: 16, records: 320, floorRecords: 16, peerBatch: 0 })
    assert.isUndefined(report.peer)
    for (const { rate, p50_us } of [report.floor, report.alone, report.journal]) {
      assert.isAbove(rate.median, 0)
      assert.isAbove(p50_us.median, 0)
    }
    assert.closeTo(report.ratio.median, report.journal.rate.median / report.floor.rate.median, 1e-9)
    assert.closeTo(report.syncs.median, report.journal.p50_us.median / report.floor.p50_us.median, 1e-9)
  })
})
