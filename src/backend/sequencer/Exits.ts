/**
 * Orders that wait, and the exits among them: take-profit and stop-loss legs, in pairs of which one ends the other.
 *
 * An exit of mode Full closes the whole position, whatever its size then (qty 0 until it triggers), and a position has one
 * pair of them; an exit of mode Partial closes what its order filled. Exits end with their position. Source: contract 2.4.
 */
import * as OrderRules from "../../domain/OrderRules.ts"
import { type Command, type CommandResult, OrderCause, type SetTradingStop } from "../../proto/gateway/v1/sequencer.ts"
import {
  CancelType,
  CreateType,
  OrderStatus,
  OrderType,
  RejectReason,
  Side,
  StopOrderType,
  TimeInForce,
  TpslMode,
  TriggerDirection,
  type Tpsl as TpslRequest,
  type TpslLeg
} from "../../proto/gateway/v1/types.ts"
import * as Records from "../Records.ts"
import * as Accounts from "../referee/Accounts.ts"
import { tellPosition } from "../referee/Telling.ts"
import type { Holding, MarketState } from "../State.ts"
import { acknowledge, Code, invalid, refuse, type Turn } from "../Turn.ts"
import * as Matching from "./Matching.ts"
import { newOrder } from "./NewOrder.ts"
import type { Leg, Order, Tpsl } from "./Order.ts"
import * as Queues from "./Queues.ts"

const { TPSL_MODE_FULL: FULL, TPSL_MODE_PARTIAL: PARTIAL } = TpslMode
const CLEAR = CancelType.CANCEL_TYPE_CANCEL_BY_TP_SL_TS_CLEAR

type Kind = "takeProfit" | "stopLoss"
const KINDS: ReadonlyArray<Kind> = ["takeProfit", "stopLoss"]

const stopType = (mode: TpslMode, kind: Kind): StopOrderType =>
  kind === "takeProfit"
    ? mode === PARTIAL
      ? StopOrderType.STOP_ORDER_TYPE_PARTIAL_TAKE_PROFIT
      : StopOrderType.STOP_ORDER_TYPE_TAKE_PROFIT
    : mode === PARTIAL
      ? StopOrderType.STOP_ORDER_TYPE_PARTIAL_STOP_LOSS
      : StopOrderType.STOP_ORDER_TYPE_STOP_LOSS

const CREATED_BY: Readonly<Record<number, CreateType>> = {
  [StopOrderType.STOP_ORDER_TYPE_TAKE_PROFIT]: CreateType.CREATE_TYPE_CREATE_BY_TAKE_PROFIT,
  [StopOrderType.STOP_ORDER_TYPE_PARTIAL_TAKE_PROFIT]: CreateType.CREATE_TYPE_CREATE_BY_PARTIAL_TAKE_PROFIT,
  [StopOrderType.STOP_ORDER_TYPE_STOP_LOSS]: CreateType.CREATE_TYPE_CREATE_BY_STOP_LOSS,
  [StopOrderType.STOP_ORDER_TYPE_PARTIAL_STOP_LOSS]: CreateType.CREATE_TYPE_CREATE_BY_PARTIAL_STOP_LOSS
}

/** Whether an order is an exit rather than a conditional order of its own. */
export const isExit = ({ stopType }: Order): boolean =>
  stopType !== StopOrderType.STOP_ORDER_TYPE_UNSPECIFIED && stopType !== StopOrderType.STOP_ORDER_TYPE_STOP

const isTakeProfit = ({ stopType }: Order): boolean =>
  stopType === StopOrderType.STOP_ORDER_TYPE_TAKE_PROFIT ||
  stopType === StopOrderType.STOP_ORDER_TYPE_PARTIAL_TAKE_PROFIT

const readLeg = (
  market: MarketState,
  leg: TpslLeg | undefined,
  field: string
): Leg | OrderRules.Violation | undefined => {
  if (leg === undefined) return undefined
  const ticks = OrderRules.checkPrice(market.rules, leg.trigger_price, field)
  return typeof ticks === "number" ? { by: Queues.triggerBy(leg.trigger_by), ticks } : ticks
}

/** What a request calls the price of each exit: those of an order, and those of a position. */
type Paths = Readonly<Record<Kind, string>>
const OF_ORDER: Paths = {
  takeProfit: "tpsl.take_profit.market.trigger_price",
  stopLoss: "tpsl.stop_loss.market.trigger_price"
}
const OF_POSITION: Paths = { takeProfit: "take_profit", stopLoss: "stop_loss" }
const SIZES: Paths = { takeProfit: "tp_size", stopLoss: "sl_size" }

const modeOf = (mode: TpslMode): TpslMode => (mode === PARTIAL ? PARTIAL : FULL)

/** Reads the exits of a new order. */
export const read = (market: MarketState, request: TpslRequest): Tpsl | OrderRules.Violation => {
  const takeProfit = readLeg(market, request.take_profit, OF_ORDER.takeProfit)
  if (takeProfit !== undefined && "reason" in takeProfit) return takeProfit
  const stopLoss = readLeg(market, request.stop_loss, OF_ORDER.stopLoss)
  if (stopLoss !== undefined && "reason" in stopLoss) return stopLoss
  if (takeProfit === undefined && stopLoss === undefined)
    return { reason: "MissingField", field: "tpsl.take_profit", message: "take_profit or stop_loss must be given" }
  return { mode: modeOf(request.mode), takeProfit, stopLoss }
}

const isRemoval = (leg: TpslLeg | undefined): boolean => leg !== undefined && /^0(?:\.0+)?$/u.test(leg.trigger_price)

const sameLeg = (a: Leg | undefined, b: Leg | undefined): boolean => a?.by === b?.by && a?.ticks === b?.ticks

/** What an amend makes of an order's exits: a price of 0 removes a leg, an absent leg stays. The same object: no change. */
export const amended = (
  market: MarketState,
  before: Tpsl | undefined,
  request: TpslRequest
): Tpsl | OrderRules.Violation | undefined => {
  const leg = (asked: TpslLeg | undefined, had: Leg | undefined, field: string) =>
    asked === undefined ? had : isRemoval(asked) ? undefined : readLeg(market, asked, field)
  const takeProfit = leg(request.take_profit, before?.takeProfit, OF_ORDER.takeProfit)
  if (takeProfit !== undefined && "reason" in takeProfit) return takeProfit
  const stopLoss = leg(request.stop_loss, before?.stopLoss, OF_ORDER.stopLoss)
  if (stopLoss !== undefined && "reason" in stopLoss) return stopLoss
  const mode = request.mode > 0 || before === undefined ? modeOf(request.mode) : before.mode
  if (takeProfit === undefined && stopLoss === undefined) return undefined
  return before !== undefined &&
    before.mode === mode &&
    sameLeg(before.takeProfit, takeProfit) &&
    sameLeg(before.stopLoss, stopLoss)
    ? before
    : { mode, takeProfit, stopLoss }
}

/** Exits of what a side opens lie on their own sides of a price. */
export const checkSides = (
  { stopLoss, takeProfit }: Pick<Tpsl, "stopLoss" | "takeProfit">,
  side: Side,
  ticks: number,
  of: string,
  paths: Paths = OF_ORDER
): OrderRules.Violation | undefined => {
  const sign = side === Side.SIDE_BUY ? 1 : -1
  const wrong = (kind: Kind, word: string): OrderRules.Violation => ({
    reason: "OutOfRange",
    field: paths[kind],
    message: `${OF_POSITION[kind]} must lie ${word} ${of}`
  })
  const [gain, loss] = side === Side.SIDE_BUY ? (["above", "below"] as const) : (["below", "above"] as const)
  if (takeProfit !== undefined && sign * (takeProfit.ticks - ticks) <= 0) return wrong("takeProfit", gain)
  if (stopLoss !== undefined && sign * (stopLoss.ticks - ticks) >= 0) return wrong("stopLoss", loss)
  return undefined
}

/** Lets an order wait for its trigger, and tells of it. */
export const wait = (turn: Turn, order: Order): void => {
  order.status = OrderStatus.ORDER_STATUS_UNTRIGGERED
  order.holding.conditional.set(order.number, order)
  Queues.join(order)
  Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_ACCEPTED)
  if (isExit(order)) turn.exits.add(order.holding)
}

/** Takes an order out of the queues of those that wait; it stays open. */
export const stopWaiting = (turn: Turn, order: Order): void => {
  Queues.leave(order)
  order.holding.conditional.delete(order.number)
  if (isExit(order)) turn.exits.add(order.holding)
}

/** Ends an order that waits. */
export const deactivate = (turn: Turn, order: Order, type: CancelType): void => {
  stopWaiting(turn, order)
  order.leaves = 0
  order.status = OrderStatus.ORDER_STATUS_DEACTIVATED
  order.cancelType = type
  order.rejectReason = RejectReason.REJECT_REASON_EC_NO_ERROR
  order.rejectMessage = undefined
  order.updatedMs = turn.at
  Matching.forget(turn, order)
  Matching.emitOrder(turn, order, OrderCause.ORDER_CAUSE_CANCELED)
}

/** One exit of a pair has triggered: the other ends. */
export const endSibling = (turn: Turn, order: Order): void => {
  const { sibling } = order
  if (sibling === undefined || !turn.state.orders.has(sibling)) return
  deactivate(
    turn,
    sibling,
    isTakeProfit(order)
      ? CancelType.CANCEL_TYPE_CANCEL_BY_OCO_SL_CANCELED_BY_TP_TRIGGERED
      : CancelType.CANCEL_TYPE_CANCEL_BY_OCO_TP_CANCELED_BY_SL_TRIGGERED
  )
}

const closingSide = (holding: Holding): Side => (holding.lots > 0 ? Side.SIDE_SELL : Side.SIDE_BUY)

const exitsOf = (holding: Holding, chosen: (order: Order) => boolean = () => true): Array<Order> =>
  [...holding.conditional.values()].filter((order) => isExit(order) && chosen(order))

const create = (
  turn: Turn,
  holding: Holding,
  mode: TpslMode,
  kind: Kind,
  leg: Leg,
  lots: number,
  parent: string | undefined
): Order => {
  const side = closingSide(holding)
  const { market } = holding
  const type = stopType(mode, kind)
  const up = (kind === "takeProfit") === (side === Side.SIDE_SELL)
  return newOrder(turn, holding, {
    side,
    type: OrderType.ORDER_TYPE_MARKET,
    timeInForce: TimeInForce.TIME_IN_FORCE_IOC,
    ticks: side === Side.SIDE_BUY ? market.bandBuyTicks : market.bandSellTicks,
    lots,
    reduceOnly: true,
    closeOnTrigger: true,
    stopType: type,
    createType: CREATED_BY[type]!,
    parent,
    trigger: {
      ...leg,
      direction: up ? TriggerDirection.TRIGGER_DIRECTION_UP : TriggerDirection.TRIGGER_DIRECTION_DOWN
    }
  })
}

const pair = (orders: ReadonlyArray<Order>): void => {
  const [one, other] = orders
  if (one !== undefined) one.sibling = other
  if (other !== undefined) other.sibling = one!
}

const isFull = ({ stopType }: Order): boolean =>
  stopType === StopOrderType.STOP_ORDER_TYPE_TAKE_PROFIT || stopType === StopOrderType.STOP_ORDER_TYPE_STOP_LOSS

const createPair = (turn: Turn, holding: Holding, tpsl: Tpsl, lots: number, parent: string | undefined): void => {
  const made = KINDS.flatMap((kind) => {
    const leg = tpsl[kind]
    return leg === undefined ? [] : [create(turn, holding, tpsl.mode, kind, leg, lots, parent)]
  })
  pair(made)
  for (const order of made) wait(turn, order)
}

/** Takes up the fills of an order that brings exits along. */
const attach = (turn: Turn, order: Order): void => {
  const { holding, tpsl } = order
  const fresh = order.filled - order.attached
  const first = order.attached === 0
  order.attached = order.filled
  // what only reduces a position has nothing to guard
  if (tpsl === undefined || fresh === 0 || holding.lots === 0 || closingSide(holding) === order.side) return
  if (tpsl.mode === FULL) {
    if (!first) return
    for (const older of exitsOf(holding, isFull)) deactivate(turn, older, CLEAR)
    return createPair(turn, holding, tpsl, 0, order.id)
  }
  const living = exitsOf(holding, ({ parent }) => parent === order.id)
  if (living.length === 0) return createPair(turn, holding, tpsl, fresh, order.id)
  for (const exit of living) {
    exit.lots += fresh
    exit.leaves += fresh
    exit.updatedMs = turn.at
    Matching.emitOrder(turn, exit, OrderCause.ORDER_CAUSE_AMENDED)
  }
}

/** Gives an order other exits; those that its fills have are replaced. */
export const replaceOf = (turn: Turn, order: Order, tpsl: Tpsl | undefined): void => {
  let guarded = 0
  for (const exit of exitsOf(order.holding, ({ parent }) => parent === order.id)) {
    guarded = isFull(exit) ? order.filled : exit.lots
    deactivate(turn, exit, CLEAR)
  }
  order.tpsl = tpsl
  if (guarded === 0 && order.attached > 0) return
  order.attached = order.filled - guarded
  if (order.filled > 0) turn.attach.add(order)
}

/** Ends the exits of positions that are gone, and attaches those of new fills. */
export const settle = (turn: Turn): void => {
  for (const holding of turn.holdings) {
    if (holding.conditional.size === 0) continue
    const gone = exitsOf(holding, ({ side }) => holding.lots === 0 || side !== closingSide(holding))
    for (const exit of gone) deactivate(turn, exit, CLEAR)
  }
  for (const order of turn.attach) attach(turn, order)
  turn.attach.clear()
}

/** Tells the positions whose exits changed. */
export const announce = (turn: Turn): void => {
  for (const holding of turn.exits) tellPosition(turn, holding, Accounts.lazyTotals(holding.account))
}

/** Sets, replaces or removes the exits of a position. Source: contract 3.6. */
export const setTradingStop = (turn: Turn, command: Command, request: SetTradingStop): CommandResult => {
  const market = turn.state.marketOf.get(request.symbol)
  if (market === undefined) return refuse(command, Code.NOT_FOUND, "SymbolNotFound", `no market ${request.symbol}`)
  const account = turn.state.accountOf.get(command.sub_account_address)
  if (account === undefined || account.userId !== command.user_id || account.deleted)
    return refuse(command, Code.NOT_FOUND, "SubAccountNotFound", "no such sub-account")
  const asked = request.tpsl
  const legs = { takeProfit: asked?.take_profit, stopLoss: asked?.stop_loss }
  if (legs.takeProfit === undefined && legs.stopLoss === undefined)
    return refuse(command, Code.INVALID_ARGUMENT, "MissingField", "take_profit or stop_loss must be given", {
      field: "take_profit"
    })
  const holding = account.holdings[market.index]
  if (holding === undefined || holding.lots === 0)
    return refuse(command, Code.NOT_FOUND, "PositionNotFound", "there is no position")
  const mode = modeOf(asked!.mode)
  const wanted: { [K in Kind]?: Leg } = {}
  for (const kind of KINDS) {
    if (isRemoval(legs[kind])) continue
    const leg = readLeg(market, legs[kind], OF_POSITION[kind])
    if (leg !== undefined && "reason" in leg) return invalid(command, leg)
    if (leg !== undefined) wanted[kind] = leg
  }
  const { stopLoss, takeProfit } = wanted
  // exits are orders: a frozen sub-account takes no new ones, and lets go of those that it has
  if (account.frozen && (takeProfit !== undefined || stopLoss !== undefined))
    return refuse(command, Code.FAILED_PRECONDITION, "SubAccountFrozen", "the sub-account is frozen")
  const opened = holding.lots > 0 ? Side.SIDE_BUY : Side.SIDE_SELL
  const wrong = checkSides({ stopLoss, takeProfit }, opened, market.markTicks, "the mark price", OF_POSITION)
  if (wrong !== undefined) return invalid(command, wrong)
  const sizes = { takeProfit: request.take_profit_size, stopLoss: request.stop_loss_size }
  const lots = { takeProfit: 0, stopLoss: 0 }
  if (mode === PARTIAL)
    for (const kind of KINDS) {
      const size = sizes[kind]
      const held = Math.abs(holding.lots)
      const counted = size === undefined ? held : OrderRules.checkQty(market.rules, size, false, false, SIZES[kind])
      if (typeof counted !== "number") return invalid(command, counted)
      if (counted > held)
        return invalid(command, {
          reason: "OutOfRange",
          field: SIZES[kind],
          message: "the size is above the position's"
        })
      lots[kind] = counted
    }
  for (const kind of KINDS) {
    // a new whole exit replaces the one before; a partial one stands beside others, and 0 removes all of its kind
    if (legs[kind] === undefined || (mode === PARTIAL && !isRemoval(legs[kind]))) continue
    const type = stopType(mode, kind)
    for (const older of exitsOf(holding, ({ stopType }) => stopType === type)) deactivate(turn, older, CLEAR)
  }
  const made = KINDS.flatMap((kind) =>
    wanted[kind] === undefined ? [] : [create(turn, holding, mode, kind, wanted[kind], lots[kind], undefined)]
  )
  pair(mode === PARTIAL ? made : [...exitsOf(holding, isFull), ...made])
  for (const order of made) wait(turn, order)
  turn.exits.add(holding)
  return acknowledge(turn, command, [], {
    result: { $case: "position", value: Records.position(holding, Accounts.totalsOf(account)) }
  })
}
