/**
 * The embedded backend as a state machine: one input gives a result and events.
 *
 * The engine has no clock, no I/O and no randomness: equal states and equal inputs give equal steps, so a journal of
 * inputs defines the state. Every input carries the time. An input is one step that happens as a whole or, when
 * refused, not at all. The invariants of docs/contract/exchange.md#conservation are asserted after each step, in
 * production too.
 */
import * as Decimal from "../../domain/Decimal.ts"
import * as Grid from "../../domain/Grid.ts"
import * as OrderRules from "../../domain/OrderRules.ts"
import type { Command, CommandResult, Event, SetIndexPrice } from "../../proto/gateway/v1/sequencer.ts"
import { type PriceLevel, Side } from "../../proto/gateway/v1/types.ts"
import { assertConserved } from "./accounts/Accounts.ts"
import { acknowledge, Code, invalid, refuse } from "./events/CommandResults.ts"
import { emitMarkChanges, emitOutdated } from "./events/PositionEvents.ts"
import * as Records from "./events/Records.ts"
import { begin, emit, hasEvents, type StepContext } from "./events/StepContext.ts"
import type { Input, Step } from "./Machine.ts"
import * as Adl from "./referee/Adl.ts"
import * as Funding from "./referee/Funding.ts"
import * as Funds from "./referee/Funds.ts"
import * as Liquidation from "./referee/Liquidation.ts"
import * as Maker from "./referee/Maker.ts"
import * as Pools from "./referee/Pools.ts"
import * as Positions from "./referee/Positions.ts"
import * as Prices from "./referee/Prices.ts"
import * as SubAccounts from "./referee/SubAccounts.ts"
import * as Takers from "./referee/Takers.ts"
import * as Amend from "./sequencer/Amend.ts"
import * as Cancel from "./sequencer/Cancel.ts"
import { refuseUnknownEnum } from "./sequencer/Enums.ts"
import * as OrderEvents from "./sequencer/OrderEvents.ts"
import * as OrderLifecycle from "./sequencer/OrderLifecycle.ts"
import * as PlaceOrder from "./sequencer/PlaceOrder.ts"
import * as RestingOrder from "./sequencer/RestingOrder.ts"
import * as TakeProfitStopLoss from "./sequencer/TakeProfitStopLoss.ts"
import * as TradingStop from "./sequencer/TradingStop.ts"
import { drain, type Slices } from "./state/Slices.ts"
import type { MarketState, State } from "./state/State.ts"
import * as TriggerQueues from "./state/TriggerQueues.ts"

export type { Input, Step } from "./Machine.ts"
export { initial } from "./state/InitialState.ts"
export type { EngineConfig, State } from "./state/State.ts"
export { hash, hashSlices } from "./state/StateHash.ts"

/** Name of these rules. A journal of other rules is not replayed. */
export const RULES = "gateway-engine-6"

/** Whether a Tick at this time would change anything; other Ticks need no journal entry. */
export const tickMatters = (state: State, at_ms: number): boolean =>
  Prices.tickMatters(state, at_ms) ||
  Funds.withdrawalDue(state, at_ms) ||
  TriggerQueues.nextExpired(state, at_ms) !== undefined

/**
 * Executes a Tick: expiries, withdrawals, prices and due funding. Returns whether it is the first Tick of its second.
 */
const tick = function* (ctx: StepContext): Slices<boolean> {
  const { state, at } = ctx
  yield* OrderLifecycle.expireOrders(ctx)
  Funds.completeWithdrawals(ctx)
  const before = state.second
  Funding.sample(state, Math.floor(at / 1000))
  if (!Prices.tick(ctx)) return false
  yield* Funding.settleDue(ctx, before)
  ctx.sampledMarkets.push(...state.markets)
  emit(ctx, undefined, undefined, () => ({
    $case: "prices_sampled",
    value: { prices: state.markets.map((market) => Records.prices(state, market, at)) }
  }))
  return true
}

/**
 * The stages after every command: reduce-only trimming, liquidations and pools, until nothing changes. Source:
 * docs/contract/exchange.md#step-order.
 */
const settle = function* (ctx: StepContext): Slices {
  alignOrdersWithPositions(ctx)
  while (true) {
    const liquidated = yield* Liquidation.run(ctx)
    const deleveraged = Pools.run(ctx)
    ctx.repricedMarkets.clear()
    if (!liquidated && !deleveraged) break
  }
  alignOrdersWithPositions(ctx)
}

/** Aligns take-profit, stop-loss and reduce-only orders with the current positions. */
const alignOrdersWithPositions = (ctx: StepContext): void => {
  TakeProfitStopLoss.settleExits(ctx)
  for (const holding of ctx.changedPositions) RestingOrder.trimReduceOnly(ctx, holding)
}

/** The stages at the end of the first Tick of a second. */
const endOfSecond = function* (ctx: StepContext): Slices {
  Pools.unwind(ctx)
  Maker.run(ctx)
  Takers.run(ctx)
  yield* settle(ctx)
  yield* Adl.rankAll(ctx.state)
}

const setIndexPrice = (ctx: StepContext, command: Command, request: SetIndexPrice): CommandResult => {
  const { state, at } = ctx
  const market = state.marketOf.get(request.symbol)
  if (market === undefined) return refuse(command, Code.NOT_FOUND, "SymbolNotFound", `no market ${request.symbol}`)
  let price: Decimal.Scaled | undefined
  if (request.price !== undefined) {
    const ticks = OrderRules.checkPrice(market.rules, request.price)
    if (typeof ticks !== "number") return invalid(command, ticks)
    price = Grid.scaled(market.rules.price, ticks)
  }
  Prices.setIndexOverride(ctx, market, price)
  ctx.sampledMarkets.push(market)
  const prices = Records.prices(state, market, at)
  emit(ctx, undefined, market, () => ({ $case: "prices_sampled", value: { prices: [prices] } }))
  return acknowledge(ctx, command, [], { result: { $case: "prices", value: prices } })
}

const dispatch = (ctx: StepContext, command: Command): CommandResult => {
  const request = command.command
  if (request === undefined)
    return refuse(command, Code.INVALID_ARGUMENT, "MissingField", "the command is empty", { field: "command" })
  const unknown = refuseUnknownEnum(command)
  if (unknown !== undefined) return unknown
  switch (request.$case) {
    case "place_order":
      return PlaceOrder.place(ctx, command, request.value)
    case "amend_order":
      return Amend.amend(ctx, command, request.value)
    case "cancel_order":
      return Cancel.cancelOne(ctx, command, request.value)
    case "cancel_all":
      return Cancel.cancelAll(ctx, command, request.value)
    case "set_trading_stop":
      return TradingStop.setTradingStop(ctx, command, request.value)
    case "set_leverage":
      return Positions.setLeverage(ctx, command, request.value)
    case "set_margin_mode":
      return Positions.setMarginMode(ctx, command, request.value)
    case "add_margin":
      return Positions.addMargin(ctx, command, request.value)
    case "create_sub_account":
      return SubAccounts.createSubAccount(ctx, command, request.value)
    case "set_sub_account":
      return SubAccounts.setSubAccount(ctx, command, request.value)
    case "delete_sub_account":
      return SubAccounts.deleteSubAccount(ctx, command)
    case "withdraw_funds":
      return Funds.withdrawFunds(ctx, command, request.value)
    case "credit_reward":
      return Funds.creditReward(ctx, command, request.value)
    case "transfer_funds":
      return Funds.transferFunds(ctx, command, request.value)
    case "deposit_funds":
      return Funds.depositFunds(ctx, command, request.value)
    case "set_index_price":
      return setIndexPrice(ctx, command, request.value)
    default:
      return refuse(command, Code.UNIMPLEMENTED, "InvalidField", "the command is unknown", { field: "command" })
  }
}

/** Emits the trades and the book changes of each touched market. */
const publish = (ctx: StepContext): void => {
  for (const { market, trades } of ctx.prints)
    emit(ctx, undefined, market, () => ({
      $case: "trade_printed",
      value: { trades, open_interest: Grid.text(market.rules.qty, market.openLots) }
    }))
  for (const market of ctx.changedMarkets) publishBook(ctx, market)
}

const publishBook = (ctx: StepContext, market: MarketState): void => {
  const changes = market.book.takeChanges()
  if (changes.length === 0 && !ctx.prints.some((print) => print.market === market)) return
  const before = market.bookSeq
  market.bookSeq = ++market.seq
  market.bookMs = ctx.at
  emit(ctx, undefined, market, () => {
    const { price, qty } = market.rules
    const bids: Array<PriceLevel> = []
    const asks: Array<PriceLevel> = []
    for (const { lots, side, ticks } of changes)
      (side === Side.SIDE_BUY ? bids : asks).push({ price: Grid.text(price, ticks), qty: Grid.text(qty, lots) })
    const { symbol } = market.market
    return {
      $case: "book_changed",
      value: { symbol, book_seq: market.bookSeq, prev_book_seq: before, bids, asks }
    }
  })
}

const assertUncrossed = (market: MarketState): void => {
  const bid = market.book.best(Side.SIDE_BUY)
  const ask = market.book.best(Side.SIDE_SELL)
  if (bid !== undefined && ask !== undefined && bid >= ask)
    throw new Error(`the book of ${market.market.symbol} is crossed at ${bid}`)
}

/** Ends a step: emits changed exits, mark changes, margins, trades and books, and asserts the invariants. */
const finish = function* (ctx: StepContext): Slices {
  const { state } = ctx
  TakeProfitStopLoss.emitChangedExits(ctx)
  yield* emitMarkChanges(ctx)
  yield* emitOutdated(ctx)
  OrderEvents.emitMarginChanges(ctx)
  publish(ctx)
  if (!hasEvents(ctx)) return
  state.step = ctx.step
  state.time = ctx.at
  for (const market of ctx.changedMarkets) assertUncrossed(market)
  assertConserved(state, ctx.changedMarkets)
}

/** Activates the orders whose trigger price the steps of an input have reached, each in its own step. */
const fireTriggered = function* (state: State, at: number, events: Array<Event>, silent: boolean | undefined): Slices {
  while (true) {
    yield* TriggerQueues.collectTriggered(state)
    const order = TriggerQueues.nextTriggered(state)
    if (order === undefined) return
    yield
    const ctx = begin(state, at, undefined, silent)
    OrderLifecycle.triggerOrder(ctx, order)
    yield* settle(ctx)
    yield* finish(ctx)
    for (const event of ctx.events) events.push(event)
  }
}

/**
 * Applies one input to the state in place, in slices. Throws only where an invariant is violated: that is a bug, never a
 * refusal.
 */
export const start = function* (state: State, input: Input): Slices<Step> {
  const { at_ms, command, silent } = input
  if (at_ms < state.time) throw new RangeError(`engine time fell from ${state.time} to ${at_ms}`)
  const ctx = begin(state, at_ms, command, silent)
  let result: CommandResult | undefined
  let first = false
  if (command === undefined) first = yield* tick(ctx)
  else result = dispatch(ctx, command)
  yield* settle(ctx)
  if (first) yield* endOfSecond(ctx)
  yield* finish(ctx)
  if (result?.outcome?.$case === "ack") result.outcome.value.seq = state.seq
  yield* fireTriggered(state, at_ms, ctx.events, silent)
  return { result, events: ctx.events }
}

/** Applies one input at once. */
export const apply = (state: State, input: Input): Step => drain(start(state, input))
