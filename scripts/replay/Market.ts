/** The one market of a replay: the contract that the record is of, with limits wide enough for all of its orders. */
export const SYMBOL = "ES-USDC"
/** Index and mark price are held here: the session's opening. */
export const INDEX_PRICE = "4800"

/** Text of the markets file. */
export const marketsFile = JSON.stringify({
  markets: [
    {
      symbol: SYMBOL,
      base_asset: "ES",
      tick_size: "0.25",
      min_price: "0.25",
      max_price: "100000",
      qty_step: "1",
      min_order_qty: "1",
      max_order_qty: "100000",
      max_mkt_order_qty: "100000",
      min_notional_value: "0",
      price_band: "0.5",
      max_leverage: "50",
      index_base: INDEX_PRICE,
      max_open_orders: 500,
      risk_tiers: [{ risk_limit_value: "100000000000", initial_margin_rate: "0.02", maintenance_margin_rate: "0.01" }]
    }
  ]
})
