/**
 * Liquidation of accounts and Isolated positions whose equity is below their maintenance margin. The engine closes the
 * positions against the book, at the bust price or better; the insurance pool takes the remainder. Source:
 * docs/contract/exchange.md#liquidation.
 */
import * as Decimal from "../../../domain/Decimal.ts"
import * as Grid from "../../../domain/Grid.ts"
import * as Margin from "../../../domain/Margin.ts"
import { OrderCause } from "../../../proto/gateway/v1/sequencer.ts"
import {
  BalanceReason,
  CancelType,
  CreateType,
  ExecType,
  OrderType,
  PositionStatus,
  RejectReason,
  Side,
  SmpType,
  TimeInForce
} from "../../../proto/gateway/v1/types.ts"
import * as Accounts from "../accounts/Accounts.ts"
import { emitBalance, emitPosition } from "../events/PositionEvents.ts"
import { emit, type StepContext } from "../events/StepContext.ts"
import * as Matching from "../sequencer/Matching.ts"
import { newOrder } from "../sequencer/NewOrder.ts"
import * as OrderEvents from "../sequencer/OrderEvents.ts"
import * as RestingOrder from "../sequencer/RestingOrder.ts"
import { isPoolPosition } from "../state/MarketPosition.ts"
import { type Slices, sort } from "../state/Slices.ts"
import type { Account, MarketPosition, Order } from "../state/State.ts"
import * as LiquidationThresholds from "./LiquidationThresholds.ts"

/** Liquidation fee: share of the value filled in the book, paid to the pool as far as the account can. */
const FEE_RATE = Decimal.parse("0.005")

const bySymbol = (a: MarketPosition, b: MarketPosition): number =>
  a.market.market.symbol < b.market.market.symbol ? -1 : 1

const byAddress = (a: Account, b: Account): number => (a.address < b.address ? -1 : 1)

/** Whether the equity of an Isolated position is below its maintenance margin. */
const isBelowMaintenance = (holding: MarketPosition): boolean => {
  const figures = Accounts.figuresOf(holding)
  return holding.isolatedMargin + figures.unrealisedPnl < figures.maintenanceMargin
}

/** Cancels the resting orders of a position before the engine closes it; conditional orders stay. */
export const cancelResting = (ctx: StepContext, holding: MarketPosition, type: CancelType): void => {
  const orders = [...holding.orders.values()]
  for (const order of orders) RestingOrder.cancel(ctx, order, type)
  OrderEvents.emitCanceled(ctx, orders)
}

/** The bust price in ticks, within the market's price limits. */
export const bustTicks = (holding: MarketPosition, share: Margin.Fraction): number => {
  const { market, lots } = holding
  const { limits, rules } = market
  const price = Margin.bustPrice(limits.tick, Grid.scaled(rules.qty, lots), market.markPrice, share)
  return Grid.floor(rules.price, Decimal.max(limits.min, Decimal.min(limits.max, price)))
}

/** Pays money from an account to the pool of a market, or (negative) back, in connection with a liquidation order. */
const payPool = (ctx: StepContext, holding: MarketPosition, order: Order, amount: Decimal.Scaled): void => {
  if (amount === 0n) return
  const { account, market } = holding
  const pool = ctx.state.pools[market.index]!
  Accounts.credit(ctx.state, account, -amount)
  Accounts.credit(ctx.state, pool.holding.account, amount)
  pool.changed = true
  holding.liquidationFee += amount
  const totals = Accounts.lazyTotals(account)
  emitPosition(ctx, holding, totals)
  const cause = () => ({
    reason: BalanceReason.BALANCE_REASON_LIQUIDATION_FEE,
    amount: Decimal.format(-amount),
    order_id: order.id
  })
  emitBalance(ctx, account, market, cause, totals)
}

/** Emits a position with a temporary status, when the engine takes it over. */
export const emitPositionStatus = (ctx: StepContext, holding: MarketPosition, status: PositionStatus): void => {
  holding.status = status
  emitPosition(ctx, holding, Accounts.lazyTotals(holding.account))
  holding.status = PositionStatus.POSITION_STATUS_NORMAL
}

/**
 * The orders that closed a position: the order in the book, and the order for the remainder that the pool took, if any.
 */
interface Closing {
  readonly order: Order
  readonly remainder: Order | undefined
}

/** Closes a whole position at its bust price or better. */
const closePosition = (ctx: StepContext, holding: MarketPosition, share: Margin.Fraction): Closing => {
  const { market, lots } = holding
  const long = lots > 0
  const ticks = bustTicks(holding, share)
  emit(ctx, holding.account, market, () => ({
    $case: "liquidation_started",
    value: {
      symbol: market.market.symbol,
      side: long ? Side.SIDE_BUY : Side.SIDE_SELL,
      size: Grid.text(market.rules.qty, Math.abs(lots)),
      bust_price: Grid.text(market.rules.price, ticks)
    }
  }))
  emitPositionStatus(ctx, holding, PositionStatus.POSITION_STATUS_LIQ)
  holding.status = PositionStatus.POSITION_STATUS_LIQ
  const shape = {
    side: long ? Side.SIDE_SELL : Side.SIDE_BUY,
    type: OrderType.ORDER_TYPE_LIMIT,
    timeInForce: TimeInForce.TIME_IN_FORCE_IOC,
    ticks,
    reduceOnly: true,
    smp: SmpType.SMP_TYPE_CANCEL_MAKER
  }
  const order = newOrder(ctx, holding, {
    ...shape,
    lots: Math.abs(lots),
    createType: CreateType.CREATE_TYPE_CREATE_BY_LIQ
  })
  OrderEvents.emitOrder(ctx, order, OrderCause.ORDER_CAUSE_ACCEPTED)
  const ended = Matching.match(ctx, order)
  const rest = order.leaves
  if (rest > 0) {
    const none = order.filled === 0
    RestingOrder.cancel(
      ctx,
      order,
      CancelType.CANCEL_TYPE_CANCEL_BY_TIME_IN_FORCE,
      none ? RejectReason.REJECT_REASON_EC_NO_IMMEDIATE_QTY_TO_FILL : RejectReason.REJECT_REASON_EC_NO_ERROR
    )
    ended.push(order)
  }
  OrderEvents.emitCanceled(ctx, ended)
  let remainder: Order | undefined
  if (rest > 0) {
    remainder = newOrder(ctx, holding, {
      ...shape,
      lots: rest,
      createType: CreateType.CREATE_TYPE_CREATE_BY_TAKE_OVER_PASS_THROUGH
    })
    OrderEvents.emitOrder(ctx, remainder, OrderCause.ORDER_CAUSE_ACCEPTED)
    Matching.passThrough(ctx, remainder, rest, ExecType.EXEC_TYPE_BUST_TRADE)
  }
  holding.status = PositionStatus.POSITION_STATUS_NORMAL
  return { order, remainder }
}

/** Charges the liquidation fee on the value filled in the book, at most the remaining balance. */
const chargeLiquidationFee = (
  ctx: StepContext,
  holding: MarketPosition,
  { order }: Closing,
  left: Decimal.Scaled
): void => {
  const fee = Decimal.min(Decimal.mul(order.filledValue, FEE_RATE, "up"), Decimal.max(0n, left))
  payPool(ctx, holding, order, fee)
}

/** Lets the pool pay a negative remaining balance. */
const coverDeficit = (
  ctx: StepContext,
  holding: MarketPosition,
  { order, remainder }: Closing,
  rest: Decimal.Scaled
): void => {
  if (rest < 0n) payPool(ctx, holding, remainder ?? order, rest)
}

const liquidateIsolated = (ctx: StepContext, holding: MarketPosition): void => {
  const { account } = holding
  cancelResting(ctx, holding, CancelType.CANCEL_TYPE_CANCEL_ALL_BEFORE_LIQ)
  const before = account.wallet
  const closing = closePosition(ctx, holding, Accounts.equityOf(holding, Accounts.totalsOf(account)))
  // the position is flat: its margin and its result are in the wallet
  const left = account.wallet - before
  chargeLiquidationFee(ctx, holding, closing, left)
  coverDeficit(ctx, holding, closing, left)
}

const liquidateCross = (ctx: StepContext, account: Account): void => {
  for (const holding of account.holdings)
    if (holding !== undefined) cancelResting(ctx, holding, CancelType.CANCEL_TYPE_CANCEL_ALL_BEFORE_LIQ)
  while (true) {
    const totals = Accounts.totalsOf(account)
    if (totals.crossEquity >= totals.maintenanceMargin) return
    const positions = Accounts.openHoldings(account)
      .filter((holding) => !holding.isolated)
      .sort(bySymbol)
    let largest = positions[0]
    if (largest === undefined) return
    for (const holding of positions)
      if (Accounts.figuresOf(holding).maintenanceMargin > Accounts.figuresOf(largest).maintenanceMargin)
        largest = holding
    const closing = closePosition(ctx, largest, Accounts.equityOf(largest, totals))
    chargeLiquidationFee(ctx, largest, closing, Accounts.totalsOf(account).crossEquity)
    if (positions.length === 1) coverDeficit(ctx, largest, closing, account.wallet)
  }
}

const liquidate = (ctx: StepContext, account: Account): boolean => {
  let done = false
  for (const holding of Accounts.openHoldings(account).sort(bySymbol)) {
    if (!holding.isolated || !isBelowMaintenance(holding)) continue
    liquidateIsolated(ctx, holding)
    done = true
  }
  const totals = Accounts.totalsOf(account)
  if (totals.crossEquity >= totals.maintenanceMargin) return done
  if (!Accounts.openHoldings(account).some((holding) => !holding.isolated)) return done
  liquidateCross(ctx, account)
  return true
}

const needsLiquidation = (account: Account): boolean => {
  const totals = Accounts.totalsOf(account)
  return (
    totals.crossEquity < totals.maintenanceMargin ||
    Accounts.openHoldings(account).some((h) => h.isolated && isBelowMaintenance(h))
  )
}

/**
 * Liquidates the accounts that the step moved below their maintenance margin, by address. Returns whether there was a
 * liquidation.
 */
export const run = function* (ctx: StepContext): Slices<boolean> {
  const { state } = ctx
  if (ctx.repricedMarkets.size === 0 && ctx.changedPositions.size === 0) return false
  const checked = new Set<Account>()
  for (const market of ctx.repricedMarkets)
    for (const holding of yield* state.liquidationRanges.takeDue(market)) checked.add(holding.account)
  const failed: Array<Account> = []
  for (const account of checked) {
    yield
    if (needsLiquidation(account)) failed.push(account)
    else LiquidationThresholds.update(state, account)
  }
  for (const holding of ctx.changedPositions) {
    const { account } = holding
    if (isPoolPosition(holding) || checked.has(account)) continue
    checked.add(account)
    if (needsLiquidation(account)) failed.push(account)
  }
  if (failed.length === 0) return false
  let done = false
  // an earlier liquidation of this round may have filled a maker and changed its account, but never below its margin
  for (const account of yield* sort(failed, byAddress)) {
    yield
    if (liquidate(ctx, account)) done = true
    Accounts.invalidateThresholds(state, account)
  }
  return done
}
