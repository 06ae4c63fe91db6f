import { assert, describe, it } from "vitest"
import { run } from "../../verification/stalls/Stalls.ts"

describe("verification/stalls, a small run", () => {
  it("executes every input of the table in slices", { timeout: 60_000 }, () => {
    const lines = run(40)
    const line = (name: string) => {
      const found = lines.find((each) => each.name.includes(name))
      assert.isDefined(found, name)
      return found!
    }
    for (const { events, name, turn_ms, whole_ms } of lines) {
      assert.isAbove(Math.min(turn_ms, whole_ms), 0, name)
      // of a command, which emits none here, the longest and the median
      if (events > 0) assert.isAtMost(turn_ms, whole_ms, name)
    }
    // a triggered order has two events and its account one, a payment three
    assert.isAtLeast(line("40 triggers met").events, 80)
    assert.isAtLeast(line("funding").events, 3 * 20)
    // the liquidation of a position of one of the two careless accounts
    assert.isAtLeast(line("liquidations").events, 10)
    assert.strictEqual(line("a second, marks still").events, 1)
  })
})
