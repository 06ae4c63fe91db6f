/** The load of `node verification/overload/main.ts`, for a short time: long enough for a gateway that takes its own backlog for a fault of the backend. */
import { assert, describe, it } from "vitest"
import { run } from "../../verification/overload/Overload.ts"

const LAST_S = 3

describe("callers that do not pause", () => {
  it(
    "Amendment 30: do not make a gateway call its backend unhealthy, and are served on",
    { timeout: 300_000 },
    async () => {
      const outcome = await run({ callers: 256, seconds: 12, users: 8 })
      const reasons = (of: "refused" | "uncanceled") =>
        new Set(outcome.seconds.flatMap((second) => Object.keys(second[of])))
      // a slow machine refuses some as Overloaded, and a very slow one misses deadlines
      assert.notInclude([...reasons("refused")], "BackendLagging", JSON.stringify(outcome.seconds))
      for (const reason of ["BackendLagging", "Overloaded"]) assert.notInclude([...reasons("uncanceled")], reason)
      const last = outcome.seconds.slice(-LAST_S).reduce((sum, { accepted }) => sum + accepted, 0)
      assert.isAbove(last, 0, JSON.stringify(outcome.seconds))
      assert.deepStrictEqual([outcome.deaf, outcome.closed], [0, 0])
      for (const [what, ms] of Object.entries(outcome.recovery)) assert.isDefined(ms, what)
    }
  )
})
