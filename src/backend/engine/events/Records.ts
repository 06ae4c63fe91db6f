/** Converts the state to the records of the gRPC boundary. */
import * as Decimal from "../../../domain/Decimal.ts"
import * as Grid from "../../../domain/Grid.ts"
import * as Margin from "../../../domain/Margin.ts"
import {
  type Balance,
  type FeeRate,
  type Instrument,
  InstrumentStatus,
  MarginMode,
  type Order as OrderRecord,
  OrderType,
  type OrderRef,
  type Position,
  PositionMode,
  PositionStatus,
  type Prices,
  type RiskTier,
  Side,
  StopOrderType,
  type SubAccount,
  type Tpsl as TpslRecord,
  type TpslLeg,
  TpslMode,
  type Trigger as TriggerRecord
} from "../../../proto/gateway/v1/types.ts"
import { type AccountTotals, equityOf, figuresOf } from "../accounts/Accounts.ts"
import { units } from "../state/MarketPosition.ts"
import {
  type Account,
  ASSET,
  type MarketPosition,
  type MarketState,
  type State,
  type Leg,
  type Order,
  type Tpsl,
  type Trigger
} from "../state/State.ts"

const { format } = Decimal

const marginMode = ({ isolated }: MarketPosition): MarginMode =>
  isolated ? MarginMode.MARGIN_MODE_ISOLATED : MarginMode.MARGIN_MODE_CROSS

export const orderRef = (order: Order): OrderRef => ({ order_id: order.id, order_link_id: order.link })

const trigger = (price: Grid.Grid, { by, direction, ticks }: Trigger): TriggerRecord => ({
  trigger_by: by,
  trigger_direction: direction,
  trigger_price: Grid.text(price, ticks)
})

const leg = (price: Grid.Grid, leg: Leg | undefined): TpslLeg | undefined =>
  leg === undefined ? undefined : { trigger_by: leg.by, trigger_price: Grid.text(price, leg.ticks) }

const tpsl = (price: Grid.Grid, { mode, takeProfit, stopLoss }: Tpsl): TpslRecord => ({
  mode,
  take_profit: leg(price, takeProfit),
  stop_loss: leg(price, stopLoss)
})

export const order = (order: Order): OrderRecord => {
  const { market } = order.holding
  const { price, qty, unit } = market.rules
  return {
    order_id: order.id,
    order_link_id: order.link,
    user_id: order.account.userId,
    sub_account_address: order.account.address,
    symbol: market.market.symbol,
    side: order.side,
    order_type: order.type,
    time_in_force: order.timeInForce,
    order_status: order.status,
    price: order.type === OrderType.ORDER_TYPE_MARKET ? "0" : Grid.text(price, order.ticks),
    qty: Grid.text(qty, order.lots),
    avg_price:
      order.filled === 0 ? "0" : format(Margin.averagePrice(Grid.scaled(qty, order.filled), order.filledValue)),
    cum_exec_qty: Grid.text(qty, order.filled),
    cum_exec_value: order.filled === 0 ? "0" : format(order.filledValue),
    cum_exec_fee: order.filled === 0 ? "0" : format(order.fees),
    leaves_qty: Grid.text(qty, order.leaves),
    leaves_value: order.leaves === 0 ? "0" : format(units(order.ticks, order.leaves) * unit),
    last_price_on_created: Grid.text(price, order.lastPriceOnCreated),
    margin_mode: marginMode(order.holding),
    post_only: order.postOnly,
    reduce_only: order.reduceOnly,
    close_on_trigger: order.closeOnTrigger,
    created_time_ms: order.createdMs,
    updated_time_ms: order.updatedMs,
    expire_time_ms: order.expireMs,
    cancel_type: order.cancelType,
    create_type: order.createType,
    reject_reason: order.rejectReason,
    reject_message: order.rejectMessage,
    stop_order_type: order.stopType,
    trigger: order.trigger === undefined ? undefined : trigger(price, order.trigger),
    tpsl: order.tpsl === undefined ? undefined : tpsl(price, order.tpsl),
    closed_pnl: order.closedPnl === undefined ? undefined : format(order.closedPnl),
    version: order.version,
    smp_type: order.smp,
    parent_order_id: order.parent
  }
}

/** The price at which closing the position with the taker fee brings its realised PnL, fees included, to 0. */
const breakEven = (holding: MarketPosition): string => {
  const { market, lots, entryValue, currentRealised } = holding
  if (lots === 0) return "0"
  const { price, qty } = market.rules
  const size = Grid.scaled(qty, Math.abs(lots))
  const long = lots > 0
  const dividend = long ? entryValue - currentRealised : entryValue + currentRealised
  if (dividend <= 0n) return "0"
  const rate = long ? Decimal.ONE - market.takerFee : Decimal.ONE + market.takerFee
  const ticks = Decimal.divide(dividend * Decimal.ONE * Decimal.ONE, rate * size * price.step, long ? "up" : "down")
  return format(ticks * price.step)
}

const shownPrice = (price: Decimal.Scaled | undefined): string => (price === undefined ? "" : format(price))

const NO_EXITS = { take_profit: "", stop_loss: "", tpsl_mode: TpslMode.TPSL_MODE_FULL } as const

/** Take-profit and stop-loss prices of the whole position. */
const exits = ({ conditional, market }: MarketPosition): Pick<Position, "take_profit" | "stop_loss" | "tpsl_mode"> => {
  if (conditional.size === 0) return NO_EXITS
  let take_profit = ""
  let stop_loss = ""
  let partial = false
  for (const { stopType, trigger } of conditional.values()) {
    const price = () => Grid.text(market.rules.price, trigger!.ticks)
    if (stopType === StopOrderType.STOP_ORDER_TYPE_TAKE_PROFIT) take_profit = price()
    else if (stopType === StopOrderType.STOP_ORDER_TYPE_STOP_LOSS) stop_loss = price()
    else if (stopType !== StopOrderType.STOP_ORDER_TYPE_STOP) partial = true
  }
  const whole = take_profit !== "" || stop_loss !== "" || !partial
  return { take_profit, stop_loss, tpsl_mode: whole ? TpslMode.TPSL_MODE_FULL : TpslMode.TPSL_MODE_PARTIAL }
}

/** A position, flat or not. `totals` are the totals of its account. */
export const position = (holding: MarketPosition, totals: AccountTotals): Position => {
  const { account, market, lots } = holding
  const figures = figuresOf(holding)
  const size = Grid.scaled(market.rules.qty, lots)
  // equity that covers this position besides its own PnL
  const cushion = holding.isolated
    ? holding.isolatedMargin
    : totals.crossEquity - figures.unrealisedPnl - (totals.maintenanceMargin - figures.maintenanceMargin)
  const share = equityOf(holding, totals)
  return {
    user_id: account.userId,
    sub_account_address: account.address,
    symbol: market.market.symbol,
    side: lots > 0 ? Side.SIDE_BUY : lots < 0 ? Side.SIDE_SELL : Side.SIDE_UNSPECIFIED,
    size: Grid.text(market.rules.qty, Math.abs(lots)),
    avg_price: format(Margin.averagePrice(size, holding.entryValue)),
    entry_value: format(holding.entryValue),
    position_value: format(figures.value),
    mark_price: market.markText,
    leverage: format(holding.leverage),
    margin_mode: marginMode(holding),
    position_mode: PositionMode.POSITION_MODE_ONE_WAY,
    position_status: lots === 0 ? PositionStatus.POSITION_STATUS_NORMAL : holding.status,
    position_im: format(figures.initialMargin),
    position_mm: format(figures.maintenanceMargin),
    isolated_margin: holding.isolated ? format(holding.isolatedMargin) : undefined,
    liq_price: shownPrice(Margin.liquidationPrice(market.tiers, market.limits, size, holding.entryValue, cushion)),
    bust_price: shownPrice(Margin.shownBustPrice(market.limits, size, market.markPrice, share)),
    unrealised_pnl: format(figures.unrealisedPnl),
    cur_realised_pnl: format(holding.currentRealised),
    cum_realised_pnl: format(holding.realised),
    ...exits(holding),
    adl_rank_indicator: holding.adlRank,
    risk_tier: figures.tier + 1,
    break_even_price: breakEven(holding),
    created_time_ms: holding.createdMs,
    updated_time_ms: holding.updatedMs,
    liquidation_fee: format(holding.liquidationFee)
  }
}

export const balance = (account: Account, totals: AccountTotals): Balance => ({
  user_id: account.userId,
  sub_account_address: account.address,
  asset: ASSET,
  wallet_balance: format(account.wallet),
  equity: format(totals.equity),
  available_balance: format(Margin.available(totals)),
  margin_used: format(totals.initialMargin + totals.isolatedMargin),
  order_margin: format(totals.orderMargin),
  maintenance_margin: format(totals.maintenanceMargin + totals.isolatedMaintenance),
  unrealised_pnl: format(totals.unrealisedPnl),
  isolated_margin: format(totals.isolatedMargin),
  withdrawable: format(Margin.withdrawable(account.wallet, totals)),
  updated_time_ms: account.updatedMs
})

export const subAccount = (account: Account): SubAccount => ({
  sub_account_address: account.address,
  user_id: account.userId,
  root_address: account.root,
  index: account.subIndex,
  frozen: account.frozen,
  deleted: account.deleted,
  created_time_ms: account.createdMs
})

/** The end of the funding interval that contains `at`. */
export const nextFundingMs = (market: MarketState, at: number): number => {
  const interval = market.market.funding_interval_minutes * 60_000
  return (Math.floor(at / interval) + 1) * interval
}

export const prices = (state: State, market: MarketState, at: number = state.time): Prices => ({
  symbol: market.market.symbol,
  mark_price: market.markText,
  index_price: market.indexText,
  funding_rate: format(market.predictedRate),
  next_funding_time_ms: nextFundingMs(market, at),
  open_interest: Grid.text(market.rules.qty, market.openLots),
  last_price: market.lastTicks === undefined ? undefined : Grid.text(market.rules.price, market.lastTicks),
  ts_ms: at
})

const STATUS = {
  PreLaunch: InstrumentStatus.INSTRUMENT_STATUS_PRE_LAUNCH,
  Trading: InstrumentStatus.INSTRUMENT_STATUS_TRADING,
  ReduceOnly: InstrumentStatus.INSTRUMENT_STATUS_REDUCE_ONLY,
  Closed: InstrumentStatus.INSTRUMENT_STATUS_CLOSED
} as const

export const instrument = ({ market }: MarketState): Instrument => {
  const c = Decimal.canonical
  return {
    symbol: market.symbol,
    base_asset: market.base_asset,
    quote_asset: market.quote_asset,
    settle_asset: market.settle_asset,
    status: STATUS[market.status],
    launch_time_ms: market.launch_time_ms,
    funding_interval_minutes: market.funding_interval_minutes,
    tick_size: c(market.tick_size),
    min_price: c(market.min_price),
    max_price: c(market.max_price),
    qty_step: c(market.qty_step),
    min_order_qty: c(market.min_order_qty),
    max_order_qty: c(market.max_order_qty),
    max_mkt_order_qty: c(market.max_mkt_order_qty),
    min_notional_value: c(market.min_notional_value),
    min_leverage: "1",
    max_leverage: c(market.max_leverage),
    leverage_step: "0.01",
    price_band: c(market.price_band),
    max_open_orders: market.max_open_orders,
    max_conditional_orders: market.max_conditional_orders,
    maker_fee_rate: market.maker_fee_rate,
    taker_fee_rate: market.taker_fee_rate,
    funding_cap: c(market.funding_cap)
  }
}

export const riskTiers = (market: MarketState): Array<RiskTier> =>
  market.tiers.map((tier, i) => ({
    symbol: market.market.symbol,
    tier: i + 1,
    risk_limit_value: format(tier.limit),
    initial_margin_rate: format(tier.initialRate),
    maintenance_margin_rate: format(tier.maintenanceRate),
    mm_deduction: format(tier.deduction),
    max_leverage: format(
      Decimal.min(Decimal.parse(market.market.max_leverage), Decimal.div(Decimal.ONE, tier.initialRate, "down"))
    )
  }))

export const feeRate = (market: MarketState): FeeRate => ({
  symbol: market.market.symbol,
  maker_fee_rate: format(market.makerFee),
  taker_fee_rate: format(market.takerFee)
})
