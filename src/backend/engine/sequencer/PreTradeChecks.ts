/**
 * The checks of an order before it trades, in their order. Source: docs/contract/orders.md#new-order, #order-semantics,
 * docs/contract/exchange.md#markets, #margin.
 */
import * as Grid from "../../../domain/Grid.ts"
import * as Margin from "../../../domain/Margin.ts"
import { OrderType, RejectReason, Side, TimeInForce } from "../../../proto/gateway/v1/types.ts"
import * as Accounts from "../accounts/Accounts.ts"
import { opposite } from "../book/OrderBook.ts"
import type { StepContext } from "../events/StepContext.ts"
import type { MarketPosition, MarketState, State, User, Order } from "../state/State.ts"
import * as TpslLegs from "./TpslLegs.ts"

export interface OrderRejection {
  readonly reason: RejectReason
  readonly message: string
  /** limits and quantities, for the response to an amend */
  readonly facts?: Readonly<Record<string, string>>
}

/** The price band: a Buy cannot be too far above the mark, a Sell not too far below. */
export const priceBandRejection = (market: MarketState, side: Side, ticks: number): OrderRejection | undefined => {
  const isBuy = side === Side.SIDE_BUY
  const bound = isBuy ? market.bandBuyTicks : market.bandSellTicks
  if (isBuy ? ticks <= bound : ticks >= bound) return undefined
  return {
    reason: RejectReason.REJECT_REASON_EC_REACH_RISK_PRICE_LIMIT,
    message: "the price lies outside the price band",
    facts: { [isBuy ? "max" : "min"]: Grid.text(market.rules.price, bound) }
  }
}

/** Whether an order of this side and price would trade with the best opposite price. */
export const crosses = (holding: MarketPosition, side: Side, ticks: number): boolean => {
  const best = holding.market.book.best(opposite(side))
  return best !== undefined && (side === Side.SIDE_BUY ? best <= ticks : best >= ticks)
}

export const postOnlyRejection: OrderRejection = {
  reason: RejectReason.REJECT_REASON_EC_POST_ONLY_WILL_TAKE_LIQUIDITY,
  message: "a post-only order would take liquidity"
}

/** Above this share of the open-order limit, in percent, the limit per user applies. */
const SCARCE_PERCENT = 80
/** Share of one user while open orders are scarce, in percent. */
const USER_SHARE_PERCENT = 1

const openOrdersOf = (user: User): number => {
  let count = 0
  for (const { holdings } of user.accounts)
    for (const holding of holdings) if (holding !== undefined) count += holding.orders.size + holding.conditional.size
  return count
}

/**
 * The rejection of one more open order of a user by the limits of the whole exchange. The order is in the order table
 * already. Source: docs/contract/orders.md#order-limits.
 */
export const openOrderLimit = (state: State, { account }: Order): OrderRejection | undefined => {
  const reason = RejectReason.REJECT_REASON_EC_REACH_MAX_ORDER_NUM
  const max = state.config.openOrdersMax
  const open = state.orders.size() - 1
  if (open >= max) return { reason, message: `the exchange takes at most ${max} open orders, and holds as many` }
  if (open * 100 <= max * SCARCE_PERCENT) return undefined
  const share = Math.max(1, Math.floor((max * USER_SHARE_PERCENT) / 100))
  if (openOrdersOf(state.users.get(account.userId)!) < share) return undefined
  return {
    reason,
    message: `open orders are scarce: while more than ${SCARCE_PERCENT} % are taken, a user may hold at most ${share} of ${max}`
  }
}

export const triggerMetRejection: OrderRejection = {
  reason: RejectReason.REJECT_REASON_EC_TRIGGER_ALREADY_MET,
  message: "the reference price has reached the trigger already"
}

export const mayRest = (order: Order): boolean =>
  order.timeInForce === TimeInForce.TIME_IN_FORCE_GTC || order.timeInForce === TimeInForce.TIME_IN_FORCE_GTT

/**
 * Reserves the margin of `change`, or undoes it and returns a rejection: the free balance must not be negative, or must
 * not decrease; the exposure must not grow beyond the last risk limit. Source: docs/contract/exchange.md#risk-tiers,
 * #margin.
 */
export const reserveMargin = (holding: MarketPosition, change: (sign: 1 | -1) => void): OrderRejection | undefined => {
  const { account, market } = holding
  const free = Accounts.totalsOf(account).free
  const exposure = Accounts.exposureOf(market, holding)
  change(1)
  const bound = Accounts.exposureOf(market, holding)
  if (Margin.beyondRiskLimit(market.tiers, bound) && Margin.greater(bound, exposure)) {
    change(-1)
    return {
      reason: RejectReason.REJECT_REASON_EC_REACH_RISK_LIMIT,
      message: "the position would exceed the risk limit"
    }
  }
  const left = Accounts.totalsOf(account).free
  if (left < 0n && left < free) {
    change(-1)
    return {
      reason: RejectReason.REJECT_REASON_EC_INSUFFICIENT_BALANCE,
      message: "the available balance does not cover the order"
    }
  }
  return undefined
}

/** Runs the checks in order and reserves the order's margin if all pass. */
export const checkOrder = (ctx: StepContext, order: Order): OrderRejection | undefined => {
  const { holding, side } = order
  const { market } = holding
  if (market.market.status === "ReduceOnly" && !order.reduceOnly)
    return {
      reason: RejectReason.REJECT_REASON_EC_INVALID_SYMBOL_STATUS,
      message: "the market takes reduce-only orders only"
    }
  if (order.reduceOnly) {
    if (holding.lots === 0)
      return {
        reason: RejectReason.REJECT_REASON_EC_REDUCE_ONLY_NO_POSITION,
        message: "there is no position to reduce"
      }
    if (Accounts.closableLots(holding.lots, side) === 0)
      return {
        reason: RejectReason.REJECT_REASON_EC_REDUCE_ONLY_SAME_SIDE,
        message: "the order would add to the position"
      }
  }
  if (order.type === OrderType.ORDER_TYPE_MARKET && order.tpsl !== undefined) {
    const message = TpslLegs.describeMetLeg(market, order.tpsl, side)
    if (message !== undefined) return { reason: RejectReason.REJECT_REASON_EC_TRIGGER_ALREADY_MET, message }
  }
  if (order.type === OrderType.ORDER_TYPE_LIMIT) {
    const band = priceBandRejection(market, side, order.ticks)
    if (band !== undefined) return band
  }
  if (order.postOnly && crosses(holding, side, order.ticks)) return postOnlyRejection
  if (mayRest(order) && holding.orders.size >= market.market.max_open_orders)
    return {
      reason: RejectReason.REJECT_REASON_EC_REACH_MAX_ORDER_NUM,
      message: `at most ${market.market.max_open_orders} orders may be open`
    }
  const tooMany = mayRest(order) ? openOrderLimit(ctx.state, order) : undefined
  if (tooMany !== undefined) return tooMany
  if (order.reduceOnly) return undefined
  return reserveMargin(holding, (sign) => Accounts.reserveOrder(holding, side, order.ticks, sign * order.leaves))
}
