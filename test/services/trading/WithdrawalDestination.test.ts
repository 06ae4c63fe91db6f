/** Destinations of withdrawals on both rails. */
import { assert, describe, it } from "vitest"
import { Effect } from "effect"
import { destinationOf } from "../../../src/services/trading/WithdrawalDestination.ts"
import { tokenCaller } from "../../http/Fixture.ts"

const address = `0x${"c0".repeat(32)}`
const party = `alice::1220${"ab".repeat(32)}`
const callers = { address: tokenCaller, party: { ...tokenCaller, rail: "party" } } as const
const outcome = (rail: "address" | "party", text: string) =>
  Effect.runPromise(
    Effect.match(destinationOf(callers[rail], text), { onSuccess: String, onFailure: (error) => error })
  )

describe("the destination of a withdrawal", () => {
  it("is an address in full, or a party id, as the rail of the user has it", async () => {
    assert.strictEqual(await outcome("address", "C0".repeat(32)), address)
    assert.strictEqual(await outcome("party", party), party)
  })

  it("is refused in the form of the other rail, with the accepted form", async () => {
    for (const [rail, text, accepted] of [
      ["address", party, /^destination: expected an address in full/u],
      ["address", "0xc0", /^destination: expected an address in full/u],
      ["party", address, /^destination: expected a party id/u]
    ] as const) {
      const error = await outcome(rail, text)
      if (typeof error === "string") return assert.fail(error)
      assert.strictEqual(error.reason, "InvalidField")
      assert.strictEqual(error.details["field"], "destination")
      assert.match(error.message ?? "", accepted)
    }
  })
})
