/** The Python client with connections cut under load: no event missed or repeated, no order lost or doubled. `CUTS=1000` runs more. */
import { assert, describe, it } from "vitest"
import { hasPython } from "../../verification/harness/Python.ts"
import { pythonCuts } from "../../verification/python/Cuts.ts"

const CUTS = Number(process.env["CUTS"] ?? 12)

describe.skipIf(!hasPython)(`the Python client, with ${CUTS} cut connections under load`, () => {
  it("misses and repeats no event, and places each order once", { timeout: 240_000 + CUTS * 1_000 }, async () => {
    const report = await pythonCuts({
      cuts: CUTS,
      seed: 7,
      users: 2,
      connections: 2,
      books: 1,
      kept: 8,
      killEvery: CUTS < 100 ? Infinity : 3,
      round_ms: 1_000,
      say: () => {}
    })
    const text = JSON.stringify(report)
    assert.deepStrictEqual(report.faults, [], text)
    assert.deepStrictEqual([report.gaps, report.repetitions, report.differences, report.bookFaults], [0, 0, 0, 0], text)
    assert.isAtLeast(report.cuts, CUTS)
    for (const count of [report.events, report.resumed, report.compared, report.booksCompared, report.orders]) {
      assert.isAbove(count, 0, text)
    }
  })
})
