/** Complete gateways that share a Redis through REDIS_URL alone. */
import { Redacted } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { isRedisInstalled, RedisServer } from "../../verification/harness/RedisServer.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"

describe.skipIf(!isRedisInstalled)("two gateways and a Redis", () => {
  let redis: RedisServer
  let gateways: ReadonlyArray<Exchange>
  beforeAll(async () => {
    redis = await RedisServer.start()
    const env = { REDIS_URL: Redacted.value(redis.url), RATE_LIMIT_MODE: "enforce", RATE_PUBLIC: "5" }
    gateways = [await startExchange({ env }), await startExchange({ env })]
  })
  afterAll(async () => {
    for (const gateway of gateways) await gateway.close()
    await redis.remove()
  })

  it("count the requests of an address together", async () => {
    const statuses: Array<number> = []
    for (let i = 0; i < 7; i++) {
      const response = await fetch(`${gateways[i % 2]!.url}/api/v1/market/tickers?symbol=BTC-USDC`)
      statuses.push(response.status)
      await response.arrayBuffer()
    }
    assert.deepStrictEqual(statuses, [200, 200, 200, 200, 200, 429, 429])
  })

  it("continue without it, each with local limits", async () => {
    await redis.kill()
    const statuses: Array<number> = []
    for (const { url } of gateways) {
      for (let i = 0; i < 6; i++) {
        statuses.push((await fetch(`${url}/api/v1/market/tickers?symbol=BTC-USDC`)).status)
      }
    }
    assert.deepStrictEqual(
      statuses,
      [...Array(2)].flatMap(() => [200, 200, 200, 200, 200, 429])
    )
  })
})
