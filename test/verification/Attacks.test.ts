/** The attacks of `node verification/attacks/main.ts`, few of them: the good client is served. */
import { assert, describe, it } from "vitest"
import { comparisons, run } from "../../verification/attacks/Attacks.ts"

describe("attacks", () => {
  it("leave the good client its answers", { timeout: 240_000 }, async () => {
    const pairs = await run("resets", { count: 20, pairs: 1, requests: 5 })
    assert.lengthOf(pairs, 1)
    for (const { attacked, quiet } of pairs) assert.deepStrictEqual([quiet.refused, attacked.refused], [0, 0])
  })

  it("on secrets are measured for both kinds of guesses", () => {
    for (const { means_ns, samples, t } of Object.values(comparisons(100))) {
      assert.isTrue(Number.isFinite(t))
      assert.isAbove(Math.min(...means_ns), 0)
      assert.isAtLeast(samples, 180)
    }
  })
})
