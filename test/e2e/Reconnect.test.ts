/** Clients that are disconnected at random moments miss nothing and get nothing twice. `CYCLES=10000` for more. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { reconnect } from "../../verification/reconnect/Reconnect.ts"

const CYCLES = Number(process.env["CYCLES"] ?? 50)

describe(`${CYCLES} disconnects under load`, () => {
  it.live(
    "resume, through a kill of the gateway, or report that they could not and match the state of REST",
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
