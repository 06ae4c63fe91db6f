/** What an order is held to at its turn, in the order of the checks. Source: contract 2.1, 2.4, 9.1, 9.4. */
import * as Margin from "../../domain/Margin.ts"
import { OrderType, RejectReason, Side, TimeInForce } from "../../proto/gateway/v1/types.ts"
import * as Accounts from "../referee/Accounts.ts"
import type { Holding, MarketState, State } from "../State.ts"
import type { Turn } from "../Turn.ts"
import * as Matching from "./Matching.ts"
import { OPEN_ORDERS_MAX } from "./OpenOrders.ts"
import type { Order } from "./Order.ts"

export interface Refused {
  readonly reason: RejectReason
  readonly message: string
}

/** Price band: a Buy may not pay too far above the mark, a Sell may not take too far below. */
export const outOfBand = (market: MarketState, side: Side, ticks: number): Refused | undefined =>
  (side === Side.SIDE_BUY ? ticks <= market.bandBuyTicks : ticks >= market.bandSellTicks)
    ? undefined
    : { reason: RejectReason.REJECT_REASON_EC_REACH_RISK_PRICE_LIMIT, message: "the price lies outside the price band" }

export const crossing: Refused = {
  reason: RejectReason.REJECT_REASON_EC_POST_ONLY_WILL_TAKE_LIQUIDITY,
  message: "a post-only order would take liquidity"
}

export const isFull = ({ orders }: State): boolean => orders.size() > OPEN_ORDERS_MAX

export const noRoom: Refused = {
  reason: RejectReason.REJECT_REASON_EC_REACH_MAX_ORDER_NUM,
  message: "the exchange holds as many open orders as it can"
}

export const alreadyMet: Refused = {
  reason: RejectReason.REJECT_REASON_EC_TRIGGER_ALREADY_MET,
  message: "the reference price has reached the trigger already"
}

export const mayRest = (order: Order): boolean =>
  order.timeInForce === TimeInForce.TIME_IN_FORCE_GTC || order.timeInForce === TimeInForce.TIME_IN_FORCE_GTT

/**
 * Binds what `change` opens, or refuses and undoes it: free must stay at or above 0, or not fall; the exposure must not
 * grow beyond the last risk limit. Source: contract 9.1, 9.4.
 */
export const bind = (holding: Holding, change: (sign: 1 | -1) => void): Refused | undefined => {
  const { account, market } = holding
  const free = Accounts.totalsOf(account).free
  const exposure = Accounts.exposureOf(holding)
  change(1)
  const bound = Accounts.exposureOf(holding)
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

/** The checks at the order's turn, in order; binds the order's margin if all pass. */
export const admit = (turn: Turn, order: Order): Refused | undefined => {
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
    if (Accounts.closable(holding.lots, side) === 0)
      return {
        reason: RejectReason.REJECT_REASON_EC_REDUCE_ONLY_SAME_SIDE,
        message: "the order would add to the position"
      }
  }
  if (order.type === OrderType.ORDER_TYPE_LIMIT) {
    const band = outOfBand(market, side, order.ticks)
    if (band !== undefined) return band
  }
  if (order.postOnly && Matching.crosses(holding, side, order.ticks)) return crossing
  if (mayRest(order) && holding.orders.size >= market.market.max_open_orders)
    return {
      reason: RejectReason.REJECT_REASON_EC_REACH_MAX_ORDER_NUM,
      message: `at most ${market.market.max_open_orders} orders may be open`
    }
  if (mayRest(order) && isFull(turn.state)) return noRoom
  if (order.reduceOnly) return undefined
  return bind(holding, (sign) => Accounts.bindOrder(holding, side, order.ticks, sign * order.leaves))
}
