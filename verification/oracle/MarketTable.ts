/**
 * The markets of the contract, typed from its table, and one of the model's own: a maker's rebate and coarse steps.
 * Source: docs/contract/exchange.md#markets.
 */

export interface MarketRow {
  readonly symbol: string
  readonly tick_size: string
  readonly qty_step: string
  readonly max_order_qty: string
  readonly max_mkt_order_qty: string
  readonly min_price: string
  readonly max_price: string
  readonly price_band: string
  readonly max_leverage: string
  readonly index_base: string
  readonly maker_fee_rate: string
  readonly taker_fee_rate: string
  /** up to value, initial margin rate, maintenance margin rate, deduction */
  readonly tiers: ReadonlyArray<readonly [limit: string, initial: string, maintenance: string, deduction: string]>
}

const FEES = { maker_fee_rate: "0.0002", taker_fee_rate: "0.00055" } as const

export const BTC: MarketRow = {
  symbol: "BTC-USDC",
  tick_size: "0.1",
  qty_step: "0.001",
  max_order_qty: "100",
  max_mkt_order_qty: "30",
  min_price: "0.1",
  max_price: "1000000",
  price_band: "0.05",
  max_leverage: "50",
  index_base: "60000",
  ...FEES,
  tiers: [
    ["2000000", "0.02", "0.01", "0"],
    ["10000000", "0.04", "0.02", "20000"],
    ["50000000", "0.1", "0.05", "320000"]
  ]
}

export const ETH: MarketRow = {
  symbol: "ETH-USDC",
  tick_size: "0.01",
  qty_step: "0.01",
  max_order_qty: "2000",
  max_mkt_order_qty: "500",
  min_price: "0.01",
  max_price: "100000",
  price_band: "0.05",
  max_leverage: "50",
  index_base: "3000",
  ...FEES,
  tiers: [
    ["1000000", "0.02", "0.01", "0"],
    ["5000000", "0.04", "0.02", "10000"],
    ["25000000", "0.1", "0.05", "160000"]
  ]
}

export const SOL: MarketRow = {
  symbol: "SOL-USDC",
  tick_size: "0.01",
  qty_step: "0.1",
  max_order_qty: "20000",
  max_mkt_order_qty: "5000",
  min_price: "0.01",
  max_price: "10000",
  price_band: "0.1",
  max_leverage: "25",
  index_base: "150",
  ...FEES,
  tiers: [
    ["500000", "0.04", "0.02", "0"],
    ["2500000", "0.1", "0.05", "15000"],
    ["10000000", "0.2", "0.1", "140000"]
  ]
}

export const DOGE: MarketRow = {
  symbol: "DOGE-USDC",
  tick_size: "0.00001",
  qty_step: "1",
  max_order_qty: "10000000",
  max_mkt_order_qty: "2000000",
  min_price: "0.00001",
  max_price: "100",
  price_band: "0.1",
  max_leverage: "20",
  index_base: "0.2",
  ...FEES,
  tiers: [
    ["250000", "0.05", "0.025", "0"],
    ["1000000", "0.1", "0.05", "6250"],
    ["5000000", "0.2", "0.1", "56250"]
  ]
}

/** Rates of 18 places, so that fees and margins are rounded; low limits, so that small orders cross tiers; 1 / IMR of tier 2 is no decimal. */
export const REBATE: MarketRow = {
  symbol: "ALT-USDC",
  tick_size: "0.05",
  qty_step: "0.01",
  max_order_qty: "1000",
  max_mkt_order_qty: "400",
  min_price: "0.05",
  max_price: "150",
  price_band: "0.2",
  max_leverage: "40",
  index_base: "100",
  maker_fee_rate: "-0.000123456789012345",
  taker_fee_rate: "0.000777777777777777",
  tiers: [
    ["5000", "0.025", "0.011000000000000001", "0"],
    ["20000", "0.07", "0.03", "94.999999999999995"],
    ["60000", "0.3", "0.1", "1494.999999999999995"]
  ]
}

export const SHIPPED: ReadonlyArray<MarketRow> = [BTC, ETH, SOL, DOGE]
