/** One side of a fill: its settlement, its effect on order, position and wallet, and its events. */
import * as Decimal from "../../../domain/Decimal.ts"
import * as Grid from "../../../domain/Grid.ts"
import * as Margin from "../../../domain/Margin.ts"
import { OrderCause } from "../../../proto/gateway/v1/sequencer.ts"
import {
  BalanceReason,
  CreateType,
  ExecType,
  OrderStatus,
  OrderType,
  RejectReason
} from "../../../proto/gateway/v1/types.ts"
import * as Accounts from "../accounts/Accounts.ts"
import { feeOf } from "../accounts/Fees.ts"
import { emitBalance, emitPosition } from "../events/PositionEvents.ts"
import { emit, type StepContext } from "../events/StepContext.ts"
import { isPoolPosition, valueOf } from "../state/MarketPosition.ts"
import type { Order } from "../state/State.ts"
import * as OrderEvents from "./OrderEvents.ts"
import * as RestingOrder from "./RestingOrder.ts"
import * as TakeProfitStopLoss from "./TakeProfitStopLoss.ts"

const NONE = "0"

export const isSelfTrade = (taker: Order, maker: Order): boolean => taker.account.userId === maker.account.userId

/**
 * Whether the engine itself created the order: it pays no taker fee and skips the fill check. Source:
 * docs/contract/exchange.md#system-orders.
 */
export const isSystemOrder = ({ createType, holding }: Order): boolean =>
  createType === CreateType.CREATE_TYPE_CREATE_BY_LIQ ||
  createType === CreateType.CREATE_TYPE_CREATE_BY_TAKE_OVER_PASS_THROUGH ||
  createType === CreateType.CREATE_TYPE_CREATE_BY_ADL_PASS_THROUGH ||
  isPoolPosition(holding)

/** Settles one side of a fill: its value, fee and effect on the position; changes nothing. */
export const settleSide = (order: Order, ticks: number, lots: number, isMaker: boolean) => {
  const { market } = order.holding
  const value = valueOf(market, ticks, lots)
  const fee = !isMaker && isSystemOrder(order) ? 0n : feeOf(market, value, isMaker)
  return { value, fee, settlement: Accounts.settleFill(order.holding, order.holding, order.side, lots, value, fee) }
}

export type SettledSide = ReturnType<typeof settleSide>

/** The fill check of one side. Source: docs/contract/exchange.md#fill-check. */
export const isAffordable = ({ account, holding }: Order, { fee, settlement }: SettledSide): boolean =>
  Accounts.coversMaintenance(holding, account.wallet + settlement.wallet, fee, settlement)

/** Reject message of an order that fails the fill check. */
export const CANNOT_AFFORD = "the fill would leave the account below its maintenance margin"

/** Books one side of a fill on the order, the position and the wallet. */
export const applyFill = (ctx: StepContext, order: Order, lots: number, settled: SettledSide): void => {
  const { holding } = order
  const { settlement, fee, value } = settled
  if (order.resting) {
    if (lots < order.leaves) holding.market.book.reduce(order.slot, lots)
    else {
      holding.market.book.remove(order.slot)
      order.resting = false
    }
    if (order.reduceOnly) Accounts.countReduceOnly(holding, order.side, -lots)
  }
  if (!order.reduceOnly) Accounts.reserveOrder(holding, order.side, order.ticks, -lots)
  const before = holding.lots
  Accounts.bookFill(ctx.state, holding, order.side, lots, fee, settlement, ctx.at)
  ctx.changedPositions.add(holding)
  if (before !== 0 && Math.sign(holding.lots) !== Math.sign(before)) TakeProfitStopLoss.endWithPosition(ctx, holding)
  const opened = lots - Number(settlement.closedSize)
  order.opened += opened
  if (opened > 0 && order.tpsl !== undefined) ctx.exitAttachments.add(order)
  order.leaves -= lots
  order.filled += lots
  order.filledValue += value
  order.fees += fee
  if (settlement.closedSize > 0n)
    order.closedPnl = (order.closedPnl ?? 0n) + settlement.realised - settlement.closedOpenFee - settlement.closedFee
  order.status = order.leaves === 0 ? OrderStatus.ORDER_STATUS_FILLED : OrderStatus.ORDER_STATUS_PARTIALLY_FILLED
  order.rejectReason = RejectReason.REJECT_REASON_EC_NO_ERROR
  order.rejectMessage = undefined
  order.updatedMs = ctx.at
  if (isPoolPosition(holding)) ctx.state.pools[holding.market.index]!.changed = true
  if (order.leaves === 0) RestingOrder.dropOrder(ctx, order)
}

/** Emits the execution, order, position and balance of one side of a fill. */
export const emitFill = (
  ctx: StepContext,
  order: Order,
  price: string,
  lots: number,
  isMaker: boolean,
  settled: SettledSide,
  seq: number,
  execId: string,
  execType: ExecType = ExecType.EXEC_TYPE_TRADE
): void => {
  const { holding, account } = order
  if (isPoolPosition(holding)) return
  const { market } = holding
  const { settlement, fee, value } = settled
  const { format } = Decimal
  const figures = Accounts.figuresOf(holding)
  const feeText = format(fee)
  const closed = settlement.closedSize > 0n
  const realised = closed ? format(settlement.realised) : undefined
  emit(ctx, account, market, () => ({
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
        exec_time_ms: ctx.at,
        is_maker: isMaker,
        base_fee: feeText,
        fee_rate: format(isMaker ? market.makerFee : isSystemOrder(order) ? 0n : market.takerFee),
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
  OrderEvents.emitOrder(ctx, order, OrderCause.ORDER_CAUSE_FILLED)
  const totals = Accounts.lazyTotals(account)
  emitPosition(ctx, holding, totals)
  const adl = execType === ExecType.EXEC_TYPE_ADL_TRADE
  const cause = () => ({
    reason: adl ? BalanceReason.BALANCE_REASON_ADL : BalanceReason.BALANCE_REASON_TRADE,
    amount: format(settlement.wallet),
    fee: feeText,
    realised_pnl: realised ?? NONE,
    order_id: order.id,
    exec_id: execId
  })
  emitBalance(ctx, account, market, cause, totals)
}
