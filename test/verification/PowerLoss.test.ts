/** 10,000 points and more: `node verification/power-loss/main.ts`. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import type { Fault } from "../../verification/power-loss/Life.ts"
import { judge, type Recording, recordLives } from "../../verification/power-loss/PowerLoss.ts"
import { canTrace, type Operation } from "../../verification/power-loss/Trace.ts"

const POINTS = 400
const COMMANDS = 120

/** What is said where an answer came before its entry was safe. */
const LOST = /entries are left, \d+ were acknowledged|the journal is gone, \d+ entries|malformed|damaged/u

const writesTo = ({ operations }: Recording, ending: string): number =>
  operations.filter(
    ({ kind, path }: Operation & { path?: string }) => kind === "write" && path?.endsWith(ending) === true
  ).length

/** Checks few points, up to the first failure, and reports it. */
const firstFailure = (recording: Recording): string => {
  const { failures } = judge(recording, { points: POINTS, seed: 7, failures_max: 1 })
  return failures[0] ?? assert.fail(`the fault stayed unseen at ${POINTS} points`)
}

describe.skipIf(!canTrace)("power that fails between any two writes", { timeout: 120_000 }, () => {
  let recording: Recording
  beforeAll(() => {
    recording = recordLives({ seed: 1, commands: COMMANDS })
  })

  it(`loses nothing that was acknowledged and invents nothing (${POINTS} points)`, () => {
    const { failures, unsynced } = judge(recording, { points: POINTS, seed: 1, failures_max: 5 })
    assert.deepStrictEqual(failures, [])
    // at most points there was something to lose, and every kind of file was written to
    assert.isAbove(unsynced, POINTS / 2)
    for (const file of ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite.head", ".tmp"])
      assert.isAbove(writesTo(recording, file), 10)
  })

  it("is the same for the same seed", () => {
    const again = recordLives({ seed: 1, commands: COMMANDS })
    assert.strictEqual(again.hashes.at(-1), recording.hashes.at(-1))
    assert.strictEqual(again.operations.length, recording.operations.length)
  })

  it.each<readonly [Fault, RegExp]>([
    ["synchronous = OFF", LOST],
    ["synchronous = NORMAL", LOST],
    ["answers before the sync", LOST],
    ["the witness before the commit", /position \d+ was committed: \d+ entries are lost/u]
  ])("finds what goes wrong with %s", (fault, said) => {
    assert.match(firstFailure(recordLives({ seed: 2, commands: COMMANDS, fault })), said)
  })

  it.each<readonly [string, (path: string) => boolean, RegExp]>([
    ["of the log", (path) => path.endsWith("-wal"), LOST],
    [
      "of a snapshot before it gets its name",
      (path) => path.endsWith(".tmp"),
      /snapshot at position \d+ .* is not used/u
    ],
    ["of the names in the data directory", (path) => path === "", /the journal is gone/u]
  ])("finds what is lost without the sync %s", (_what, isLost, said) => {
    const operations = recording.operations.filter((operation) => operation.kind !== "sync" || !isLost(operation.path))
    assert.isBelow(operations.length, recording.operations.length)
    assert.match(firstFailure({ ...recording, operations }), said)
  })
})
