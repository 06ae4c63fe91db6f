/** The steps of docs/operations/settings.md that rotate the signing key of tokens. */
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "vitest"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { call, login, newKeys } from "../../verification/harness/RestClient.ts"
import { eventually } from "../../verification/harness/Wait.ts"

const seed = () => randomBytes(32).toString("hex")

it(
  "rotates the signing key, and no user has to log in again until the old key is removed",
  { timeout: 120_000 },
  async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "gateway-e2e-"))
    const wallet = newKeys()
    const during = async <A>(env: Record<string, string>, what: (exchange: Exchange) => Promise<A>): Promise<A> => {
      const exchange = await startExchange({ dataDir, env })
      return what(exchange).finally(exchange.close)
    }
    const keys = async (exchange: Exchange): Promise<ReadonlyArray<string>> =>
      (await call(exchange, "GET", "/.well-known/jwks.json")).body.keys.map(({ x }: { readonly x: string }) => x)
    // retries while the gateway catches up with its backend (503)
    const statusOf = async (exchange: Exchange, token: string) => {
      const ask = () => call(exchange, "GET", "/api/v1/user/sub-accounts", { token })
      return (await eventually("an answer", ask, ({ status }) => status !== 503)).status
    }
    const tokenOf = async (exchange: Exchange): Promise<string> => {
      const enter = () => login(exchange, wallet).catch((error: unknown) => String(error))
      const session = await eventually("a login", enter, (session) => typeof session !== "string")
      return typeof session === "string" ? assert.fail(session) : session.token
    }
    try {
      const [older, newer] = [seed(), seed()]
      const before = await during({ JWT_SIGNING_KEY: older }, async (exchange) => {
        const [key] = await keys(exchange)
        return { key: key!, token: await tokenOf(exchange) }
      })
      const changed = { JWT_SIGNING_KEY: newer, JWT_VERIFY_KEYS: before.key }
      const after = await during(changed, async (exchange) => {
        const [key, ...others] = await keys(exchange)
        assert.deepStrictEqual(others, [before.key])
        assert.strictEqual(await statusOf(exchange, before.token), 200)
        return { key: key!, token: await tokenOf(exchange) }
      })
      // in a fleet, gateways with the old key must accept tokens of the new one
      await during({ JWT_SIGNING_KEY: older, JWT_VERIFY_KEYS: after.key }, async (exchange) =>
        assert.strictEqual(await statusOf(exchange, after.token), 200)
      )
      await during({ JWT_SIGNING_KEY: newer }, async (exchange) => {
        assert.strictEqual(await statusOf(exchange, before.token), 401)
        assert.strictEqual(await statusOf(exchange, after.token), 200)
      })
    } finally {
      rmSync(dataDir, { recursive: true, force: true })
    }
  }
)
