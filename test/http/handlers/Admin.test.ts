/** What the administrator is told where there is nothing to administrate. */
import { assert, it } from "vitest"
import { ADMIN, gateway } from "../Fixture.ts"

it("an index price is held by an embedded backend only", async () => {
  const { dispose, fetch } = gateway({ embedded: false })
  const body = { symbol: "BTC-USDC", price: "60000" }
  const response = await fetch("PUT", "/api/v1/admin/index-price", { authorization: ADMIN, body })
  const { details } = (await response.json()) as { readonly details: { readonly reason: string } }
  assert.deepStrictEqual([response.status, details.reason], [404, "ModuleDisabled"])
  await dispose()
})
