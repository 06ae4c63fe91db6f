import { assert, describe, it } from "vitest"
import { marginText } from "../../src/cli/commands/PositionCommands.ts"
import { flat } from "../http/Fixture.ts"

describe("gateway position add-margin", () => {
  it("prints the margin that the position has, not the initial margin that it needs", () => {
    const position = { ...flat, position_im: "300", isolated_margin: "325", liq_price: "2700", seq: 1 }
    assert.strictEqual(marginText(position), "BTC-USDC margin 325, liquidation at 2700")
    assert.strictEqual(marginText({ ...position, liq_price: "" }), "BTC-USDC margin 325, liquidation at no price")
  })
})
