/** The order commands: place, amend, cancel, cancel all. Source: contract 2, 9.3. */
import * as Margin from "../../domain/Margin.ts"
import * as OrderRules from "../../domain/OrderRules.ts"
import {
  type AmendOrder,
  type CancelAll,
  type CancelOrder,
  type Command,
  type CommandResult,
  OrderCause,
  type PlaceOrder
} from "../../proto/gateway/v1/sequencer.ts"
import {
  CancelType,
  CreateType,
  OrderFilter,
  type OrderRef,
  OrderStatus,
  OrderType,
  RejectReason,
  Side,
  SmpType,
  StopOrderType,
  TimeInForce,
  type Trigger as TriggerRequest,
  TriggerDirection
} from "../../proto/gateway/v1/types.ts"
import * as Records from "../Records.ts"
import * as Accounts from "../referee/Accounts.ts"
import { type Account, closedOrder, findLink, type Holding, holdingOf, type MarketState, type State } from "../State.ts"
import { acknowledge, Code, invalid, invalidField, refuse, type Turn } from "../Turn.ts"
import * as Ids from "./Ids.ts"
import * as Matching from "./Matching.ts"
import * as Exits from "./Exits.ts"
import { newOrder } from "./NewOrder.ts"
import { OPEN_ORDERS_MAX } from "./OpenOrders.ts"
import type { Order, Tpsl, Trigger } from "./Order.ts"
import * as Queues from "./Queues.ts"

/** Longest life of a GTT order. */
const EXPIRY_MAX_MS = 90 * 86_400_000

const TIME_IN_FORCE = {
  [TimeInForce.TIME_IN_FORCE_GTC]: "GTC",
  [TimeInForce.TIME_IN_FORCE_GTT]: "GTT",
  [TimeInForce.TIME_IN_FORCE_IOC]: "IOC",
  [TimeInForce.TIME_IN_FORCE_FOK]: "FOK"
} as const

/** Wire names of the statuses that an order ends in. */
const FINAL: Readonly<Record<number, string>> = {
  [OrderStatus.ORDER_STATUS_REJECTED]: "Rejected",
  [OrderStatus.ORDER_STATUS_PARTIALLY_FILLED_CANCELED]: "PartiallyFilledCanceled",
  [OrderStatus.ORDER_STATUS_FILLED]: "Filled",
  [OrderStatus.ORDER_STATUS_CANCELED]: "Canceled",
  [OrderStatus.ORDER_STATUS_DEACTIVATED]: "Deactivated",
  [OrderStatus.ORDER_STATUS_EXPIRED]: "Expired"
}

/** The caller's own sub-account; others do not exist for it. */
export const ownAccount = (state: State, command: Command): Account | undefined => {
  const account = state.accountOf.get(command.sub_account_address)
  return account !== undefined && account.userId === command.user_id && !account.deleted ? account : undefined
}

export const noAccount = (command: Command): CommandResult =>
  refuse(command, Code.NOT_FOUND, "SubAccountNotFound", "no such sub-account")

export const noSymbol = (command: Command, symbol: string): CommandResult =>
  refuse(command, Code.NOT_FOUND, "SymbolNotFound", `no market ${symbol}`)

const frozen = (command: Command): CommandResult =>
  refuse(command, Code.FAILED_PRECONDITION, "SubAccountFrozen", "the sub-account is frozen")

interface Refused {
  readonly reason: RejectReason
  readonly message: string
}

/** Price band: a Buy may not pay too far above the mark, a Sell may not take too far below. */
const outOfBand = (market: MarketState, side: Side, ticks: number): Refused | undefined =>
  (side === Side.SIDE_BUY ? ticks <= market.bandBuyTicks : ticks >= market.bandSellTicks)
    ? undefined
    : { reason: RejectReason.REJECT_REASON_EC_REACH_RISK_PRICE_LIMIT, message: "the price lies outside the price band" }

const crossing: Refused = {
  reason: RejectReason.REJECT_REASON_EC_POST_ONLY_WILL_TAKE_LIQUIDITY,
  message: "a post-only order would take liquidity"
}

const isFull = ({ orders }: State): boolean => orders.size() > OPEN_ORDERS_MAX

const noRoom: Refused = {
  reason: RejectReason.REJECT_REASON_EC_REACH_MAX_ORDER_NUM,
  message: "the exchange holds as many open orders as it can"
}

/**
 * Binds what `change` opens, or refuses and undoes it: free must stay at or above 0, or not fall; the exposure must not
 * grow beyond the last risk limit. Source: contract 9.1, 9.4.
 */
const bind = (holding: Holding, change: (sign: 1 | -1) => void): Refused | undefined => {
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
const admit = (turn: Turn, order: Order): Refused | undefined => {
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

const mayRest = (order: Order): boolean =>
  order.timeInForce === TimeInForce.TIME_IN_FORCE_GTC || order.timeInForce === TimeInForce.TIME_IN_FORCE_GTT

/** The rest of a matched order: into the book, or to its end. Announces what ended. */
const conclude = (turn: Turn, order: Order, ended: Array<Order>): void => {
  const open =
    order.status === OrderStatus.ORDER_STATUS_NEW || order.status === OrderStatus.ORDER_STATUS_PARTIALLY_FILLED
  if (open && mayRest(order)) Matching.rest(turn, order)
  else if (open) {
    const none = order.filled === 0
    Matching.cancel(
      turn,
      order,
      CancelType.CANCEL_TYPE_CANCEL_BY_TIME_IN_FORCE,
      none ? RejectReason.REJECT_REASON_EC_NO_IMMEDIATE_QTY_TO_FILL : RejectReason.REJECT_REASON_EC_NO_ERROR,
      none ? "nothing could be filled at once" : undefined
    )
    ended.push(order)
  }
  Matching.emitCanceled(turn, ended)
}

const reject = (turn: Turn, order: Order, refused: Refused): void => {
  order.status = OrderStatus.ORDER_STATUS_REJECTED
  order.leaves = 0
  order.rejectReason = refused.reason
  order.rejectMessage = refused.message
  Matching.forget(turn, order)
  Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_REJECTED)
}

const alreadyMet: Refused = {
  reason: RejectReason.REJECT_REASON_EC_TRIGGER_ALREADY_MET,
  message: "the reference price has reached the trigger already"
}

/** What a conditional order waits for, its direction derived from the reference of now where none is given. */
const triggerOf = (market: MarketState, { by, direction, ticks }: Trigger): Trigger => {
  if (direction !== TriggerDirection.TRIGGER_DIRECTION_UNSPECIFIED) return { by, direction, ticks }
  return {
    by,
    ticks,
    direction:
      ticks < Queues.reference(market, by)
        ? TriggerDirection.TRIGGER_DIRECTION_DOWN
        : TriggerDirection.TRIGGER_DIRECTION_UP
  }
}

/** Lets a new conditional order wait, or rejects it. It binds nothing. */
const wait = (turn: Turn, order: Order): void => {
  const { market, conditional } = order.holding
  const most = market.market.max_conditional_orders
  const waiting = [...conditional.values()].filter(({ stopType }) => stopType === StopOrderType.STOP_ORDER_TYPE_STOP)
  order.trigger = triggerOf(market, order.trigger!)
  if (Queues.isMet(market, order.trigger)) return reject(turn, order, alreadyMet)
  if (waiting.length >= most)
    return reject(turn, order, {
      reason: RejectReason.REJECT_REASON_EC_REACH_MAX_ORDER_NUM,
      message: `at most ${most} conditional orders may wait`
    })
  if (isFull(turn.state)) return reject(turn, order, noRoom)
  if (order.expireMs !== undefined) Queues.awaitExpiry(turn.state, order)
  Exits.wait(turn, order)
}

/** A trigger price is met: the order becomes one like others, in a step of its own. Source: contract 2.3 row 13, 9.3. */
export const fire = (turn: Turn, order: Order): void => {
  const { holding, side } = order
  const { market } = holding
  Exits.stopWaiting(turn, order)
  order.status = OrderStatus.ORDER_STATUS_TRIGGERED
  order.updatedMs = turn.at
  Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_TRIGGERED)
  Exits.endSibling(turn, order)
  // it binds no margin then, so that margin cannot block it
  if (order.closeOnTrigger) order.reduceOnly = true
  if (order.lots === 0) order.lots = Accounts.closable(holding.lots, side)
  order.leaves = order.lots
  if (order.type === OrderType.ORDER_TYPE_MARKET)
    order.ticks = side === Side.SIDE_BUY ? market.bandBuyTicks : market.bandSellTicks
  order.status = OrderStatus.ORDER_STATUS_NEW
  run(turn, order)
}

/** Ends the orders whose time is over. */
export const expire = (turn: Turn): void => {
  while (true) {
    const order = Queues.nextExpired(turn.state, turn.at)
    if (order === undefined) return
    if (order.status === OrderStatus.ORDER_STATUS_UNTRIGGERED) Exits.stopWaiting(turn, order)
    else {
      Matching.release(turn, order)
      Matching.touchMargins(turn, order)
    }
    order.leaves = 0
    order.status = OrderStatus.ORDER_STATUS_EXPIRED
    order.cancelType = CancelType.CANCEL_TYPE_CANCEL_BY_EXPIRY
    order.rejectReason = RejectReason.REJECT_REASON_EC_NO_ERROR
    order.rejectMessage = undefined
    order.updatedMs = turn.at
    Matching.forget(turn, order)
    Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_EXPIRED)
  }
}

/** Runs an order through its checks and the book. It has its number; whatever happens is an event. */
export const run = (turn: Turn, order: Order): void => {
  const refused = admit(turn, order)
  if (refused !== undefined) return reject(turn, order, refused)
  if (order.expireMs !== undefined && order.told === OrderStatus.ORDER_STATUS_UNSPECIFIED)
    Queues.awaitExpiry(turn.state, order)
  Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_ACCEPTED)
  if (order.timeInForce === TimeInForce.TIME_IN_FORCE_FOK) {
    const refusal = Matching.judgeWhole(turn, order)
    if (refusal !== undefined) {
      Matching.cancel(turn, order, refusal.cancelType, refusal.reason, refusal.message)
      Matching.emitCanceled(turn, [order])
      return
    }
  }
  const ended = Matching.match(turn, order)
  conclude(turn, order, ended)
  if (order.resting && order.filled === 0) Matching.touchMargins(turn, order)
}

const checkExpiry = (
  command: Command,
  timeInForce: TimeInForce,
  expireMs: number | undefined,
  at: number
): CommandResult | undefined => {
  if (timeInForce !== TimeInForce.TIME_IN_FORCE_GTT)
    return expireMs === undefined
      ? undefined
      : invalidField(command, "expire_time", "expire_time needs time_in_force GTT")
  if (expireMs === undefined)
    return refuse(command, Code.INVALID_ARGUMENT, "MissingField", "GTT needs expire_time", { field: "expire_time" })
  if (expireMs > at && expireMs <= at + EXPIRY_MAX_MS) return undefined
  return refuse(command, Code.INVALID_ARGUMENT, "OutOfRange", "expire_time must lie within the next 90 days", {
    field: "expire_time",
    min: String(at + 1),
    max: String(at + EXPIRY_MAX_MS)
  })
}

const readTrigger = (market: MarketState, request: TriggerRequest): Trigger | OrderRules.Violation => {
  const ticks = OrderRules.checkPrice(market.rules, request.trigger_price, "trigger.trigger_price")
  if (typeof ticks !== "number") return ticks
  return { by: Queues.triggerBy(request.trigger_by), direction: request.trigger_direction, ticks }
}

export const place = (turn: Turn, command: Command, request: PlaceOrder): CommandResult => {
  const { state } = turn
  const market = state.marketOf.get(request.symbol)
  if (market === undefined) return noSymbol(command, request.symbol)
  const account = ownAccount(state, command)
  if (account === undefined) return noAccount(command)
  if (account.frozen) return frozen(command)
  const { status } = market.market
  if (status === "PreLaunch" || status === "Closed")
    return invalidField(command, "symbol", `${request.symbol} is not open for trading`)
  const { side } = request
  if (side !== Side.SIDE_BUY && side !== Side.SIDE_SELL) return invalidField(command, "side", "side is Buy or Sell")
  const type = request.order_type
  const isMarket = type === OrderType.ORDER_TYPE_MARKET
  if (!isMarket && type !== OrderType.ORDER_TYPE_LIMIT)
    return invalidField(command, "order_type", "order_type is Limit or Market")
  const timeInForce =
    request.time_in_force === TimeInForce.TIME_IN_FORCE_UNSPECIFIED
      ? isMarket
        ? TimeInForce.TIME_IN_FORCE_IOC
        : TimeInForce.TIME_IN_FORCE_GTC
      : request.time_in_force
  if (timeInForce === TimeInForce.UNRECOGNIZED || !(timeInForce in TIME_IN_FORCE))
    return invalidField(command, "time_in_force", "unknown time_in_force")
  const expiry = checkExpiry(command, timeInForce, request.expire_time_ms, turn.at)
  if (expiry !== undefined) return expiry
  const counts = OrderRules.checkOrder(
    market.rules,
    {
      qty: request.qty,
      price: request.price,
      market: isMarket,
      time_in_force: TIME_IN_FORCE[timeInForce],
      post_only: request.post_only,
      reduce_only: request.reduce_only,
      close_on_trigger: request.close_on_trigger,
      order_link_id: request.order_link_id
    },
    market.markTicks
  )
  if (OrderRules.isViolation(counts)) return invalid(command, counts)
  const link = request.order_link_id
  const first = link === undefined ? undefined : findLink(state, account, link)
  if (first !== undefined)
    return refuse(command, Code.ALREADY_EXISTS, "DuplicateOrderLinkId", `order_link_id ${link} is used`, {
      order_id: first
    })
  const trigger = request.trigger === undefined ? undefined : readTrigger(market, request.trigger)
  if (trigger !== undefined && "reason" in trigger) return invalid(command, trigger)
  const tpsl = request.tpsl === undefined ? undefined : Exits.read(market, request.tpsl)
  if (tpsl !== undefined && "reason" in tpsl) return invalid(command, tpsl)
  if (tpsl !== undefined && !isMarket) {
    const wrong = Exits.checkSides(tpsl, side, counts.ticks, "the order's price")
    if (wrong !== undefined) return invalid(command, wrong)
  }
  const holding = holdingOf(account, market)
  const order = newOrder(turn, holding, {
    link,
    side,
    type,
    timeInForce,
    postOnly: request.post_only,
    reduceOnly: request.reduce_only,
    closeOnTrigger: request.close_on_trigger,
    smp: request.smp_type <= 0 ? SmpType.SMP_TYPE_CANCEL_TAKER : request.smp_type,
    ticks: isMarket ? (side === Side.SIDE_BUY ? market.bandBuyTicks : market.bandSellTicks) : counts.ticks,
    // 0 stands for the whole position, at the trigger where there is one
    lots: counts.lots === 0 && trigger === undefined ? Accounts.closable(holding.lots, side) : counts.lots,
    expireMs: request.expire_time_ms,
    trigger,
    tpsl,
    ...(trigger === undefined
      ? {}
      : {
          createType: CreateType.CREATE_TYPE_CREATE_BY_STOP_ORDER,
          stopType: StopOrderType.STOP_ORDER_TYPE_STOP
        })
  })
  if (trigger === undefined) run(turn, order)
  else wait(turn, order)
  return acknowledge(turn, command, [Records.orderRef(order)])
}

type Found = { readonly order: Order } | { readonly refusal: CommandResult }

/** Finds the open order that a command names, or why there is none. */
const find = (
  state: State,
  command: Command,
  account: Account,
  market: MarketState,
  ref: OrderRef | undefined
): Found => {
  const missing: Found = { refusal: refuse(command, Code.NOT_FOUND, "OrderNotFound", "no such order") }
  const link = ref?.order_link_id
  const id =
    ref === undefined || ref.order_id === ""
      ? link === undefined
        ? undefined
        : findLink(state, account, link)
      : ref.order_id
  if (id === undefined) return missing
  const handle = Ids.read(state.orderSeed, id)
  if (handle === undefined) return missing
  const order = state.orders.find(handle)
  if (order === undefined) {
    const closed = closedOrder(state, handle.number)
    if (closed === undefined || closed.account !== account.index) return missing
    const status = FINAL[closed.status] ?? "Canceled"
    return {
      refusal: refuse(command, Code.FAILED_PRECONDITION, "OrderAlreadyClosed", `the order is ${status}`, {
        order_status: status
      })
    }
  }
  if (order.id !== id || order.account !== account || order.holding.market !== market) return missing
  if (link !== undefined && order.link !== link)
    return { refusal: invalidField(command, "order_link_id", "order_id and order_link_id name different orders") }
  return { order }
}

/** Row 18: the order stays as it is and says why. */
const refuseAmend = (turn: Turn, order: Order, { reason, message }: Refused): void => {
  order.rejectReason = reason
  order.rejectMessage = message
  Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_AMEND_REFUSED)
}

const amendTo = (turn: Turn, order: Order, ticks: number, lots: number, tpsl: Tpsl | undefined): void => {
  const { holding, side } = order
  const { market } = holding
  if (lots <= order.filled)
    return refuseAmend(turn, order, {
      reason: RejectReason.REJECT_REASON_EC_INVALID_QTY,
      message: "qty must exceed what is already filled"
    })
  if (ticks !== order.ticks) {
    const band = outOfBand(market, side, ticks)
    if (band !== undefined) return refuseAmend(turn, order, band)
    if (order.postOnly && Matching.crosses(holding, side, ticks)) return refuseAmend(turn, order, crossing)
  }
  const leaves = lots - order.filled
  if (!order.reduceOnly) {
    const refused = bind(holding, (sign) => {
      Accounts.bindOrder(holding, side, ticks, sign * leaves)
      Accounts.bindOrder(holding, side, order.ticks, -sign * order.leaves)
    })
    if (refused !== undefined) return refuseAmend(turn, order, refused)
  }
  accept(turn, order)
  if (tpsl !== order.tpsl) Exits.replaceOf(turn, order, tpsl)
  if (ticks === order.ticks && lots === order.lots)
    return Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_AMENDED)
  if (ticks === order.ticks && lots < order.lots) {
    Matching.shrink(turn, order, order.lots - lots)
    Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_AMENDED)
    return Matching.touchMargins(turn, order)
  }
  Matching.lift(turn, order)
  order.ticks = ticks
  order.lots = lots
  order.leaves = leaves
  Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_AMENDED)
  const before = order.filled
  const ended = Matching.match(turn, order)
  conclude(turn, order, ended)
  if (order.resting && order.filled === before) Matching.touchMargins(turn, order)
}

const accept = (turn: Turn, order: Order): void => {
  order.version++
  order.rejectReason = RejectReason.REJECT_REASON_EC_NO_ERROR
  order.rejectMessage = undefined
  order.updatedMs = turn.at
}

/** Amends an open order to a price, a total quantity and exits; equal ones change nothing. */
export const amendOrder = (turn: Turn, order: Order, ticks: number, lots: number, tpsl: Tpsl | undefined): void => {
  if (ticks !== order.ticks || lots !== order.lots || tpsl !== order.tpsl) amendTo(turn, order, ticks, lots, tpsl)
}

/** Amends an order that waits for its trigger. */
const amendWaiting = (
  turn: Turn,
  order: Order,
  ticks: number,
  lots: number,
  tpsl: Tpsl | undefined,
  triggerTicks: number
): void => {
  const trigger = order.trigger!
  if (ticks === order.ticks && lots === order.lots && tpsl === order.tpsl && triggerTicks === trigger.ticks) return
  if (lots !== order.lots && order.lots === 0)
    return refuseAmend(turn, order, {
      reason: RejectReason.REJECT_REASON_EC_INVALID_QTY,
      message: "the order closes the whole position"
    })
  const next: Trigger = { ...trigger, ticks: triggerTicks }
  if (Queues.isMet(order.holding.market, next)) return refuseAmend(turn, order, alreadyMet)
  Queues.leave(order)
  order.trigger = next
  Queues.join(order)
  order.ticks = ticks
  order.lots = lots
  order.leaves = lots
  order.tpsl = tpsl
  accept(turn, order)
  Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_AMENDED)
  if (order.stopType !== StopOrderType.STOP_ORDER_TYPE_STOP) turn.exits.add(order.holding)
}

export const amend = (turn: Turn, command: Command, request: AmendOrder): CommandResult => {
  const { state } = turn
  const market = state.marketOf.get(request.symbol)
  if (market === undefined) return noSymbol(command, request.symbol)
  const account = ownAccount(state, command)
  if (account === undefined) return noAccount(command)
  if (account.frozen) return frozen(command)
  if ([request.price, request.qty, request.trigger_price, request.tpsl].every((part) => part === undefined))
    return refuse(command, Code.INVALID_ARGUMENT, "MissingField", "price, qty, trigger or tpsl must be given", {
      field: "price"
    })
  const found = find(state, command, account, market, request.order)
  if ("refusal" in found) return found.refusal
  const { order } = found
  if (request.expected_version !== 0 && request.expected_version !== order.version)
    return refuse(command, Code.ABORTED, "OrderVersionMismatch", `the order's version is ${order.version}`, {
      version: String(order.version)
    })
  const isMarket = order.type === OrderType.ORDER_TYPE_MARKET
  const ticks =
    request.price === undefined || isMarket ? order.ticks : OrderRules.checkPrice(market.rules, request.price)
  if (typeof ticks !== "number") return invalid(command, ticks)
  const lots = request.qty === undefined ? order.lots : OrderRules.checkQty(market.rules, request.qty, isMarket, false)
  if (typeof lots !== "number") return invalid(command, lots)
  if (!order.reduceOnly && lots !== 0) {
    const notional = OrderRules.checkNotional(market.rules, isMarket ? market.markTicks : ticks, lots)
    if (notional !== undefined) return invalid(command, notional)
  }
  const tpsl = request.tpsl === undefined ? order.tpsl : Exits.amended(market, order.tpsl, request.tpsl)
  if (tpsl !== undefined && "reason" in tpsl) return invalid(command, tpsl)
  if (tpsl !== undefined && tpsl !== order.tpsl && !isMarket) {
    const wrong = Exits.checkSides(tpsl, order.side, ticks, "the order's price")
    if (wrong !== undefined) return invalid(command, wrong)
  }
  if (order.status === OrderStatus.ORDER_STATUS_UNTRIGGERED) {
    const trigger =
      request.trigger_price === undefined
        ? order.trigger!.ticks
        : OrderRules.checkPrice(market.rules, request.trigger_price, "trigger.trigger_price")
    if (typeof trigger !== "number") return invalid(command, trigger)
    amendWaiting(turn, order, ticks, lots, tpsl, trigger)
  } else {
    if (request.trigger_price !== undefined)
      return invalidField(command, "trigger", "the order does not wait for a trigger")
    amendOrder(turn, order, ticks, lots, tpsl)
  }
  return acknowledge(turn, command, [Records.orderRef(order)], { version: order.version })
}

/** A user's cancel is announced as a request, then as done; the system's only as done. Source: contract 2.3, rows 6 to 9. */
const cancelNow = (turn: Turn, order: Order, type: CancelType): void => {
  if (order.status === OrderStatus.ORDER_STATUS_UNTRIGGERED) return Exits.deactivate(turn, order, type)
  if (type === CancelType.CANCEL_TYPE_CANCEL_BY_USER) {
    order.status = OrderStatus.ORDER_STATUS_CANCEL_REQUESTED
    order.cancelType = type
    order.rejectReason = RejectReason.REJECT_REASON_EC_NO_ERROR
    order.rejectMessage = undefined
    order.updatedMs = turn.at
    Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_CANCEL_REQUESTED)
  }
  Matching.cancel(turn, order, type)
}

/** Cancels open orders and announces each. */
export const cancelOrders = (turn: Turn, orders: ReadonlyArray<Order>, type: CancelType): void => {
  for (const order of orders) {
    const waits = order.status === OrderStatus.ORDER_STATUS_UNTRIGGERED
    cancelNow(turn, order, type)
    if (!waits) Matching.emitCanceled(turn, [order])
  }
}

export const cancelOne = (turn: Turn, command: Command, request: CancelOrder): CommandResult => {
  const { state } = turn
  const market = state.marketOf.get(request.symbol)
  if (market === undefined) return noSymbol(command, request.symbol)
  const account = ownAccount(state, command)
  if (account === undefined) return noAccount(command)
  const found = find(state, command, account, market, request.order)
  if ("refusal" in found) return found.refusal
  cancelOrders(turn, [found.order], CancelType.CANCEL_TYPE_CANCEL_BY_USER)
  return acknowledge(turn, command, [Records.orderRef(found.order)])
}

/** Without a sub-account: all of the user's. */
export const cancelAll = (turn: Turn, command: Command, request: CancelAll): CommandResult => {
  const { state } = turn
  let market: MarketState | undefined
  if (request.symbol !== undefined) {
    market = state.marketOf.get(request.symbol)
    if (market === undefined) return noSymbol(command, request.symbol)
  }
  const own = ownAccount(state, command)
  if (own === undefined && command.sub_account_address !== "") return noAccount(command)
  const accounts = own === undefined ? (state.users.get(command.user_id)?.accounts ?? []) : [own]
  const chosen: Array<Order> = []
  const type = request.cancel_type <= 0 ? CancelType.CANCEL_TYPE_CANCEL_BY_USER : request.cancel_type
  const dcp = type === CancelType.CANCEL_TYPE_CANCEL_BY_DCP
  for (const account of accounts)
    for (const holding of account.holdings) {
      if (holding === undefined || (market !== undefined && holding.market !== market)) continue
      const active = request.order_filter === OrderFilter.ORDER_FILTER_CONDITIONAL ? [] : holding.orders.values()
      const waiting = request.order_filter === OrderFilter.ORDER_FILTER_ACTIVE ? [] : holding.conditional.values()
      for (const order of [...active, ...waiting]) {
        if (request.side > 0 && order.side !== request.side) continue
        if (request.reduce_only !== undefined && order.reduceOnly !== request.reduce_only) continue
        // exits guard the position of somebody who is gone
        if (dcp && Exits.isExit(order)) continue
        chosen.push(order)
      }
    }
  cancelOrders(turn, chosen, type)
  return acknowledge(turn, command, chosen.map(Records.orderRef))
}
