/** The storm of `node verification/storm/main.ts` with few sockets: all reconnect, and no event is wrong. */
import { assert, describe, it } from "vitest"
import { isFleetInstalled } from "../../verification/harness/Fleet.ts"
import { run } from "../../verification/storm/Storm.ts"

describe.skipIf(!isFleetInstalled)("sockets whose gateway is killed", () => {
  it("are all back on the others, with what they followed", { timeout: 400_000 }, async () => {
    const { gaps, reasons, recovered, refused, unrecovered } = await run({
      sockets: 40,
      gateways: 2,
      users: 2,
      say: () => {}
    })
    assert.deepStrictEqual(
      { gaps, refused, unrecovered, reasons },
      { gaps: 0, refused: 0, unrecovered: 0, reasons: {} }
    )
    assert.isAtLeast(recovered, 10)
  })
})
