/** Example data of each public topic, for the AsyncAPI document. */
import type {
  AlertData,
  AggregatedTradeData,
  BookData,
  KlineData,
  LiquidationData,
  PoolData,
  TickerData,
  TradeData
} from "./TopicData.ts"

const symbol = "BTC-USDC"
export const TIME = 1767225600000
const ts = { ts: TIME + 4 }

export const book: BookData = {
  type: "snapshot",
  symbol,
  depth: 50,
  bids: [
    ["60000", "0.5"],
    ["59999.9", "1.25"]
  ],
  asks: [
    ["60000.1", "0.3"],
    ["60000.5", "2"]
  ],
  seq: 1042,
  stream_id: "e1-0",
  ...ts,
  mts: TIME,
  checksum: 1162226733
}

const fill = { price: "60000.1", side: "Buy", seq: 1042, timestamp: TIME } as const
const id = "aebdeb0a6072d10e89ca99e6862c5037"

export const trades: TradeData = {
  type: "update",
  ...ts,
  symbol,
  list: [
    { trade_id: "018f3f1e-5d5b-7a00-8000-000000000001", symbol, ...fill, qty: "0.2", agg_id: id, is_liquidation: false }
  ]
}

export const aggregates: AggregatedTradeData = {
  type: "update",
  ...ts,
  market_addr: "0xb2a373d8519e821966ae61886e86c0a5cea70096e02b33a62c1f65871baa1209",
  symbol,
  list: [{ id, ...fill, qty: "0.2", count: 1 }]
}

export const ticker: TickerData = {
  type: "snapshot",
  symbol,
  last_price: "60000.1",
  mark_price: "60000",
  index_price: "60000",
  prev_price_24h: "59000",
  price_24h_pcnt: "0.01695084",
  high_price_24h: "60500",
  low_price_24h: "58900",
  volume_24h: "12.5",
  turnover_24h: "748750",
  open_interest: "2",
  open_interest_value: "120000",
  funding_rate: "0.0001",
  next_funding_time: "2026-01-01T08:00:00.000Z",
  next_funding_time_ms: TIME + 28_800_000,
  bid1_price: "60000",
  bid1_size: "0.5",
  ask1_price: "60000.1",
  ask1_size: "0.3",
  ...ts
}

export const kline: KlineData = {
  type: "update",
  ...ts,
  symbol,
  interval: "1",
  list: [
    {
      start_time: TIME,
      end_time: TIME + 60_000,
      open: "60000",
      high: "60000.1",
      low: "60000",
      close: "60000.1",
      volume: "0.2",
      turnover: "12000.02",
      trade_count: 1,
      confirm: false
    }
  ]
}

export const liquidations: LiquidationData = {
  type: "update",
  ...ts,
  symbol,
  list: [
    {
      symbol,
      side: "Buy",
      qty: "0.2",
      price: "40390",
      bust_price: "40033",
      exec_type: "Trade",
      timestamp: TIME,
      seq: 1042
    }
  ]
}

const alert = {
  pool_id: "pool-BTC-USDC",
  pool_group_id: "group-USDC",
  adl_mode: "Inactive",
  adl_trigger_reason: "NoTrigger",
  latest_pnl_ratio: "0",
  updated_time: TIME
} as const

export const pool: PoolData = {
  type: "snapshot",
  ...ts,
  ...alert,
  cash_balance: "1000060.44",
  realized_pnl_cum: "60.44",
  unrealized_pnl: "73.4",
  base_equity: "1000000",
  equity: "1000133.84",
  group_redistribution_in: "0",
  group_redistribution_out: "0",
  group_adl_obligation: "0",
  inventory: [{ symbol, side: "Buy", size: "0.2", avg_price: "40033", mark_price: "40400", unrealized_pnl: "73.4" }]
}

export const adl: AlertData = { type: "snapshot", ...ts, ...alert, symbol, equity: "1000133.84" }
