import { join } from "node:path"
import { assert, describe, it, onTestFinished } from "vitest"
import { run } from "../../bench/Journal.bench.ts"
import { JournalSubject, origin } from "../../bench/JournalSubject.ts"
import { Journal } from "../../src/backend/journal/Journal.ts"
import { temporaryFolder } from "../../verification/harness/Programs.ts"

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

  it("ends with a journal that cannot be written", async () => {
    const folder = temporaryFolder("journal")
    onTestFinished(folder.remove)
    const journal = Journal.open(join(folder.path, "journal.sqlite"), origin)
    const subject = new JournalSubject(journal)
    journal.close()
    const failure = await subject.run(2, 4).catch((cause: unknown) => cause)
    assert.instanceOf(failure, Error)
    await subject.stop()
  })
})
