import { assert, describe, it } from "@effect/vitest"
import * as Markets from "../../src/backend/Markets.ts"
import * as Reads from "../../src/backend/Reads.ts"
import { Bench } from "./Bench.ts"

const es = {
  symbol: "ES-USDC",
  base_asset: "ES",
  tick_size: "0.25",
  min_price: "0.25",
  max_price: "100000",
  qty_step: "1",
  min_order_qty: "1",
  max_order_qty: "10000",
  max_mkt_order_qty: "10000",
  max_leverage: "20",
  index_base: "4800",
  risk_tiers: [{ risk_limit_value: "1000000000", initial_margin_rate: "0.05", maintenance_margin_rate: "0.025" }]
}
const file = (...markets: ReadonlyArray<object>) => JSON.stringify({ markets })

describe("markets", () => {
  it("ships those of the contract, deductions and all", () => {
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

  it("are replaced by a file, with defaults for what it leaves out", () => {
    const [market] = Markets.parse(file(es))
    assert.deepInclude(market, { tick_size: "0.25", status: "Trading", taker_fee_rate: "0.00055", price_band: "0.05" })
  })

  it.each<[string, object]>([
    ["a price off the tick", { ...es, max_price: "100000.1" }],
    ["a symbol that is not its assets", { ...es, base_asset: "NQ" }],
    ["steps that money cannot hold", { ...es, tick_size: "0.0000000001", min_price: "1", qty_step: "0.0000000001" }],
    ["a float", { ...es, tick_size: 0.25 }],
    ["a zero step", { ...es, qty_step: "0" }],
    ["no tiers", { ...es, risk_tiers: [] }],
    ["tiers that fall", { ...es, risk_tiers: [...es.risk_tiers, ...es.risk_tiers] }],
    ["an index outside the prices", { ...es, index_base: "1000000" }],
    ["a missing field", { ...es, max_leverage: undefined }]
  ])("refuses %s", (_, market) => {
    assert.throws(() => Markets.parse(file(market)))
  })

  it("refuses a symbol twice", () => {
    assert.throws(() => Markets.parse(file(es, es)), /once/u)
  })
})
