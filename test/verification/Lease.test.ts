/** The simulation of the lease: a few seeds of it, and faults that it must find. */
import { assert, describe, it } from "vitest"
import { PLANTED, simulate } from "../../verification/lease/Simulation.ts"

describe("the lease of a shared journal", () => {
  it("loses no acknowledged turn, and has one leader that serves reads", async () => {
    for (let seed = 1; seed <= 8; seed++) assert.deepStrictEqual((await simulate(seed)).violations, [], `seed ${seed}`)
  })

  it.each(PLANTED)("is found to be broken by %s", async (planted) => {
    for (let seed = 1; seed <= 40; seed++) if ((await simulate(seed, planted)).violations.length > 0) return
    assert.fail("it was not found")
  })
})
