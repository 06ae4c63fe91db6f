import { assert, describe, it } from "@effect/vitest"
import { simulate } from "./Simulation.ts"

const SEEDS = 200
const COMMANDS = 150

describe("a simulated exchange on a machine that dies", () => {
  it(`loses, invents and repeats nothing (${SEEDS} seeds of ${COMMANDS} commands)`, { timeout: 120_000 }, async () => {
    let [crashes, fills, entries] = [0, 0, 0]
    for (let seed = 1; seed <= SEEDS; seed++) {
      const outcome = await simulate({ seed, commands: COMMANDS })
      crashes += outcome.crashes
      fills += outcome.fills
      entries += outcome.entries
    }
    assert.isAbove(crashes, SEEDS)
    assert.isAbove(fills, 10 * SEEDS)
    assert.isAbove(entries, 50 * SEEDS)
  })

  it("runs the same for the same seed", async () => {
    assert.deepStrictEqual(await simulate({ seed: 5, commands: 300 }), await simulate({ seed: 5, commands: 300 }))
  })
})
