/** The comparison of `node verification/consistency/main.ts`, over a few hundred actions on a real exchange. */
import { assert, describe, it } from "vitest"
import { run } from "../../verification/consistency/Run.ts"
import { startExchange } from "../../verification/harness/Exchange.ts"
import { basic } from "../../verification/harness/Settings.ts"

describe("REST and the sockets", () => {
  it(
    "Amendment 10: show the same record for the same seq, through 300 random actions",
    { timeout: 240_000 },
    async () => {
      const exchange = await startExchange({ env: { FAUCET_DAILY_LIMIT: "100000000", POOL_BASE_EQUITY: "50" } })
      try {
        const report = await run({
          url: exchange.url,
          admin: basic.authorization,
          actions: 300,
          seed: 3,
          users: 8,
          every: 10
        })
        assert.deepStrictEqual(report.differences, [])
        assert.isAbove(report.compared, 300)
        assert.isAbove(report.executions, 50)
      } finally {
        await exchange.close()
      }
    }
  )
})
