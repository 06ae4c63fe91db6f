import { assert, describe, it } from "@effect/vitest"
import type { Command, Script } from "../../verification/oracle/Oracle.ts"
import { type Replay, shrink } from "../../verification/oracle/Shrinker.ts"
import { BTC, ETH } from "../../verification/oracle/MarketTable.ts"

const script: Script = {
  options: { markets: [BTC, ETH], poolBase: "1", faucetLimit: "1", openOrdersMax: 1, simulatedIndex: false },
  commands: Array.from({ length: 40 }, (_, id): Command => ({
    id,
    request: {
      at: id,
      user: "u",
      account: "a",
      body: {
        kind: "place",
        symbol: BTC.symbol,
        side: "Buy",
        type: "Limit",
        qty: String(id),
        price: "1",
        link: `l-${id}`
      }
    }
  }))
}

/** A difference after the command 31, where the command 7 came before it and says so in its link. */
const differs: Replay = ({ commands }) => {
  const cause = commands.findIndex(
    ({ id, request: { body } }) => id === 7 && body.kind === "place" && body.link === "l-7"
  )
  const place = commands.findIndex(({ id }) => id === 31)
  return cause >= 0 && place > cause ? { place, what: "differs" } : undefined
}

describe("shrinker", () => {
  it("leaves the commands and fields that a difference needs", () => {
    const shrunk = shrink(script, differs)!
    assert.deepStrictEqual(
      shrunk.script.commands.map(({ id }) => id),
      [7, 31]
    )
    const [cause, last] = shrunk.script.commands.map(({ request }) => request)
    assert.include(cause!.body, { link: "l-7" })
    assert.notProperty(last!.body, "link")
    assert.strictEqual(last!.at, cause!.at)
    assert.lengthOf(shrunk.script.options.markets, 1)
    assert.include(shrunk, { place: 1, what: "differs" })
  })

  it("finds no shorter script where there is no difference", () => {
    assert.isUndefined(shrink(script, () => undefined))
  })
})
