import { assert, describe, it } from "@effect/vitest"
import * as Reads from "../../../src/backend/engine/Reads.ts"
import { Bench } from "../Bench.ts"

describe("markets", () => {
  it("ships the markets of the contract, including deductions", () => {
    const { state } = new Bench()
    assert.deepStrictEqual(
      Reads.riskTiers(state).map(
        (tier) => `${tier.symbol} ${tier.risk_limit_value} ${tier.mm_deduction} ${tier.max_leverage}`
      ),
      [
        "BTC-USDC 2000000 0 50",
        "BTC-USDC 10000000 20000 25",
        "BTC-USDC 50000000 320000 10",
        "ETH-USDC 1000000 0 50",
        "ETH-USDC 5000000 10000 25",
        "ETH-USDC 25000000 160000 10",
        "SOL-USDC 500000 0 25",
        "SOL-USDC 2500000 15000 10",
        "SOL-USDC 10000000 140000 5",
        "DOGE-USDC 250000 0 20",
        "DOGE-USDC 1000000 6250 10",
        "DOGE-USDC 5000000 56250 5"
      ]
    )
    assert.deepInclude(Reads.instruments(state)[0], {
      symbol: "BTC-USDC",
      tick_size: "0.1",
      max_mkt_order_qty: "30",
      min_notional_value: "5",
      price_band: "0.05",
      max_open_orders: 500
    })
  })
})
