/**
 * A gateway whose system clock is set forward and back by an hour (libfaketime): no nonce is accepted twice, no token is
 * accepted outside its life, and limits measure elapsed time.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type GatewayProcess, startGateway } from "../../verification/harness/GatewayProcess.ts"
import { apiKeyHeaders, call, login, newKeys } from "../../verification/harness/RestClient.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import { fakeTime, isFakeTimeInstalled, shownBy } from "../../verification/harness/FakeTime.ts"

const HOUR_S = 3_600
const LIMIT = 5
const ME = "/api/v1/user/me"

describe.skipIf(!isFakeTimeInstalled)("a clock change", () => {
  const folder = mkdtempSync(join(tmpdir(), "clock-"))
  const clock = isFakeTimeInstalled ? fakeTime(folder, "gateway") : undefined
  let gateway: GatewayProcess
  const shown = () => shownBy(gateway)
  /** Sets the gateway's clock, and waits until it takes effect. */
  const set = async (by_s: number) => {
    clock!.set(by_s)
    const isThere = (at: number) => Math.abs(at - Date.now() - by_s * 1_000) < HOUR_S * 500
    await eventually(`the clock ${by_s} s off`, shown, isThere, 25_000)
  }

  beforeAll(async () => {
    gateway = await startGateway({
      dataDir: join(folder, "data"),
      env: {
        ...clock!.env,
        SIM_MAKER: "off",
        INDEX_SOURCE: "manual",
        LOG_LEVEL: "error",
        RATE_PUBLIC: String(LIMIT),
        ADMIN_USERNAME: "admin",
        ADMIN_PASSWORD: "correct-horse-battery"
      }
    })
  })
  afterAll(async () => {
    await gateway?.kill()
    rmSync(folder, { recursive: true, force: true })
  })

  it("by an hour, forward and back, twice", { timeout: 90_000 }, async () => {
    const ask = async (headers: Record<string, string>) => (await call(gateway, "GET", ME, { headers })).status
    const { token } = await login(gateway, newKeys())
    const bearer = { authorization: `Bearer ${token}` }
    const key = newKeys()
    const { status } = await call(gateway, "POST", "/api/v1/user/api-keys", {
      token,
      body: { public_key: key.publicKey, scopes: ["read"] }
    })
    assert.strictEqual(status, 201)
    const signed = apiKeyHeaders(key, "GET", ME)
    assert.strictEqual(await ask(signed), 200)
    assert.strictEqual(await ask(signed), 401)
    const tickers = async () => (await fetch(`${gateway.url}/api/v1/market/tickers?symbol=BTC-USDC`)).status
    const limited_at = performance.now()
    await eventually("the limit", tickers, (status) => status === 429)

    for (const by_s of [HOUR_S, 0, -HOUR_S, 0]) {
      await set(by_s)
      const where = `${by_s} s off`
      assert.strictEqual(await ask(bearer), by_s < 0 ? 401 : 200, `the token, ${where}`)
      assert.strictEqual(await ask(signed), 401, `the nonce again, ${where}`)
      const there = apiKeyHeaders(key, "GET", ME, { at_ms: await shown() })
      assert.strictEqual(await ask(there), 200, `a signature of that time, ${where}`)
      assert.strictEqual(await ask(there), 401, `and again, ${where}`)
      const limited = await tickers()
      // by then a window may have ended on a slow machine
      if (performance.now() - limited_at < 50_000) assert.strictEqual(limited, 429, `the limit, ${where}`)
    }
  })
})
