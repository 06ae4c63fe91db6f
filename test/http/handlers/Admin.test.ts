/** Responses to an administrator where there is nothing to administrate. */
import { assert, expect, it } from "vitest"
import { Effect } from "effect"
import type { CommandBody } from "../../../src/services/Sequencer.ts"
import { ADMIN, btc, type Doubles, draft, gateway } from "../Fixture.ts"

it("an index price is held by an embedded backend only", async () => {
  const { dispose, fetch } = gateway({ embedded: false })
  const body = { symbol: "BTC-USDC", price: "60000" }
  const response = await fetch("PUT", "/api/v1/admin/index-price", { authorization: ADMIN, body })
  const { details } = (await response.json()) as { readonly details: { readonly reason: string } }
  assert.deepStrictEqual([response.status, details.reason], [404, "ModuleDisabled"])
  await dispose()
})

/** Sets an index price; the commands that a gateway with these markets submits for it. */
const settingIndexPrice = (markets: Doubles["markets"] = {}) => {
  const bodies: Array<CommandBody> = []
  const { dispose, fetch } = gateway({
    markets,
    sequencer: {
      submit: ({ body }) => {
        bodies.push(body)
        const ack = { seq: 1, accepted_at_ms: 1, orders: [], duplicate: false, version: undefined, result: undefined }
        return Effect.succeed(ack)
      }
    }
  })
  const set = async (price: string, symbol = "BTC-USDC") => {
    const response = await fetch("PUT", "/api/v1/admin/index-price", { authorization: ADMIN, body: { symbol, price } })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  return { bodies, dispose, set }
}

it("an index price is above 0, and returned as it applies", async () => {
  const { bodies, dispose, set } = settingIndexPrice()
  const refused = await set("0.0")
  assert.strictEqual(refused.status, 400)
  assert.deepInclude(refused.body["details"] as object, { reason: "OutOfRange", field: "price" })
  assert.strictEqual((await set("1", "NO-USDC")).status, 404)
  assert.deepStrictEqual(bodies, [])
  assert.deepStrictEqual(await set("60000.50"), { status: 200, body: { symbol: "BTC-USDC", price: "60000.5" } })
  assert.deepStrictEqual(bodies, [{ type: "set_index_price", symbol: "BTC-USDC", price: "60000.5" }])
  await dispose()
})

it("an index price is set before the markets are loaded", async () => {
  const { bodies, dispose, set } = settingIndexPrice({ instrument: () => undefined, instruments: () => [] })
  assert.strictEqual((await set("60000")).status, 200)
  assert.lengthOf(bodies, 1)
  await dispose()
})

it.each(["PUT", "DELETE"] as const)("Amendment 1: %s of a ban needs the wallet in full", async (method) => {
  const { dispose, fetch } = gateway({})
  const asked = async (wallet: string) => {
    const options = { authorization: ADMIN, ...(method === "PUT" ? { body: {} } : {}) }
    const response = await fetch(method, `/api/v1/admin/bans/${encodeURIComponent(wallet)}`, options)
    return (await response.json()) as { readonly message: string; readonly details: Record<string, unknown> }
  }
  for (const wallet of ["dad", "0xdad", "ab".repeat(31), "alice::1220ab"]) {
    const { details, message } = await asked(wallet)
    expect(details, wallet).toEqual({ reason: "InvalidField", field: "root_address" })
    expect(message).toContain("64 hex digits")
  }
  for (const wallet of ["ab".repeat(32), `0x${"ab".repeat(32)}`, `alice::1220${"ab".repeat(32)}`])
    expect(await asked(wallet), wallet).toMatchObject({ banned: method === "PUT" })
  await dispose()
})

it("a competition of a market is 503 before the markets are loaded, not of an unknown market", async () => {
  const { dispose, fetch } = gateway({ markets: { instrument: () => undefined, instruments: () => [] } })
  const { created_time: _, finalized_time: __, id, state: ___, ...fields } = draft
  const target = "/api/v1/admin/competitions"
  for (const [method, path, body] of [
    ["POST", target, fields],
    ["PATCH", `${target}/${id}`, { symbol: btc.symbol }]
  ] as const) {
    const response = await fetch(method, path, { authorization: ADMIN, body })
    const { details } = (await response.json()) as { readonly details: { readonly reason: string } }
    assert.deepStrictEqual([response.status, details.reason], [503, "BackendUnavailable"], method)
  }
  await dispose()
})
