/** Responses to market reads. */
import { Effect } from "effect"
import { assert, it } from "vitest"
import { RefereeUnavailable } from "../../../src/services/Referee.ts"
import { gateway, well } from "../Fixture.ts"

it("a read reports that the backend does not respond; a command also reports whether it was sequenced", async () => {
  const away = { ...well, connected: false, unhealthy: true, unhealthy_for_ms: 90_000, age_ms: 90_000 }
  const { dispose, fetch } = gateway({
    health: { sequencer: () => away, referee: () => well },
    referee: { pool: () => Effect.fail(new RefereeUnavailable({})) }
  })
  const asked = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(method, path, body === undefined ? {} : { body })
    const { details, message } = (await response.json()) as { message: string; details: { reason: string } }
    return [response.status, details.reason, message]
  }
  const read = [503, "BackendUnavailable", "the trading backend does not answer"]
  assert.deepStrictEqual(await asked("GET", "/api/v1/market/tickers?symbol=BTC-USDC"), read)
  assert.deepStrictEqual(await asked("GET", "/api/v1/market/insurance-pool?symbol=BTC-USDC"), read)
  const transfer = {
    transfer_id: "018f3f1e-5d5b-7a00-8000-000000000001",
    from_sub_account_address: "1",
    to_sub_account_address: "2",
    asset: "USDC",
    amount: "1"
  }
  const [, , text] = await asked("POST", "/api/v1/account/transfer", transfer)
  assert.strictEqual(text, "the trading backend does not answer; nothing was sequenced")
  await dispose()
})

it("candles are those of the price that the path names", async () => {
  const kinds: Array<string> = []
  const { dispose, fetch } = gateway({
    history: {
      candles: ({ kind }) => {
        kinds.push(kind)
        return Effect.succeed([])
      }
    }
  })
  for (const [path, kind] of [
    ["kline", "trade"],
    ["mark-price-kline", "mark"],
    ["index-price-kline", "index"]
  ] as const) {
    const response = await fetch("GET", `/api/v1/market/${path}?symbol=BTC-USDC&interval=1`)
    assert.strictEqual(response.status, 200, path)
    assert.deepStrictEqual([...new Set(kinds.splice(0))], [kind], path)
  }
  await dispose()
})
