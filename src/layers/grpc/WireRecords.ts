/** Converts records of the gRPC boundary. Missing fields and unknown values throw a `WireError`. */
import type { BalanceState } from "../../domain/Account.ts"
import type { Movement } from "../../domain/Movement.ts"
import { type Address, aggregatedTradeId, assetAddress, marketAddress } from "../../domain/Address.ts"
import { bucketEnd } from "../../domain/Candles.ts"
import type { Interval } from "../../domain/Enumerations.ts"
import type { Closing, Execution } from "../../domain/Execution.ts"
import type { FundingRate } from "../../domain/Funding.ts"
import type { AdlAlert, InsurancePool } from "../../domain/InsurancePool.ts"
import type { Candle, FeeRate, Instrument, Level, Prices, PublicTrade, RiskTier } from "../../domain/Market.ts"
import type { Order, OrderRef } from "../../domain/Order.ts"
import type { Portfolio } from "../../domain/Portfolio.ts"
import type { PositionState } from "../../domain/Position.ts"
import { iso } from "../../domain/Time.ts"
import type { SubAccountState } from "../../domain/User.ts"
import type * as RefereeProto from "../../proto/gateway/v1/referee.ts"
import * as Types from "../../proto/gateway/v1/types.ts"
import {
  WireError,
  adlMode,
  adlTriggerReason,
  balanceReason,
  cancelType,
  createType,
  execType,
  instrumentStatus,
  marginMode,
  optional,
  orderStatus,
  orderType,
  positionMode,
  positionStatus,
  present,
  rejectReason,
  required,
  side,
  smpType,
  stopOrderType,
  timeInForce,
  tpslMode,
  transferStatus,
  triggerBy,
  triggerDirection
} from "./Enums.ts"
import { decimals, decimalsOrEmpty, unsigned } from "./WireDecimals.ts"

/** Caches derived addresses without a bound: markets and assets are few and come from the backend only. */
const cached = (derive: (name: string) => Address): ((name: string) => Address) => {
  const known = new Map<string, Address>()
  return (name) => {
    let address = known.get(name)
    if (address === undefined) {
      address = derive(name)
      known.set(name, address)
    }
    return address
  }
}
const addressOfMarket = cached(marketAddress)
const addressOfAsset = cached(assetAddress)

type Mutable<A> = { -readonly [K in keyof A]: A[K] }

export const toOrderRef = ({ order_id, order_link_id }: Types.OrderRef): OrderRef => ({
  order_id,
  order_link_id: order_link_id ?? ""
})

const checkTrigger = unsigned<Pick<Types.Trigger, "trigger_price">>("trigger_price")
const toLeg = (leg: Types.TpslLeg) => {
  checkTrigger(leg)
  return { market: { trigger_by: required(triggerBy, leg.trigger_by), trigger_price: leg.trigger_price } }
}

const checkOrder = decimals<Types.Order>(
  "price",
  "qty",
  "avg_price",
  "cum_exec_qty",
  "cum_exec_value",
  "cum_exec_fee",
  "leaves_qty",
  "leaves_value",
  "last_price_on_created",
  "closed_pnl"
)
export const toOrder = (from: Types.Order): Order => {
  checkOrder(from)
  const order: Mutable<Order> = {
    avg_price: from.avg_price,
    close_on_trigger: from.close_on_trigger,
    created_time: String(from.created_time_ms),
    cum_exec_fee: from.cum_exec_fee,
    cum_exec_qty: from.cum_exec_qty,
    cum_exec_value: from.cum_exec_value,
    last_price_on_created: from.last_price_on_created,
    leaves_qty: from.leaves_qty,
    leaves_value: from.leaves_value,
    margin_mode: required(marginMode, from.margin_mode),
    order_id: from.order_id,
    order_status: required(orderStatus, from.order_status),
    order_type: required(orderType, from.order_type),
    post_only: from.post_only,
    price: from.price,
    qty: from.qty,
    reduce_only: from.reduce_only,
    side: required(side, from.side),
    sub_account_address: from.sub_account_address as Address,
    symbol: from.symbol,
    time_in_force: required(timeInForce, from.time_in_force),
    updated_time: String(from.updated_time_ms),
    version: from.version
  }
  const cancel_type = optional(cancelType, from.cancel_type)
  if (cancel_type !== undefined) order.cancel_type = cancel_type
  if (from.closed_pnl !== undefined) order.closed_pnl = from.closed_pnl
  const create_type = optional(createType, from.create_type)
  if (create_type !== undefined) order.create_type = create_type
  if (from.expire_time_ms !== undefined) order.expire_time = String(from.expire_time_ms)
  if (from.order_link_id !== undefined) order.order_link_id = from.order_link_id
  const reject_reason = optional(rejectReason, from.reject_reason)
  if (reject_reason !== undefined) order.reject_reason = reject_reason
  const stop_order_type = optional(stopOrderType, from.stop_order_type)
  if (stop_order_type !== undefined) order.stop_order_type = stop_order_type
  if (from.tpsl !== undefined) {
    order.tpsl = {
      mode: required(tpslMode, from.tpsl.mode),
      ...(from.tpsl.take_profit === undefined ? {} : { take_profit: toLeg(from.tpsl.take_profit) }),
      ...(from.tpsl.stop_loss === undefined ? {} : { stop_loss: toLeg(from.tpsl.stop_loss) })
    }
  }
  if (from.trigger !== undefined) {
    checkTrigger(from.trigger)
    order.trigger = {
      trigger_by: required(triggerBy, from.trigger.trigger_by),
      trigger_direction: required(triggerDirection, from.trigger.trigger_direction),
      trigger_price: from.trigger.trigger_price
    }
  }
  const smp_type = optional(smpType, from.smp_type)
  if (smp_type !== undefined) order.smp_type = smp_type
  if (from.parent_order_id !== undefined) order.parent_order_id = from.parent_order_id
  if (from.reject_message !== undefined) order.reject_message = from.reject_message
  return order
}

const checkExecution = decimals<Types.Execution>(
  "order_price",
  "order_qty",
  "leaves_qty",
  "exec_price",
  "exec_qty",
  "exec_value",
  "base_fee",
  "fee_rate",
  "mark_price",
  "index_price",
  "closed_size"
)
export const toExecution = (from: Types.Execution): Execution => {
  checkExecution(from)
  const execution: Mutable<Execution> = {
    base_fee: from.base_fee,
    exec_id: from.exec_id,
    exec_price: from.exec_price,
    exec_qty: from.exec_qty,
    exec_time: String(from.exec_time_ms),
    exec_type: required(execType, from.exec_type),
    exec_value: from.exec_value,
    fee_rate: from.fee_rate,
    index_price: from.index_price,
    is_maker: from.is_maker,
    leaves_qty: from.leaves_qty,
    mark_price: from.mark_price,
    order_id: from.order_id,
    order_price: from.order_price,
    order_qty: from.order_qty,
    order_type: required(orderType, from.order_type),
    seq: from.market_seq,
    side: required(side, from.side),
    sub_account_address: from.sub_account_address as Address,
    symbol: from.symbol
  }
  if (from.closed_size !== undefined) execution.closed_size = from.closed_size
  const create_type = optional(createType, from.create_type)
  if (create_type !== undefined) execution.create_type = create_type
  if (from.order_link_id !== undefined) execution.order_link_id = from.order_link_id
  const stop_order_type = optional(stopOrderType, from.stop_order_type)
  if (stop_order_type !== undefined) execution.stop_order_type = stop_order_type
  return execution
}

const checkClosing = decimals<Types.Execution>("closed_entry_value", "closed_open_fee", "realised_pnl", "leverage")
export const toClosing = (from: Types.Execution): Closing | undefined => {
  if (from.closed_size === undefined) return undefined
  checkClosing(from)
  return {
    entry_value: present("closed_entry_value", from.closed_entry_value),
    open_fee: present("closed_open_fee", from.closed_open_fee),
    realised_pnl: present("realised_pnl", from.realised_pnl),
    leverage: from.leverage
  }
}

const checkTrade = unsigned<Types.Trade>("price", "qty")
/** `event_seq` is the seq of the taker's first fill: all trades of one matching event share it. */
const toTrade = (from: Types.Trade, event_seq: number): PublicTrade => {
  checkTrade(from)
  const taker = required(side, from.side)
  return {
    trade_id: from.trade_id,
    symbol: from.symbol,
    price: from.price,
    qty: from.qty,
    side: taker,
    seq: from.market_seq,
    timestamp: from.timestamp_ms,
    agg_id: aggregatedTradeId({
      market_addr: addressOfMarket(from.symbol),
      price: from.price,
      side: taker,
      seq: event_seq,
      timestamp: from.timestamp_ms
    }),
    is_liquidation: from.is_liquidation
  }
}

/** The fills of one taker, in order. */
export const toTrades = (trades: ReadonlyArray<Types.Trade>): ReadonlyArray<PublicTrade> =>
  trades.map((trade) => toTrade(trade, trades[0]!.market_seq))

const checkLevel = unsigned<Types.PriceLevel>("price", "qty")
const toLevel = (level: Types.PriceLevel): Level => {
  checkLevel(level)
  return [level.price, level.qty]
}
export const toLevels = (levels: ReadonlyArray<Types.PriceLevel>): ReadonlyArray<Level> => levels.map(toLevel)

const checkPosition = decimals<Types.Position>(
  "size",
  "avg_price",
  "position_value",
  "mark_price",
  "leverage",
  "position_im",
  "position_mm",
  "isolated_margin",
  "unrealised_pnl",
  "cur_realised_pnl",
  "cum_realised_pnl",
  "break_even_price"
)
const checkPositionOrEmpty = decimalsOrEmpty<Types.Position>(
  "liq_price",
  "bust_price",
  "take_profit",
  "stop_loss",
  "liquidation_fee"
)
export const toPosition = (from: Types.Position): PositionState => {
  checkPosition(from)
  checkPositionOrEmpty(from)
  const position: Mutable<PositionState> = {
    symbol: from.symbol,
    sub_account_address: from.sub_account_address as Address,
    side: optional(side, from.side) ?? "",
    size: from.size,
    avg_price: from.avg_price,
    position_value: from.position_value,
    mark_price: from.mark_price,
    leverage: from.leverage,
    margin_mode: required(marginMode, from.margin_mode),
    position_mode: required(positionMode, from.position_mode),
    position_status: required(positionStatus, from.position_status),
    position_im: from.position_im,
    position_mm: from.position_mm,
    liq_price: from.liq_price,
    bust_price: from.bust_price,
    unrealised_pnl: from.unrealised_pnl,
    cur_realised_pnl: from.cur_realised_pnl,
    cum_realised_pnl: from.cum_realised_pnl,
    // older backends do not send this field
    liquidation_fee: from.liquidation_fee === "" ? "0" : from.liquidation_fee,
    take_profit: from.take_profit,
    stop_loss: from.stop_loss,
    tpsl_mode: optional(tpslMode, from.tpsl_mode) ?? "Full",
    adl_rank_indicator: from.adl_rank_indicator,
    risk_tier: from.risk_tier,
    break_even_price: from.break_even_price,
    created_time: from.created_time_ms,
    updated_time: from.updated_time_ms
  }
  if (from.isolated_margin !== undefined) position.isolated_margin = from.isolated_margin
  return position
}

const checkBalance = decimals<Types.Balance>(
  "wallet_balance",
  "equity",
  "available_balance",
  "margin_used",
  "order_margin",
  "maintenance_margin",
  "unrealised_pnl",
  "isolated_margin",
  "withdrawable"
)
export const toBalance = (from: Types.Balance): BalanceState => {
  checkBalance(from)
  return {
    sub_account_address: from.sub_account_address as Address,
    asset: from.asset,
    asset_addr: addressOfAsset(from.asset),
    wallet_balance: from.wallet_balance,
    equity: from.equity,
    available_balance: from.available_balance,
    margin_used: from.margin_used,
    order_margin: from.order_margin,
    maintenance_margin: from.maintenance_margin,
    unrealised_pnl: from.unrealised_pnl,
    isolated_margin: from.isolated_margin,
    withdrawable: from.withdrawable,
    updated_time: from.updated_time_ms
  }
}

const checkPrices = decimals<Types.Prices>("mark_price", "index_price", "funding_rate", "open_interest", "last_price")
export const toPrices = (from: Types.Prices): Prices => {
  checkPrices(from)
  return {
    symbol: from.symbol,
    mark_price: from.mark_price,
    index_price: from.index_price,
    funding_rate: from.funding_rate,
    next_funding_time_ms: from.next_funding_time_ms,
    open_interest: from.open_interest,
    last_price: from.last_price,
    ts_ms: from.ts_ms
  }
}

export const toSubAccount = (from: Types.SubAccount): SubAccountState => ({
  sub_account_address: from.sub_account_address as Address,
  user_id: from.user_id,
  root_address: from.root_address as Address,
  index: from.index,
  frozen: from.frozen,
  deleted: from.deleted,
  created_time: from.created_time_ms
})

const movementKind = (reason: Types.BalanceReason): Movement["kind"] => {
  switch (required(balanceReason, reason)) {
    case "deposit":
      return "deposit"
    case "withdrawal":
      return "withdrawal"
    case "transfer_in":
    case "transfer_out":
      return "transfer"
    case "reward":
      return "reward"
    default:
      throw new WireError(`kind: ${reason} is not a movement of funds`)
  }
}

const checkMovement = decimals<Types.Transfer>("amount")
export const toMovement = (from: Types.Transfer): Movement => {
  checkMovement(from)
  return {
    transfer_id: from.transfer_id,
    user_id: from.user_id,
    kind: movementKind(from.kind),
    from_sub_account_address: from.from_sub_account_address,
    to_sub_account_address: from.to_sub_account_address,
    asset: from.asset,
    amount: from.amount,
    status: required(transferStatus, from.status),
    reference: from.reference,
    created_time: from.created_time_ms,
    updated_time: from.updated_time_ms
  }
}

const checkInstrument = decimals<Types.Instrument>(
  "tick_size",
  "min_price",
  "max_price",
  "qty_step",
  "min_order_qty",
  "max_order_qty",
  "max_mkt_order_qty",
  "min_notional_value",
  "min_leverage",
  "max_leverage",
  "leverage_step",
  "price_band",
  "maker_fee_rate",
  "taker_fee_rate",
  "funding_cap"
)
export const toInstrument = (from: Types.Instrument): Instrument => {
  checkInstrument(from)
  return {
    symbol: from.symbol,
    market_addr: addressOfMarket(from.symbol),
    base_asset: from.base_asset,
    quote_asset: from.quote_asset,
    settle_asset: from.settle_asset,
    status: required(instrumentStatus, from.status),
    launch_time: from.launch_time_ms,
    funding_interval_minutes: from.funding_interval_minutes,
    price_filter: { tick_size: from.tick_size, min_price: from.min_price, max_price: from.max_price },
    lot_size_filter: {
      qty_step: from.qty_step,
      min_order_qty: from.min_order_qty,
      max_order_qty: from.max_order_qty,
      max_mkt_order_qty: from.max_mkt_order_qty,
      min_notional_value: from.min_notional_value
    },
    leverage_filter: {
      min_leverage: from.min_leverage,
      max_leverage: from.max_leverage,
      leverage_step: from.leverage_step
    },
    price_band: from.price_band,
    max_open_orders: from.max_open_orders,
    max_conditional_orders: from.max_conditional_orders,
    maker_fee_rate: from.maker_fee_rate,
    taker_fee_rate: from.taker_fee_rate,
    funding_cap: from.funding_cap
  }
}

const checkRiskTier = decimals<Types.RiskTier>(
  "risk_limit_value",
  "initial_margin_rate",
  "maintenance_margin_rate",
  "mm_deduction",
  "max_leverage"
)
export const toRiskTier = (from: Types.RiskTier): RiskTier => {
  checkRiskTier(from)
  return { ...from }
}
const checkFeeRate = decimals<Types.FeeRate>("maker_fee_rate", "taker_fee_rate")
export const toFeeRate = (from: Types.FeeRate): FeeRate => {
  checkFeeRate(from)
  return { ...from }
}

const checkCandle = unsigned<RefereeProto.IndexCandle>("open", "high", "low", "close")
/** A candle without trades; it is closed. */
export const toIndexCandle = (interval: Interval, from: RefereeProto.IndexCandle): Candle => {
  checkCandle(from)
  return {
    start_time: from.start_ms,
    end_time: bucketEnd(interval, from.start_ms),
    open: from.open,
    high: from.high,
    low: from.low,
    close: from.close,
    volume: "0",
    turnover: "0",
    trade_count: 0,
    confirm: true
  }
}

const checkFundingRate = decimals<Types.FundingRate>("funding_rate", "mark_price")
export const toFundingRate = (from: Types.FundingRate): FundingRate => {
  checkFundingRate(from)
  return {
    symbol: from.symbol,
    funding_rate: from.funding_rate,
    mark_price: from.mark_price,
    funding_time: iso(from.funding_time_ms),
    funding_time_ms: from.funding_time_ms
  }
}

const checkInsurancePool = decimals<Types.InsurancePool>(
  "cash_balance",
  "realized_pnl_cum",
  "unrealized_pnl",
  "base_equity",
  "equity",
  "group_redistribution_in",
  "group_redistribution_out",
  "group_adl_obligation",
  "latest_pnl_ratio"
)
const checkInventory = decimals<Types.PoolInventory>("size", "avg_price", "mark_price", "unrealized_pnl")
export const toInsurancePool = (from: Types.InsurancePool): InsurancePool => {
  checkInsurancePool(from)
  return {
    pool_id: from.pool_id,
    pool_group_id: from.pool_group_id,
    cash_balance: from.cash_balance,
    realized_pnl_cum: from.realized_pnl_cum,
    unrealized_pnl: from.unrealized_pnl,
    base_equity: from.base_equity,
    equity: from.equity,
    group_redistribution_in: from.group_redistribution_in,
    group_redistribution_out: from.group_redistribution_out,
    group_adl_obligation: from.group_adl_obligation,
    adl_mode: required(adlMode, from.adl_mode),
    adl_trigger_reason: required(adlTriggerReason, from.adl_trigger_reason),
    latest_pnl_ratio: from.latest_pnl_ratio,
    updated_time: from.updated_time_ms,
    inventory: from.inventory.map((held) => {
      checkInventory(held)
      return {
        symbol: held.symbol,
        side: required(side, held.side),
        size: held.size,
        avg_price: held.avg_price,
        mark_price: held.mark_price,
        unrealized_pnl: held.unrealized_pnl
      }
    })
  }
}

const checkAdlAlert = decimals<Types.AdlAlert>("equity", "latest_pnl_ratio")
export const toAdlAlert = (from: Types.AdlAlert): AdlAlert => {
  checkAdlAlert(from)
  return {
    pool_id: from.pool_id,
    pool_group_id: from.pool_group_id,
    symbol: from.symbol,
    equity: from.equity,
    adl_mode: required(adlMode, from.adl_mode),
    adl_trigger_reason: required(adlTriggerReason, from.adl_trigger_reason),
    latest_pnl_ratio: from.latest_pnl_ratio,
    updated_time: from.updated_time_ms
  }
}

const checkPortfolioPosition = decimals<RefereeProto.PortfolioPosition>("funding_index", "margin", "price", "size")
const checkSummary = decimals<RefereeProto.PortfolioSummary>(
  "collateral_notional",
  "maintenance_margin_required",
  "total_available_balance",
  "total_balance",
  "total_margin_used",
  "unrealized_funding_total",
  "unrealized_pnl_total"
)
const checkVault = decimals<RefereeProto.VaultBalance>("balance")
export const toPortfolio = (from: RefereeProto.GetPortfolioResponse): Portfolio => {
  const summary = present("summary", from.summary)
  from.positions.forEach(checkPortfolioPosition)
  checkSummary(summary)
  from.vault_balances.forEach(checkVault)
  return {
    positions: from.positions.map((position) => ({
      epoch: position.epoch,
      funding_index: position.funding_index,
      margin: position.margin,
      price: position.price,
      seq: position.seq,
      size: position.size,
      timestamp: position.timestamp_ms,
      timestamp_ms: position.timestamp_ms,
      market_addr: addressOfMarket(position.symbol),
      sid: position.sub_account_address as Address
    })),
    summary: { ...summary },
    vault_balances: from.vault_balances.map((vault) => ({
      asset_addr: addressOfAsset(vault.asset),
      balance: vault.balance,
      id: vault.sub_account_address as Address
    }))
  }
}
