import { assert, describe, it } from "@effect/vitest"
import { simulate } from "../../verification/simulation/Simulation.ts"

const SEEDS = 200
const COMMANDS = 150

describe("a simulated exchange on a machine that dies", () => {
  it(`loses, invents and repeats nothing (${SEEDS} seeds of ${COMMANDS} commands)`, { timeout: 600_000 }, async () => {
    let [crashes, fills, deleveraged, marked, fired, late, entries] = [0, 0, 0, 0, 0, 0, 0]
    for (let seed = 1; seed <= SEEDS; seed++) {
      const outcome = await simulate({ seed, commands: COMMANDS })
      crashes += outcome.crashes
      fills += outcome.fills
      deleveraged += outcome.deleveraged
      marked += outcome.marked
      fired += outcome.fired
      late += outcome.late
      entries += outcome.entries
    }
    assert.isAbove(crashes, SEEDS)
    assert.isAbove(fills, 10 * SEEDS)
    assert.isAbove(deleveraged, 0)
    assert.isAbove(marked, SEEDS)
    assert.isAbove(fired, SEEDS)
    assert.isAbove(late, 0, "no trigger was met and left before it fired")
    assert.isAbove(entries, 50 * SEEDS)
  })

  it("selects triggers at the end of a step, whose first trade can replace the mark as the last price", async () => {
    const { fired } = await simulate({ seed: 7_000_890, commands: COMMANDS })
    assert.isAbove(fired, 0)
  })

  it("fails in the same way for the same seed, and prints it", async () => {
    const failure = async () => {
      try {
        await simulate({ seed: 3, commands: 300, faults: { keep: (entries, next) => (next() < 0.1 ? [] : entries) } })
      } catch (error) {
        return (error as Error).message
      }
      return assert.fail("the fault stayed unseen")
    }
    const first = await failure()
    assert.match(first, /^seed 3: /)
    assert.strictEqual(await failure(), first)
  })

  it("runs the same for the same seed", async () => {
    assert.deepStrictEqual(await simulate({ seed: 5, commands: 300 }), await simulate({ seed: 5, commands: 300 }))
  })
})
