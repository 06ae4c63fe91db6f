/** Events as a sequencer would send them, with valid defaults; a test sets only the fields that matter to it. */
import type { BalanceState } from "../../src/domain/Account.ts"
import type { Event, EventBody } from "../../src/domain/Event.ts"
import type { BalanceReason } from "../../src/domain/Enumerations.ts"
import type { Closing, Execution } from "../../src/domain/Execution.ts"
import type { FundingRate } from "../../src/domain/Funding.ts"
import type { AdlAlert, InsurancePool } from "../../src/domain/InsurancePool.ts"
import type { Instrument, Level, Prices, PublicTrade } from "../../src/domain/Market.ts"
import type { Order } from "../../src/domain/Order.ts"
import type { PositionState } from "../../src/domain/Position.ts"
import { iso } from "../../src/domain/Time.ts"
import { marketAddress, assetAddress, subAccountAddress, userIdOf } from "../../src/domain/Address.ts"

export const START = 1_767_225_600_000
export const symbol = "BTC-USDC"

const rootOf = (n: number): string => `0x${String(n).padStart(64, "0")}`
/** The n-th user and its sub-accounts. */
export const userOf = (n: number) => ({
  user_id: userIdOf(rootOf(n)),
  root: rootOf(n),
  account: (index: number) => subAccountAddress(rootOf(n), index)
})
export const uuid = (n: number): string => `018f3f1e-5d5b-7a00-8000-${String(n).padStart(12, "0")}`

export const order = (fields: Partial<Order> = {}): Order => ({
  avg_price: "0",
  close_on_trigger: false,
  created_time: String(START),
  cum_exec_fee: "0",
  cum_exec_qty: "0",
  cum_exec_value: "0",
  last_price_on_created: "60000",
  leaves_qty: "0.5",
  leaves_value: "30000",
  margin_mode: "Cross",
  order_id: uuid(1),
  order_status: "New",
  order_type: "Limit",
  post_only: false,
  price: "60000",
  qty: "0.5",
  reduce_only: false,
  side: "Buy",
  sub_account_address: userOf(1).account(0),
  symbol,
  time_in_force: "GTC",
  updated_time: String(START),
  create_type: "CreateByUser",
  reject_reason: "EcNoError",
  version: 1,
  smp_type: "CancelTaker",
  ...fields
})

export const execution = (fields: Partial<Execution> = {}): Execution => ({
  base_fee: "6.6",
  exec_id: uuid(1_000),
  exec_price: "60000",
  exec_qty: "0.2",
  exec_time: String(START),
  exec_type: "Trade",
  exec_value: "12000",
  fee_rate: "0.00055",
  index_price: "60000",
  is_maker: false,
  leaves_qty: "0.3",
  mark_price: "60000",
  order_id: uuid(1),
  order_price: "60000",
  order_qty: "0.5",
  order_type: "Limit",
  seq: 1,
  side: "Buy",
  sub_account_address: userOf(1).account(0),
  symbol,
  ...fields
})

export const position = (fields: Partial<PositionState> = {}): PositionState => ({
  symbol,
  sub_account_address: userOf(1).account(0),
  side: "Buy",
  size: "0.2",
  avg_price: "60000",
  position_value: "12000",
  mark_price: "60000",
  leverage: "10",
  margin_mode: "Cross",
  position_mode: "OneWay",
  position_status: "Normal",
  position_im: "1200",
  position_mm: "120",
  liq_price: "",
  bust_price: "",
  unrealised_pnl: "0",
  cur_realised_pnl: "-6.6",
  cum_realised_pnl: "-6.6",
  liquidation_fee: "0",
  take_profit: "",
  stop_loss: "",
  tpsl_mode: "Full",
  adl_rank_indicator: 0,
  risk_tier: 1,
  break_even_price: "60033",
  created_time: START,
  updated_time: START,
  ...fields
})

export const balance = (fields: Partial<BalanceState> = {}): BalanceState => ({
  sub_account_address: userOf(1).account(0),
  asset: "USDC",
  asset_addr: assetAddress("USDC"),
  wallet_balance: "9993.4",
  equity: "9993.4",
  available_balance: "6983.5",
  margin_used: "1200",
  order_margin: "1809.9",
  maintenance_margin: "120",
  unrealised_pnl: "0",
  isolated_margin: "0",
  withdrawable: "6983.5",
  updated_time: START,
  ...fields
})

export const instrument = (fields: Partial<Instrument> = {}): Instrument => ({
  symbol,
  market_addr: marketAddress(fields.symbol ?? symbol),
  base_asset: "BTC",
  quote_asset: "USDC",
  settle_asset: "USDC",
  status: "Trading",
  launch_time: START,
  funding_interval_minutes: 480,
  price_filter: { tick_size: "0.1", min_price: "0.1", max_price: "1000000" },
  lot_size_filter: {
    qty_step: "0.001",
    min_order_qty: "0.001",
    max_order_qty: "100",
    max_mkt_order_qty: "30",
    min_notional_value: "5"
  },
  leverage_filter: { min_leverage: "1", max_leverage: "50", leverage_step: "0.01" },
  price_band: "0.05",
  max_open_orders: 500,
  max_conditional_orders: 20,
  maker_fee_rate: "0.0002",
  taker_fee_rate: "0.00055",
  funding_cap: "0.005",
  ...fields
})

export const trade = (fields: Partial<PublicTrade> = {}): PublicTrade => ({
  trade_id: "1",
  symbol,
  price: "60000",
  qty: "0.2",
  side: "Buy",
  seq: 1,
  timestamp: START,
  agg_id: "00",
  is_liquidation: false,
  ...fields
})

export const prices = (fields: Partial<Prices> = {}): Prices => ({
  symbol,
  mark_price: "60000",
  index_price: "60000",
  funding_rate: "0.0001",
  next_funding_time_ms: START + 28_800_000,
  open_interest: "2",
  last_price: undefined,
  ts_ms: START,
  ...fields
})

export const pool = (fields: Partial<InsurancePool> = {}): InsurancePool => ({
  pool_id: `pool-${symbol}`,
  pool_group_id: "group-USDC",
  cash_balance: "1000000",
  realized_pnl_cum: "0",
  unrealized_pnl: "0",
  base_equity: "1000000",
  equity: "1000000",
  group_redistribution_in: "0",
  group_redistribution_out: "0",
  group_adl_obligation: "0",
  adl_mode: "Inactive",
  adl_trigger_reason: "NoTrigger",
  latest_pnl_ratio: "0",
  updated_time: START,
  inventory: [],
  ...fields
})

export const alert = (fields: Partial<AdlAlert> = {}): AdlAlert => ({
  pool_id: `pool-${symbol}`,
  pool_group_id: "group-USDC",
  symbol,
  equity: "1000000",
  adl_mode: "Warning",
  adl_trigger_reason: "EquityDepleted",
  latest_pnl_ratio: "0",
  updated_time: START,
  ...fields
})

interface Money {
  readonly amount: string
  readonly fee: string
  readonly realised_pnl: string
  readonly symbol: string
  readonly order_id: string
  readonly balance: Partial<BalanceState>
}

export const body = {
  order: (fields?: Partial<Order>): EventBody => ({ type: "order", order: order(fields) }),
  execution: (fields?: Partial<Execution>): EventBody => ({
    type: "execution",
    execution: execution(fields),
    closing: undefined
  }),
  /** A fill that reduces a position: 0.2, bought at 60000 for a fee of 6.6. */
  closing: (fields: Partial<Execution> = {}, closing: Partial<Closing> = {}): EventBody => ({
    type: "execution",
    execution: execution({
      side: "Sell",
      exec_price: "61000",
      exec_value: "12200",
      base_fee: "6.71",
      closed_size: "0.2",
      ...fields
    }),
    closing: { entry_value: "12000", open_fee: "6.6", realised_pnl: "200", leverage: "10", ...closing }
  }),
  /** A payment of funding: a long of 0.5 pays 9. */
  funded: (fields: Partial<Execution> = {}): EventBody => ({
    type: "execution",
    execution: execution({
      exec_type: "Funding",
      exec_qty: "0.5",
      exec_value: "30000",
      base_fee: "9",
      fee_rate: "0.0003",
      order_id: "00000000-0000-0000-0000-000000000000",
      ...fields
    }),
    closing: undefined
  }),
  funding: (fields: Partial<FundingRate> = {}): EventBody => ({
    type: "funding",
    funding: {
      symbol,
      funding_rate: "0.0003",
      mark_price: "60000",
      funding_time: iso(START),
      funding_time_ms: START,
      ...fields
    }
  }),
  pool: (fields: Partial<InsurancePool> = {}, of = symbol): EventBody => ({
    type: "pool",
    symbol: of,
    pool: pool(fields)
  }),
  adl: (fields: Partial<AdlAlert> = {}): EventBody => ({ type: "adl", alert: alert(fields) }),
  /** A change of a wallet, with its reason. */
  money: (reason: BalanceReason, wallet: string, parts: Partial<Money> = {}): EventBody => ({
    type: "balance",
    balance: balance({ wallet_balance: wallet, ...parts.balance }),
    reason,
    amount: parts.amount ?? "0",
    fee: parts.fee ?? "0",
    realised_pnl: parts.realised_pnl ?? "0",
    order_id: parts.order_id,
    exec_id: undefined,
    transfer_id: undefined,
    symbol: parts.symbol
  }),
  position: (fields?: Partial<PositionState>): EventBody => ({ type: "position", position: position(fields) }),
  balance: (fields?: Partial<BalanceState>): EventBody => ({
    type: "balance",
    balance: balance(fields),
    reason: "trade",
    amount: "-6.6",
    fee: "6.6",
    realised_pnl: "0",
    order_id: undefined,
    exec_id: undefined,
    transfer_id: undefined
  }),
  trades: (...trades: ReadonlyArray<Partial<PublicTrade>>): EventBody => ({
    type: "trades",
    symbol: trades[0]?.symbol ?? symbol,
    trades: trades.map(trade)
  }),
  book: (book_seq: number, bids: ReadonlyArray<Level>, asks: ReadonlyArray<Level>, of = symbol): EventBody => ({
    type: "book",
    symbol: of,
    book_seq,
    bids,
    asks
  }),
  prices: (...all: ReadonlyArray<Partial<Prices>>): EventBody => ({ type: "prices", prices: all.map(prices) }),
  instrument: (fields?: Partial<Instrument>): EventBody => ({ type: "instrument", instrument: instrument(fields) })
}

/** An event, of a user or without one. */
export const event = (seq: number, of: EventBody, fields: Partial<Event> = {}): Event => ({
  seq,
  ts_ms: START + seq,
  step: seq,
  command_id: undefined,
  user_id: ["order", "execution", "position", "balance"].includes(of.type) ? userOf(1).user_id : undefined,
  sub_account_address: undefined,
  body: of,
  ...fields
})
