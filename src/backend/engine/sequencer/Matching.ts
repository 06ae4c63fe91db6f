/**
 * The matching of one incoming order against the book.
 *
 * An order that leaves the book during a step is announced after the fills of the step. Its effect on the book and on
 * margins is immediate. Source: docs/contract/orders.md#order-statuses, #order-semantics,
 * docs/contract/exchange.md#matching.
 */
import * as Grid from "../../../domain/Grid.ts"
import {
  CancelType,
  CreateType,
  ExecType,
  RejectReason,
  Side,
  SmpType,
  type Trade
} from "../../../proto/gateway/v1/types.ts"
import * as Accounts from "../accounts/Accounts.ts"
import { NONE as NO_ORDER, opposite } from "../book/OrderBook.ts"
import type { StepContext } from "../events/StepContext.ts"
import * as Ids from "../state/Ids.ts"
import type { Order } from "../state/State.ts"
import { CANNOT_AFFORD, isSelfTrade, isSystemOrder, settleSide, isAffordable, applyFill, emitFill } from "./Fills.ts"
import * as RestingOrder from "./RestingOrder.ts"

/**
 * Fills an incoming order as far as the book allows. Returns the orders that were canceled on the way (makers that
 * could not trade, and possibly the taker), in order; the caller emits them after the fills.
 */
export const match = (ctx: StepContext, taker: Order): Array<Order> => {
  const { holding } = taker
  const { market } = holding
  const { book } = market
  const { state } = ctx
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
    RestingOrder.cancel(ctx, order, type, reason, message)
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
    if (isSelfTrade(taker, maker)) {
      if (taker.smp !== SmpType.SMP_TYPE_CANCEL_TAKER) selfMatch(maker)
      if (taker.smp === SmpType.SMP_TYPE_CANCEL_MAKER) continue
      selfMatch(taker)
      break
    }
    let lots = Math.min(taker.leaves, maker.leaves)
    if (taker.reduceOnly) {
      lots = Math.min(lots, Accounts.closableLots(holding.lots, taker.side))
      if (lots === 0) {
        end(taker, CancelType.CANCEL_TYPE_CANCEL_BY_REDUCE_ONLY)
        break
      }
    }
    if (maker.reduceOnly) {
      lots = Math.min(lots, Accounts.closableLots(maker.holding.lots, maker.side))
      if (lots === 0) {
        end(maker, CancelType.CANCEL_TYPE_CANCEL_BY_REDUCE_ONLY)
        continue
      }
    }
    const makerSide = settleSide(maker, ticks, lots, true)
    if (!isAffordable(maker, makerSide)) {
      end(
        maker,
        CancelType.CANCEL_TYPE_CANCEL_BY_CANNOT_AFFORD_ORDER_COST,
        RejectReason.REJECT_REASON_EC_NO_ERROR,
        CANNOT_AFFORD
      )
      continue
    }
    const takerSide = settleSide(taker, ticks, lots, false)
    if (!isSystemOrder(taker) && !isAffordable(taker, takerSide)) {
      end(
        taker,
        CancelType.CANCEL_TYPE_CANCEL_BY_CANNOT_AFFORD_ORDER_COST,
        RejectReason.REJECT_REASON_EC_NO_ERROR,
        CANNOT_AFFORD
      )
      break
    }
    ctx.changedMarkets.add(market)
    applyFill(ctx, taker, lots, takerSide)
    applyFill(ctx, maker, lots, makerSide)
    market.lastTicks = ticks
    const fill = ++state.fillNumber
    const seq = ++market.seq
    const price = Grid.text(market.rules.price, ticks)
    emitFill(ctx, taker, price, lots, false, takerSide, seq, Ids.print(state.executionSeed, ctx.at, 2 * fill))
    emitFill(ctx, maker, price, lots, true, makerSide, seq, Ids.print(state.executionSeed, ctx.at, 2 * fill + 1))
    if (trades === undefined) {
      trades = []
      ctx.prints.push({ market, trades })
    }
    trades.push({
      trade_id: Ids.print(state.tradeSeed, ctx.at, fill),
      symbol: market.market.symbol,
      price,
      qty: Grid.text(market.rules.qty, lots),
      side: taker.side,
      market_seq: seq,
      timestamp_ms: ctx.at,
      is_liquidation: taker.createType === CreateType.CREATE_TYPE_CREATE_BY_LIQ
    })
  }
  return ended
}

/**
 * Fills a system order against the insurance pool of its market, outside the book: the remainder of a liquidation, and
 * auto-deleveraging.
 */
export const passThrough = (ctx: StepContext, order: Order, lots: number, execType: ExecType): void => {
  const { state, at } = ctx
  const { holding, side, ticks } = order
  const { market } = holding
  const pool = state.pools[market.index]!
  const settled = settleSide(order, ticks, lots, false)
  const against = opposite(side)
  const takerSide = Accounts.settleFill(pool.holding, pool.holding, against, lots, settled.value, 0n)
  Accounts.bookFill(state, pool.holding, against, lots, 0n, takerSide, at)
  pool.changed = true
  applyFill(ctx, order, lots, settled)
  const execId = Ids.print(state.executionSeed, at, 2 * ++state.fillNumber)
  emitFill(ctx, order, Grid.text(market.rules.price, ticks), lots, false, settled, ++market.seq, execId, execType)
}
