import { assert, describe, it } from "vitest"
import { KINDS, run } from "../../bench/SharedJournal.bench.ts"
import { isPostgresInstalled } from "../../verification/harness/PostgresServer.ts"

describe.skipIf(!isPostgresInstalled)("the shared journal benchmark", () => {
  it("journals every given record in each store", { timeout: 120_000 }, async () => {
    const [report] = await run([{ rounds: 1, callers: 16, records: 320 }])
    for (const kind of KINDS) {
      assert.isAbove(report![kind].rate.median, 0)
      assert.isAbove(report![kind].p50_us.median, 0)
      assert.closeTo(report![kind].ratio.median, report![kind].rate.median / report!.file.rate.median, 1e-9)
    }
  })
})
