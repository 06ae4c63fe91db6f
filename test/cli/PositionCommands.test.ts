import { Effect } from "effect"
import { assert, describe, it } from "vitest"
import { allPositions } from "../../src/cli/commands/AccountCommands.ts"
import { marginText } from "../../src/cli/commands/PositionCommands.ts"
import { flat } from "../http/Fixture.ts"

describe("gateway positions", () => {
  it("lists the positions of all pages", async () => {
    const pages = [
      { list: [1, 2], next_page_cursor: "second" },
      { list: [3], next_page_cursor: "" }
    ]
    const list = ({ query }: { readonly query: { readonly cursor?: string } }) =>
      Effect.succeed(pages[query.cursor === undefined ? 0 : 1])
    const all: ReadonlyArray<unknown> = await Effect.runPromise(allPositions({ position: { list } } as never))
    assert.deepStrictEqual(all, [1, 2, 3])
  })
})

describe("gateway position add-margin", () => {
  it("prints the margin that the position has, not the initial margin that it needs", () => {
    const position = { ...flat, position_im: "300", isolated_margin: "325", liq_price: "2700", seq: 1 }
    assert.strictEqual(marginText(position), "BTC-USDC margin 325, liquidation at 2700")
    assert.strictEqual(marginText({ ...position, liq_price: "" }), "BTC-USDC margin 325, liquidation at no price")
  })
})
