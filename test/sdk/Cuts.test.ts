/** The plain client through cuts under orders: nothing missed, nothing twice, no order lost or doubled. `CUTS=1000` for more. */
import { assert, describe, it } from "vitest"
import { sdkCuts } from "../../verification/sdk/Cuts.ts"

const CUTS = Number(process.env["CUTS"] ?? 24)

describe(`the plain client, ${CUTS} times cut off under orders`, () => {
  it("misses no event, hears none twice, and places each order once", { timeout: 240_000 + CUTS * 1_000 }, async () => {
    const report = await sdkCuts({
      cuts: CUTS,
      seed: 7,
      users: 2,
      connections: 2,
      books: 1,
      kept: 8,
      // a restart takes a busy machine long; the typed client's test has some
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
