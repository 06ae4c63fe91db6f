/** The one market of a replay: the contract that the record is of, with limits wide enough for all of its orders. */
export const SYMBOL = "ES-USDC"
/** Index and mark price are held here: the session's opening. */
export const INDEX_PRICE = "4800"

export interface Contract {
  readonly symbol: string
  readonly tick_size: string
  /** Where the index price is held. */
  readonly index_price: string
}

export const futures: Contract = { symbol: SYMBOL, tick_size: "0.25", index_price: INDEX_PRICE }

/** Text of the markets file. */
export const marketsFile = ({ index_price, symbol, tick_size }: Contract): string =>
  JSON.stringify({
    markets: [
      {
        symbol,
        base_asset: symbol.split("-")[0],
        tick_size,
        min_price: tick_size,
        max_price: "100000",
        qty_step: "1",
        min_order_qty: "1",
        max_order_qty: "1000000",
        max_mkt_order_qty: "1000000",
        min_notional_value: "0",
        price_band: "0.5",
        max_leverage: "50",
        index_base: index_price,
        max_open_orders: 500,
        risk_tiers: [{ risk_limit_value: "100000000000", initial_margin_rate: "0.02", maintenance_margin_rate: "0.01" }]
      }
    ]
  })
