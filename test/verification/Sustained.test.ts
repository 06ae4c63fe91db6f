/** The load of `node verification/sustained/main.ts`, for a short time. */
import { assert, describe, it } from "vitest"
import { losses, run } from "../../verification/sustained/Sustained.ts"

describe("twice the rate that an exchange can execute", () => {
  it("loses no acknowledged order, and leaves no gap in private streams", { timeout: 300_000 }, async () => {
    const outcome = await run({ minutes: 0.1, capacity_s: 4, idle_s: 1, users: 4 })
    assert.deepStrictEqual(losses(outcome), [])
    assert.isAbove(outcome.acknowledged, 0)
  })
})
