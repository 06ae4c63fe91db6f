import { assert, describe, it } from "vitest"
import { isOfMarket } from "../../page/Market.ts"

describe("a topic of the selected market", () => {
  it("has exactly its symbol", () => {
    for (const topic of ["trade.BTC-USDC", "orderbook.50.BTC-USDC", "kline.1.BTC-USDC"])
      assert.isTrue(isOfMarket(topic, "BTC-USDC"), topic)
    for (const topic of ["trade.WBTC-USDC", "orderbook.50.WBTC-USDC", "trade.ETH-USDC", "order"])
      assert.isFalse(isOfMarket(topic, "BTC-USDC"), topic)
  })
})
