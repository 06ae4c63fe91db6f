/** Clients that are cut off at random moments miss nothing, and are told nothing twice. `CYCLES=10000` for more. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { reconnect } from "../../verification/reconnect/Reconnect.ts"

const CYCLES = Number(process.env["CYCLES"] ?? 50)

describe(`${CYCLES} connections that are cut under load`, () => {
  it.live(
    "go on where they stood, through a kill of the gateway, or say that they could not and hold what REST holds",
    () =>
      Effect.gen(function* () {
        const report = yield* reconnect({
          cuts: CYCLES,
          seed: 7,
          users: 2,
          connections: 5,
          books: 2,
          kept: 4,
          killEvery: 2,
          round_ms: 1_500,
          say: () => {}
        })
        const text = JSON.stringify(report)
        assert.deepStrictEqual(report.faults, [], text)
        assert.deepStrictEqual([report.gaps, report.repetitions, report.differences, report.bookFaults], [0, 0, 0, 0])
        assert.isAtLeast(report.total, CYCLES)
        for (const count of [report.messages, report.resumed, report.compared, report.booksCompared]) {
          assert.isAbove(count, 0, text)
        }
      }),
    { timeout: 120_000 + CYCLES * 1_000 }
  )
})
