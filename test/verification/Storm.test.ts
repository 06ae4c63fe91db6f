/** The storm of `node verification/storm/main.ts` with few sockets: all come back, and nobody is told anything wrong. */
import { assert, describe, it } from "vitest"
import { run } from "../../verification/storm/main.ts"
import { isPossible } from "../../verification/storm/Fleet.ts"

describe.skipIf(!isPossible)("sockets whose gateway is killed", () => {
  it("are all back on the others, with what they followed", { timeout: 400_000 }, async () => {
    const { gaps, recovered, refused, unrecovered, words } = await run({
      sockets: 40,
      gateways: 2,
      users: 2,
      say: () => {}
    })
    assert.deepStrictEqual({ gaps, refused, unrecovered, words }, { gaps: 0, refused: 0, unrecovered: 0, words: {} })
    assert.isAtLeast(recovered, 10)
  })
})
