/**
 * A gateway whose machine's clock is set forward and back by an hour (libfaketime): no nonce is taken twice, no token is good
 * outside its life, and limits go by the time that passes.
 */
import { execFileSync } from "node:child_process"
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type GatewayProcess, startGateway } from "../../scripts/GatewayProcess.ts"
import { isInstalled } from "../doubles/RedisServer.ts"
import { apiKeyHeaders, call, eventually, login, newKeys } from "./Exchange.ts"

const HOUR_S = 3_600
const LIMIT = 5
const ME = "/api/v1/user/me"

describe.skipIf(!isInstalled("faketime"))("a clock that is set", () => {
  const folder = mkdtempSync(join(tmpdir(), "clock-"))
  const offset = join(folder, "offset")
  let gateway: GatewayProcess
  /** The time that the gateway goes by. */
  const shown = async () => Date.parse((await fetch(`${gateway.url}/health`)).headers.get("date") ?? "")
  /** Sets its clock, and waits until it shows that. */
  const set = async (by_s: number) => {
    // at once: the gateway reads it whenever it asks for the time
    writeFileSync(`${offset}.next`, by_s < 0 ? `${by_s}\n` : `+${by_s}\n`)
    renameSync(`${offset}.next`, offset)
    const isThere = (at: number) => Math.abs(at - Date.now() - by_s * 1_000) < HOUR_S * 500
    await eventually(`the clock ${by_s} s off`, shown, isThere, 25_000)
  }

  beforeAll(async () => {
    writeFileSync(offset, "+0\n")
    const library = execFileSync("faketime", ["-m", "-f", "+0", "printenv", "LD_PRELOAD"], { encoding: "utf8" }).trim()
    gateway = await startGateway({
      dataDir: join(folder, "data"),
      env: {
        LD_PRELOAD: library,
        FAKETIME_TIMESTAMP_FILE: offset,
        FAKETIME_NO_CACHE: "1",
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
        SIM_MAKER: "off",
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
      // by then a window may be over on a machine that is slow
      if (performance.now() - limited_at < 50_000) assert.strictEqual(limited, 429, `the limit, ${where}`)
    }
  })
})
