/**
 * Liquidation: accounts, and Isolated positions, whose equity no longer covers their maintenance margin lose their
 * positions, to the book as far as it bids within the bust price, the rest to the insurance pool.
 * Source: docs/contract/exchange.md#liquidation.
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
import * as Matching from "../sequencer/Matching.ts"
import { newOrder } from "../sequencer/NewOrder.ts"
import type { Order } from "../sequencer/Order.ts"
import { type Account, type MarketPosition, isHouse } from "../State.ts"
import { emit, type StepContext } from "../StepContext.ts"
import * as Accounts from "./Accounts.ts"
import * as LiquidationThresholds from "./LiquidationThresholds.ts"
import { emitBalance, emitPosition } from "./PositionEvents.ts"

/** Part of the value filled in the book that the pool takes, where the account has it. */
const FEE_RATE = Decimal.parse("0.005")

const bySymbol = (a: MarketPosition, b: MarketPosition): number =>
  a.market.market.symbol < b.market.market.symbol ? -1 : 1

const byAddress = (a: Account, b: Account): number => (a.address < b.address ? -1 : 1)

const openHoldings = (account: Account): Array<MarketPosition> =>
  account.holdings.filter((holding) => holding !== undefined).filter((holding) => holding.lots !== 0)

/** Whether an Isolated position no longer stands. */
const fails = (holding: MarketPosition): boolean => {
  const figures = Accounts.figuresOf(holding)
  return holding.isolatedMargin + figures.unrealisedPnl < figures.maintenanceMargin
}

/** Cancels resting orders of a holding before the engine takes its position; conditional ones stay. */
export const cancelResting = (turn: StepContext, holding: MarketPosition, type: CancelType): void => {
  const orders = [...holding.orders.values()]
  for (const order of orders) Matching.cancel(turn, order, type)
  Matching.emitCanceled(turn, orders)
}

/** The bust price in ticks, within the market's prices. */
export const bustTicks = (holding: MarketPosition, share: Margin.Fraction): number => {
  const { market, lots } = holding
  const { limits, rules } = market
  const price = Margin.bustPrice(limits.tick, Grid.scaled(rules.qty, lots), market.markPrice, share)
  return Grid.floor(rules.price, Decimal.max(limits.min, Decimal.min(limits.max, price)))
}

/** Moves money from an account to the pool of a market, or (negative) back, on account of an order of its liquidation. */
const payPool = (turn: StepContext, holding: MarketPosition, order: Order, amount: Decimal.Scaled): void => {
  if (amount === 0n) return
  const { account, market } = holding
  const pool = turn.state.pools[market.index]!
  Accounts.credit(turn.state, account, -amount)
  Accounts.credit(turn.state, pool.holding.account, amount)
  pool.changed = true
  holding.liquidationFee += amount
  const totals = Accounts.lazyTotals(account)
  emitPosition(turn, holding, totals)
  const cause = () => ({
    reason: BalanceReason.BALANCE_REASON_LIQUIDATION_FEE,
    amount: Decimal.format(-amount),
    order_id: order.id
  })
  emitBalance(turn, account, market, cause, totals)
}

/** Announces a position that the engine takes hold of. */
export const announceStatus = (turn: StepContext, holding: MarketPosition, status: PositionStatus): void => {
  holding.status = status
  emitPosition(turn, holding, Accounts.lazyTotals(holding.account))
  holding.status = PositionStatus.POSITION_STATUS_NORMAL
}

/** The orders that closed a position: what the book took, and what it left to the pool, if anything. */
interface Closing {
  readonly order: Order
  readonly remainder: Order | undefined
}

/** Closes a whole position at its bust price or better. */
const close = (turn: StepContext, holding: MarketPosition, share: Margin.Fraction): Closing => {
  const { market, lots } = holding
  const long = lots > 0
  const ticks = bustTicks(holding, share)
  emit(turn, holding.account, market, () => ({
    $case: "liquidation_started",
    value: {
      symbol: market.market.symbol,
      side: long ? Side.SIDE_BUY : Side.SIDE_SELL,
      size: Grid.text(market.rules.qty, Math.abs(lots)),
      bust_price: Grid.text(market.rules.price, ticks)
    }
  }))
  announceStatus(turn, holding, PositionStatus.POSITION_STATUS_LIQ)
  holding.status = PositionStatus.POSITION_STATUS_LIQ
  const shape = {
    side: long ? Side.SIDE_SELL : Side.SIDE_BUY,
    type: OrderType.ORDER_TYPE_LIMIT,
    timeInForce: TimeInForce.TIME_IN_FORCE_IOC,
    ticks,
    reduceOnly: true,
    smp: SmpType.SMP_TYPE_CANCEL_MAKER
  }
  const order = newOrder(turn, holding, {
    ...shape,
    lots: Math.abs(lots),
    createType: CreateType.CREATE_TYPE_CREATE_BY_LIQ
  })
  Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_ACCEPTED)
  const ended = Matching.match(turn, order)
  const rest = order.leaves
  if (rest > 0) {
    const none = order.filled === 0
    Matching.cancel(
      turn,
      order,
      CancelType.CANCEL_TYPE_CANCEL_BY_TIME_IN_FORCE,
      none ? RejectReason.REJECT_REASON_EC_NO_IMMEDIATE_QTY_TO_FILL : RejectReason.REJECT_REASON_EC_NO_ERROR
    )
    ended.push(order)
  }
  Matching.emitCanceled(turn, ended)
  let remainder: Order | undefined
  if (rest > 0) {
    remainder = newOrder(turn, holding, {
      ...shape,
      lots: rest,
      createType: CreateType.CREATE_TYPE_CREATE_BY_TAKE_OVER_PASS_THROUGH
    })
    Matching.emitOrder(turn, remainder, OrderCause.ORDER_CAUSE_ACCEPTED)
    Matching.passThrough(turn, remainder, rest, ExecType.EXEC_TYPE_BUST_TRADE)
  }
  holding.status = PositionStatus.POSITION_STATUS_NORMAL
  return { order, remainder }
}

/** The fee on what the book took, at most what is left; a rest below 0 is the pool's. */
const settleWithPool = (turn: StepContext, holding: MarketPosition, { order }: Closing, left: Decimal.Scaled): void => {
  const fee = Decimal.min(Decimal.mul(order.filledValue, FEE_RATE, "up"), Decimal.max(0n, left))
  payPool(turn, holding, order, fee)
}

/** The pool pays a rest below 0. */
const coverRest = (
  turn: StepContext,
  holding: MarketPosition,
  { order, remainder }: Closing,
  rest: Decimal.Scaled
): void => {
  if (rest < 0n) payPool(turn, holding, remainder ?? order, rest)
}

const liquidateIsolated = (turn: StepContext, holding: MarketPosition): void => {
  const { account } = holding
  cancelResting(turn, holding, CancelType.CANCEL_TYPE_CANCEL_ALL_BEFORE_LIQ)
  const before = account.wallet
  const closing = close(turn, holding, Accounts.equityOf(holding, Accounts.totalsOf(account)))
  // flat: its margin has come to the wallet together with the result
  const left = account.wallet - before
  settleWithPool(turn, holding, closing, left)
  coverRest(turn, holding, closing, left)
}

const liquidateCross = (turn: StepContext, account: Account): void => {
  for (const holding of account.holdings)
    if (holding !== undefined) cancelResting(turn, holding, CancelType.CANCEL_TYPE_CANCEL_ALL_BEFORE_LIQ)
  while (true) {
    const totals = Accounts.totalsOf(account)
    if (totals.crossEquity >= totals.maintenanceMargin) return
    const positions = openHoldings(account)
      .filter((holding) => !holding.isolated)
      .sort(bySymbol)
    let largest = positions[0]
    if (largest === undefined) return
    for (const holding of positions)
      if (Accounts.figuresOf(holding).maintenanceMargin > Accounts.figuresOf(largest).maintenanceMargin)
        largest = holding
    const closing = close(turn, largest, Accounts.equityOf(largest, totals))
    settleWithPool(turn, largest, closing, Accounts.totalsOf(account).crossEquity)
    if (positions.length === 1) coverRest(turn, largest, closing, account.wallet)
  }
}

const liquidate = (turn: StepContext, account: Account): boolean => {
  let done = false
  for (const holding of openHoldings(account).sort(bySymbol)) {
    if (!holding.isolated || !fails(holding)) continue
    liquidateIsolated(turn, holding)
    done = true
  }
  const totals = Accounts.totalsOf(account)
  if (totals.crossEquity >= totals.maintenanceMargin) return done
  if (!openHoldings(account).some((holding) => !holding.isolated)) return done
  liquidateCross(turn, account)
  return true
}

const failing = (account: Account): boolean => {
  const totals = Accounts.totalsOf(account)
  return totals.crossEquity < totals.maintenanceMargin || openHoldings(account).some((h) => h.isolated && fails(h))
}

/** Liquidates whoever fails, of those that the step can have moved, by address. Returns whether anybody did. */
export const run = (turn: StepContext): boolean => {
  const { state } = turn
  const judged = new Set<Account>()
  for (const market of turn.moved) for (const holding of state.standing.take(market)) judged.add(holding.account)
  const failed: Array<Account> = []
  for (const account of judged)
    if (failing(account)) failed.push(account)
    else LiquidationThresholds.watch(state, account)
  for (const holding of turn.holdings) {
    const { account } = holding
    if (isHouse(holding) || judged.has(account)) continue
    judged.add(account)
    if (failing(account)) failed.push(account)
  }
  let done = false
  // an earlier liquidation of this round may have filled a maker and moved its account, never below its margin
  for (const account of failed.sort(byAddress)) {
    if (liquidate(turn, account)) done = true
    Accounts.touch(state, account)
  }
  return done
}
