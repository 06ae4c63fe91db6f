/**
 * The default markets of the embedded backend: those of docs/contract/exchange.md#markets. They are plain JSON, so that
 * a journal can store the markets that it was created with.
 */
import { Schema } from "effect"
import { type Market, MarketsFile } from "./File.ts"

const shipped = (
  base: string,
  prices: readonly [tick: string, min: string, max: string, index: string, band: string],
  sizes: readonly [step: string, max: string, maxMarket: string],
  leverage: string,
  tiers: ReadonlyArray<readonly [limit: string, initial: string, maintenance: string]>
): typeof Market.Encoded => ({
  symbol: `${base}-USDC`,
  base_asset: base,
  tick_size: prices[0],
  min_price: prices[1],
  max_price: prices[2],
  index_base: prices[3],
  price_band: prices[4],
  qty_step: sizes[0],
  min_order_qty: sizes[0],
  max_order_qty: sizes[1],
  max_mkt_order_qty: sizes[2],
  max_leverage: leverage,
  risk_tiers: tiers.map(([risk_limit_value, initial_margin_rate, maintenance_margin_rate]) => ({
    risk_limit_value,
    initial_margin_rate,
    maintenance_margin_rate
  }))
})

/** The markets of docs/contract/exchange.md#markets. */
export const shippedMarkets: ReadonlyArray<Market> = Schema.decodeUnknownSync(MarketsFile)({
  markets: [
    shipped("BTC", ["0.1", "0.1", "1000000", "60000", "0.05"], ["0.001", "100", "30"], "50", [
      ["2000000", "0.02", "0.01"],
      ["10000000", "0.04", "0.02"],
      ["50000000", "0.1", "0.05"]
    ]),
    shipped("ETH", ["0.01", "0.01", "100000", "3000", "0.05"], ["0.01", "2000", "500"], "50", [
      ["1000000", "0.02", "0.01"],
      ["5000000", "0.04", "0.02"],
      ["25000000", "0.1", "0.05"]
    ]),
    shipped("SOL", ["0.01", "0.01", "10000", "150", "0.1"], ["0.1", "20000", "5000"], "25", [
      ["500000", "0.04", "0.02"],
      ["2500000", "0.1", "0.05"],
      ["10000000", "0.2", "0.1"]
    ]),
    shipped("DOGE", ["0.00001", "0.00001", "100", "0.2", "0.1"], ["1", "10000000", "2000000"], "20", [
      ["250000", "0.05", "0.025"],
      ["1000000", "0.1", "0.05"],
      ["5000000", "0.2", "0.1"]
    ])
  ]
}).markets
