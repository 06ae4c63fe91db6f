/**
 * The matching of one incoming order against the book, and the ends of orders.
 *
 * An order that has left the book in the course of a step is announced after the step's fills; its effect on the book and
 * on the margins is immediate. Source: docs/contract/orders.md#order-statuses, #order-semantics,
 * docs/contract/exchange.md#matching.
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
  OrderStatus,
  OrderType,
  RejectReason,
  Side,
  SmpType,
  type Trade
} from "../../../proto/gateway/v1/types.ts"
import * as Records from "../Records.ts"
import * as Accounts from "../referee/Accounts.ts"
import { feeOf } from "../referee/Fees.ts"
import { emitBalance, emitPosition } from "../referee/PositionEvents.ts"
import { rememberClosed } from "../Retention.ts"
import { type Account, type MarketPosition, isHouse, units, valueOf } from "../State.ts"
import { emit, type StepContext } from "../StepContext.ts"
import * as Ids from "./Ids.ts"
import type { Order } from "./Order.ts"
import { NONE as NO_ORDER } from "./OrderBook.ts"
import * as TriggerQueues from "./TriggerQueues.ts"
import { rowOf } from "./Status.ts"

const NONE = "0"

export const opposite = (side: Side): Side => (side === Side.SIDE_BUY ? Side.SIDE_SELL : Side.SIDE_BUY)

/** Whether an order of this side and price would trade with the best price opposite. */
export const crosses = (holding: MarketPosition, side: Side, ticks: number): boolean => {
  const best = holding.market.book.best(opposite(side))
  return best !== undefined && (side === Side.SIDE_BUY ? best <= ticks : best >= ticks)
}

/**
 * Announces an order as it stands. Throws where its change is not in the table of
 * docs/contract/orders.md#order-statuses.
 */
export const emitOrder = (turn: StepContext, order: Order, cause: OrderCause): void => {
  if (isHouse(order.holding)) return
  rowOf(order.told, cause, order.status)
  order.told = order.status
  order.updatedMs = turn.at
  emit(turn, order.account, order.holding.market, () => ({
    $case: "order_changed",
    value: { order: Records.order(order), cause }
  }))
}

/** Emits, at the end of the step, a balance whose wallet is unchanged: margins moved. */
export const touchMargins = (turn: StepContext, order: Order): void => {
  const { holding } = order
  if (isHouse(holding)) return
  if (holding.lots !== 0 && Accounts.figuresOf(holding).exposureTier !== holding.toldTier)
    Accounts.outdate(turn.state, holding)
  turn.margins.set(order.account, turn.margins.has(order.account) ? undefined : order.id)
}

/** The balances that {@link touchMargins} named and no later event of the step has shown, once an account. */
export const emitMargins = (turn: StepContext): void => {
  for (const [account, order_id] of turn.margins)
    emitBalance(turn, account, undefined, () => ({ reason: BalanceReason.BALANCE_REASON_ORDER, order_id }))
}

/** Puts an order into the book and counts it among the account's open ones. */
export const rest = (turn: StepContext, order: Order): void => {
  const { holding } = order
  holding.market.book.add(order.slot, order.side, order.ticks, order.leaves)
  order.resting = true
  turn.markets.add(holding.market)
  if (order.reduceOnly) {
    Accounts.bindReduceOnly(holding, order.side, order.leaves)
    turn.holdings.add(holding)
  }
  holding.orders.set(order.number, order)
}

/** Takes an order out of the book; it stays open. */
export const lift = (turn: StepContext, order: Order): void => {
  if (!order.resting) return
  if (order.reduceOnly) Accounts.bindReduceOnly(order.holding, order.side, -order.leaves)
  order.holding.market.book.remove(order.slot)
  order.resting = false
  turn.markets.add(order.holding.market)
}

/** Takes lots off the quantity of a resting order, which keeps its place. What an opening order binds is the caller's. */
export const shrink = (turn: StepContext, order: Order, lots: number): void => {
  const { holding } = order
  holding.market.book.reduce(order.slot, lots)
  turn.markets.add(holding.market)
  if (order.reduceOnly) Accounts.bindReduceOnly(holding, order.side, -lots)
  order.lots -= lots
  order.leaves -= lots
}

/** Drops a closed order; its status is remembered. */
export const forget = (turn: StepContext, order: Order): void => {
  turn.state.orders.drop(order)
  order.holding.orders.delete(order.number)
  if (order.expireMs !== undefined) TriggerQueues.forgetExpiry(turn.state, order)
  if (isHouse(order.holding)) return
  rememberClosed(turn.state, order)
}

/** Takes an order out of the book and frees what it binds. */
export const release = (turn: StepContext, order: Order): void => {
  if (!order.reduceOnly) Accounts.bindOrder(order.holding, order.side, order.ticks, -order.leaves)
  lift(turn, order)
}

/** Ends an order that is not filled. Its event is the caller's. */
export const cancel = (
  turn: StepContext,
  order: Order,
  cancelType: CancelType,
  reason: RejectReason = RejectReason.REJECT_REASON_EC_NO_ERROR,
  message?: string
): void => {
  release(turn, order)
  order.leaves = 0
  order.status =
    order.filled > 0 ? OrderStatus.ORDER_STATUS_PARTIALLY_FILLED_CANCELED : OrderStatus.ORDER_STATUS_CANCELED
  order.cancelType = cancelType
  order.rejectReason = reason
  order.rejectMessage = message
  order.updatedMs = turn.at
  forget(turn, order)
}

/** Announces canceled orders and the margins they freed. */
export const emitCanceled = (turn: StepContext, orders: ReadonlyArray<Order>): void => {
  for (const order of orders) {
    emitOrder(turn, order, OrderCause.ORDER_CAUSE_CANCELED)
    // of an order that came and went at once no margin was announced, so none is taken back
    if (order.cancelType !== CancelType.CANCEL_TYPE_CANCEL_BY_TIME_IN_FORCE || order.filled > 0)
      touchMargins(turn, order)
  }
}

const isSelf = (taker: Order, maker: Order): boolean => taker.account.userId === maker.account.userId

/**
 * Whether an order is the engine's own: it pays no fee as taker and is not judged.
 * Source: docs/contract/exchange.md#system-orders.
 */
const isSystem = ({ createType, holding }: Order): boolean =>
  createType === CreateType.CREATE_TYPE_CREATE_BY_LIQ ||
  createType === CreateType.CREATE_TYPE_CREATE_BY_TAKE_OVER_PASS_THROUGH ||
  createType === CreateType.CREATE_TYPE_CREATE_BY_ADL_PASS_THROUGH ||
  isHouse(holding)

const settle = (order: Order, ticks: number, lots: number, isMaker: boolean) => {
  const { market } = order.holding
  const value = valueOf(market, ticks, lots)
  const fee = !isMaker && isSystem(order) ? 0n : feeOf(market, value, isMaker)
  return { value, fee, settlement: Accounts.settleFill(order.holding, order.holding, order.side, lots, value, fee) }
}

type Settled = ReturnType<typeof settle>

const covered = ({ account, holding }: Order, { fee, settlement }: Settled): boolean =>
  Accounts.covers(holding, account.wallet + settlement.wallet, fee, settlement)

const CANNOT_AFFORD = "the fill would leave the account below its maintenance margin"

/** Books one side of a fill on the order, the position and the wallet. */
const apply = (turn: StepContext, order: Order, lots: number, settled: Settled): void => {
  const { holding } = order
  const { settlement, fee, value } = settled
  if (order.resting) {
    if (lots < order.leaves) holding.market.book.reduce(order.slot, lots)
    else {
      holding.market.book.remove(order.slot)
      order.resting = false
    }
    if (order.reduceOnly) Accounts.bindReduceOnly(holding, order.side, -lots)
  }
  if (!order.reduceOnly) Accounts.bindOrder(holding, order.side, order.ticks, -lots)
  const before = holding.lots
  Accounts.book(turn.state, holding, order.side, lots, fee, settlement, turn.at)
  turn.holdings.add(holding)
  if (before !== 0 && Math.sign(holding.lots) !== Math.sign(before)) turn.ended.add(holding)
  const opened = lots - Number(settlement.closedSize)
  order.opened += opened
  if (opened > 0 && order.tpsl !== undefined) turn.attach.add(order)
  order.leaves -= lots
  order.filled += lots
  order.filledValue += value
  order.fees += fee
  if (settlement.closedSize > 0n)
    order.closedPnl = (order.closedPnl ?? 0n) + settlement.realised - settlement.closedOpenFee - settlement.closedFee
  order.status = order.leaves === 0 ? OrderStatus.ORDER_STATUS_FILLED : OrderStatus.ORDER_STATUS_PARTIALLY_FILLED
  order.rejectReason = RejectReason.REJECT_REASON_EC_NO_ERROR
  order.rejectMessage = undefined
  order.updatedMs = turn.at
  if (isHouse(holding)) turn.state.pools[holding.market.index]!.changed = true
  if (order.leaves === 0) forget(turn, order)
}

const announce = (
  turn: StepContext,
  order: Order,
  price: string,
  lots: number,
  isMaker: boolean,
  settled: Settled,
  seq: number,
  execId: string,
  execType: ExecType = ExecType.EXEC_TYPE_TRADE
): void => {
  const { holding, account } = order
  if (isHouse(holding)) return
  const { market } = holding
  const { settlement, fee, value } = settled
  const { format } = Decimal
  const figures = Accounts.figuresOf(holding)
  const feeText = format(fee)
  const closed = settlement.closedSize > 0n
  const realised = closed ? format(settlement.realised) : undefined
  emit(turn, account, market, () => ({
    $case: "execution_created",
    value: {
      execution: {
        exec_id: execId,
        user_id: account.userId,
        sub_account_address: account.address,
        symbol: market.market.symbol,
        order_id: order.id,
        order_link_id: order.link,
        side: order.side,
        order_type: order.type,
        order_price: order.type === OrderType.ORDER_TYPE_MARKET ? NONE : Grid.text(market.rules.price, order.ticks),
        order_qty: Grid.text(market.rules.qty, order.lots),
        leaves_qty: Grid.text(market.rules.qty, order.leaves),
        exec_price: price,
        exec_qty: Grid.text(market.rules.qty, lots),
        exec_value: format(value),
        exec_type: execType,
        exec_time_ms: turn.at,
        is_maker: isMaker,
        base_fee: feeText,
        fee_rate: format(isMaker ? market.makerFee : isSystem(order) ? 0n : market.takerFee),
        mark_price: market.markText,
        index_price: market.indexText,
        market_seq: seq,
        create_type: order.createType,
        stop_order_type: order.stopType,
        closed_size: closed ? Grid.text(market.rules.qty, Number(settlement.closedSize)) : undefined,
        closed_entry_value: closed ? format(settlement.closedEntryValue) : undefined,
        closed_open_fee: closed ? format(settlement.closedOpenFee) : undefined,
        realised_pnl: realised,
        leverage: format(Margin.effectiveLeverage(holding.leverage, market.tiers[figures.exposureTier]!))
      }
    }
  }))
  emitOrder(turn, order, OrderCause.ORDER_CAUSE_FILLED)
  const totals = Accounts.lazyTotals(account)
  emitPosition(turn, holding, totals)
  const adl = execType === ExecType.EXEC_TYPE_ADL_TRADE
  const cause = () => ({
    reason: adl ? BalanceReason.BALANCE_REASON_ADL : BalanceReason.BALANCE_REASON_TRADE,
    amount: format(settlement.wallet),
    fee: feeText,
    realised_pnl: realised ?? NONE,
    order_id: order.id,
    exec_id: execId
  })
  emitBalance(turn, account, market, cause, totals)
}

/**
 * Fills an incoming order as far as the book lets it. Returns the orders that ended unfilled on the way, makers at fault
 * and perhaps the taker itself, in the order they ended; the caller announces them after the fills.
 */
export const match = (turn: StepContext, taker: Order): Array<Order> => {
  const { holding } = taker
  const { market } = holding
  const { book } = market
  const { state } = turn
  const against = opposite(taker.side)
  const buys = taker.side === Side.SIDE_BUY
  const ended: Array<Order> = []
  let trades: Array<Trade> | undefined
  const end = (
    order: Order,
    type: CancelType,
    reason: RejectReason = RejectReason.REJECT_REASON_EC_NO_ERROR,
    message?: string
  ) => {
    cancel(turn, order, type, reason, message)
    ended.push(order)
  }
  const selfMatch = (order: Order) =>
    end(
      order,
      CancelType.CANCEL_TYPE_CANCEL_BY_SMP,
      RejectReason.REJECT_REASON_EC_BY_SELF_MATCH,
      "it would have traded with an order of the same user"
    )
  while (taker.leaves > 0) {
    const slot = book.first(against)
    if (slot === NO_ORDER) break
    const maker = state.orders.at(slot)
    const { ticks } = maker
    if (buys ? ticks > taker.ticks : ticks < taker.ticks) break
    if (isSelf(taker, maker)) {
      if (taker.smp !== SmpType.SMP_TYPE_CANCEL_TAKER) selfMatch(maker)
      if (taker.smp === SmpType.SMP_TYPE_CANCEL_MAKER) continue
      selfMatch(taker)
      break
    }
    let lots = Math.min(taker.leaves, maker.leaves)
    if (taker.reduceOnly) {
      lots = Math.min(lots, Accounts.closable(holding.lots, taker.side))
      if (lots === 0) {
        end(taker, CancelType.CANCEL_TYPE_CANCEL_BY_REDUCE_ONLY)
        break
      }
    }
    if (maker.reduceOnly) {
      lots = Math.min(lots, Accounts.closable(maker.holding.lots, maker.side))
      if (lots === 0) {
        end(maker, CancelType.CANCEL_TYPE_CANCEL_BY_REDUCE_ONLY)
        continue
      }
    }
    const made = settle(maker, ticks, lots, true)
    if (!covered(maker, made)) {
      end(
        maker,
        CancelType.CANCEL_TYPE_CANCEL_BY_CANNOT_AFFORD_ORDER_COST,
        RejectReason.REJECT_REASON_EC_NO_ERROR,
        CANNOT_AFFORD
      )
      continue
    }
    const taken = settle(taker, ticks, lots, false)
    if (!isSystem(taker) && !covered(taker, taken)) {
      end(
        taker,
        CancelType.CANCEL_TYPE_CANCEL_BY_CANNOT_AFFORD_ORDER_COST,
        RejectReason.REJECT_REASON_EC_NO_ERROR,
        CANNOT_AFFORD
      )
      break
    }
    turn.markets.add(market)
    apply(turn, taker, lots, taken)
    apply(turn, maker, lots, made)
    market.lastTicks = ticks
    const fill = ++state.fillNumber
    const seq = ++market.seq
    const price = Grid.text(market.rules.price, ticks)
    announce(turn, taker, price, lots, false, taken, seq, Ids.print(state.executionSeed, turn.at, 2 * fill))
    announce(turn, maker, price, lots, true, made, seq, Ids.print(state.executionSeed, turn.at, 2 * fill + 1))
    if (trades === undefined) {
      trades = []
      turn.prints.push({ market, trades })
    }
    trades.push({
      trade_id: Ids.print(state.tradeSeed, turn.at, fill),
      symbol: market.market.symbol,
      price,
      qty: Grid.text(market.rules.qty, lots),
      side: taker.side,
      market_seq: seq,
      timestamp_ms: turn.at,
      is_liquidation: taker.createType === CreateType.CREATE_TYPE_CREATE_BY_LIQ
    })
  }
  return ended
}

/** Fills a system order against the pool of its market, outside the book: what a liquidation leaves, and deleveraging. */
export const passThrough = (turn: StepContext, order: Order, lots: number, execType: ExecType): void => {
  const { state, at } = turn
  const { holding, side, ticks } = order
  const { market } = holding
  const pool = state.pools[market.index]!
  const settled = settle(order, ticks, lots, false)
  const against = opposite(side)
  const taken = Accounts.settleFill(pool.holding, pool.holding, against, lots, settled.value, 0n)
  Accounts.book(state, pool.holding, against, lots, 0n, taken, at)
  pool.changed = true
  apply(turn, order, lots, settled)
  const execId = Ids.print(state.executionSeed, at, 2 * ++state.fillNumber)
  announce(turn, order, Grid.text(market.rules.price, ticks), lots, false, settled, ++market.seq, execId, execType)
}

interface Stand extends Accounts.AccountState {
  readonly wallet: Decimal.Scaled
}

export interface Refusal {
  readonly cancelType: CancelType
  readonly reason: RejectReason
  readonly message: string
}

/**
 * Judges a fill-or-kill order as a whole: runs the match over copies of the positions it would touch. `undefined`: all of
 * it would be filled.
 */
export const judgeWhole = ({ state }: StepContext, taker: Order): Refusal | undefined => {
  const { market } = taker.holding
  const { book } = market
  const stands = new Map<Account, Stand>()
  const standOf = (order: Order): Stand =>
    stands.get(order.account) ?? {
      wallet: order.account.wallet,
      lots: order.holding.lots,
      entryValue: order.holding.entryValue,
      openFee: order.holding.openFee,
      isolatedMargin: order.holding.isolatedMargin
    }
  const notEnough: Refusal = {
    cancelType: CancelType.CANCEL_TYPE_CANCEL_BY_TIME_IN_FORCE,
    reason: RejectReason.REJECT_REASON_EC_NO_ENOUGH_QTY_TO_FILL,
    message: "the book cannot fill the whole quantity"
  }
  /** The stand after a fill; `undefined` if the account could not carry it. */
  const after = (order: Order, ticks: number, lots: number, isMaker: boolean): Stand | undefined => {
    const stand = standOf(order)
    const value = units(ticks, lots) * market.rules.unit
    const fee = feeOf(market, value, isMaker)
    const settlement = Accounts.settleFill(order.holding, stand, order.side, lots, value, fee)
    const wallet = stand.wallet + settlement.wallet
    if (!Accounts.covers(order.holding, wallet, fee, settlement)) return undefined
    const { position, entryValue, openFee, isolatedMargin } = settlement.entry
    return { wallet, lots: Number(position), entryValue, openFee, isolatedMargin }
  }
  let leaves = taker.leaves
  for (let slot = book.first(opposite(taker.side)); slot !== NO_ORDER; slot = book.after(slot)) {
    const maker = state.orders.at(slot)
    const { ticks } = maker
    if (taker.side === Side.SIDE_BUY ? ticks > taker.ticks : ticks < taker.ticks) break
    if (isSelf(taker, maker)) {
      if (taker.smp === SmpType.SMP_TYPE_CANCEL_MAKER) continue
      return notEnough
    }
    let lots = Math.min(leaves, maker.leaves)
    if (maker.reduceOnly) lots = Math.min(lots, Accounts.closable(standOf(maker).lots, maker.side))
    if (lots === 0) continue
    if (taker.reduceOnly && Accounts.closable(standOf(taker).lots, taker.side) < lots) return notEnough
    const made = after(maker, ticks, lots, true)
    if (made === undefined) continue
    const taken = after(taker, ticks, lots, false)
    if (taken === undefined)
      return {
        cancelType: CancelType.CANCEL_TYPE_CANCEL_BY_CANNOT_AFFORD_ORDER_COST,
        reason: RejectReason.REJECT_REASON_EC_NO_ERROR,
        message: CANNOT_AFFORD
      }
    stands.set(maker.account, made)
    stands.set(taker.account, taken)
    leaves -= lots
    if (leaves === 0) return undefined
  }
  return notEnough
}

/**
 * Cuts reduce-only orders that would close more than the position holds, newest first.
 * Source: docs/contract/exchange.md#reduce-only-trimming.
 */
export const trimReduceOnly = (turn: StepContext, holding: MarketPosition): void => {
  for (const side of [Side.SIDE_BUY, Side.SIDE_SELL] as const) {
    const resting = side === Side.SIDE_BUY ? holding.reduceBuyLots : holding.reduceSellLots
    let excess = resting - Accounts.closable(holding.lots, side)
    if (excess <= 0) continue
    const newestFirst = [...holding.orders.values()]
      .filter((order) => order.reduceOnly && order.side === side)
      .reverse()
    const ended: Array<Order> = []
    for (const order of newestFirst) {
      if (excess <= 0) break
      if (order.leaves <= excess) {
        excess -= order.leaves
        cancel(turn, order, CancelType.CANCEL_TYPE_CANCEL_BY_REDUCE_ONLY)
        ended.push(order)
      } else {
        shrink(turn, order, excess)
        excess = 0
        order.updatedMs = turn.at
        emitOrder(turn, order, OrderCause.ORDER_CAUSE_AMENDED)
      }
    }
    emitCanceled(turn, ended)
  }
}
