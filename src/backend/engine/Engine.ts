/**
 * The embedded backend as a state machine: an input in, a result and events out.
 *
 * No clock, no I/O, no randomness: equal states and equal inputs give equal steps, so a journal of inputs is the state.
 * Time enters with every input. An input is one step: all of it happens, or (a refusal) nothing. The invariants of
 * docs/contract/exchange.md#conservation are asserted after each step and stay on in production.
 */
import { type Command, type CommandResult, type Event, type SetIndexPrice } from "../../proto/gateway/v1/sequencer.ts"
import { Side } from "../../proto/gateway/v1/types.ts"
import * as OrderRules from "../../domain/OrderRules.ts"
import * as Decimal from "../../domain/Decimal.ts"
import * as Grid from "../../domain/Grid.ts"
import * as Records from "./Records.ts"
import { assertConserved } from "./referee/Accounts.ts"
import * as Adl from "./referee/Adl.ts"
import * as Funding from "./referee/Funding.ts"
import * as Funds from "./referee/Funds.ts"
import * as Liquidation from "./referee/Liquidation.ts"
import * as Maker from "./referee/Maker.ts"
import * as Positions from "./referee/Positions.ts"
import * as Pools from "./referee/Pools.ts"
import * as Prices from "./referee/Prices.ts"
import { emitMarkChanges, emitOutdated } from "./referee/PositionEvents.ts"
import * as TakeProfitStopLoss from "./sequencer/TakeProfitStopLoss.ts"
import * as TriggerQueues from "./sequencer/TriggerQueues.ts"
import * as Matching from "./sequencer/Matching.ts"
import * as Amend from "./sequencer/Amend.ts"
import * as Cancel from "./sequencer/Cancel.ts"
import * as OrderLifecycle from "./sequencer/OrderLifecycle.ts"
import * as PlaceOrder from "./sequencer/PlaceOrder.ts"
import * as TradingStop from "./sequencer/TradingStop.ts"
import type { MarketState, State } from "./State.ts"
import { acknowledge, begin, Code, emit, hasEvents, invalid, refuse, type StepContext } from "./StepContext.ts"

export { type EngineConfig, initial, type State } from "./State.ts"
export { hash } from "./StateHash.ts"

/** Name of these rules. A journal written under others is not replayed. */
export const RULES = "gateway-engine-5"

/** One entry of the log. */
export interface Input {
  /** Engine time, Unix ms; never falls */
  readonly at_ms: number
  /** absent: a Tick */
  readonly command: Command | undefined
  /** nobody can ask for the events: they are counted and not made */
  readonly silent?: boolean | undefined
}

export interface Step {
  /** absent for a Tick; a refusal is a status and has changed nothing */
  readonly result: CommandResult | undefined
  /** in order; their seqs follow the head without a gap. None of a silent input */
  readonly events: ReadonlyArray<Event>
}

/** Whether a Tick at this time would change anything; if not, it need not be journalled. */
export const tickMatters = (state: State, at_ms: number): boolean =>
  Prices.wouldMove(state, at_ms) ||
  Funds.withdrawalDue(state, at_ms) ||
  TriggerQueues.nextExpired(state, at_ms) !== undefined

/** The Tick itself: prices, and funding where it is due. Returns whether it is the first of its second. */
const tick = (turn: StepContext): boolean => {
  const { state, at } = turn
  OrderLifecycle.expire(turn)
  Funds.completeWithdrawals(turn)
  const before = state.second
  Funding.sample(state, Math.floor(at / 1000))
  if (!Prices.tick(turn)) return false
  Funding.settleDue(turn, before)
  turn.sampled.push(...state.markets)
  emit(turn, undefined, undefined, () => ({
    $case: "prices_sampled",
    value: { prices: state.markets.map((market) => Records.prices(state, market, at)) }
  }))
  return true
}

/**
 * What follows every command: reduce-only trimming, liquidations, pools, until nothing changes.
 * Source: docs/contract/exchange.md#step-order.
 */
const settle = (turn: StepContext): void => {
  tidy(turn)
  while (true) {
    const liquidated = Liquidation.run(turn)
    const deleveraged = Pools.run(turn)
    turn.moved.clear()
    if (!liquidated && !deleveraged) break
  }
  tidy(turn)
}

/** Brings exits and reduce-only orders in line with the positions of now. */
const tidy = (turn: StepContext): void => {
  TakeProfitStopLoss.settle(turn)
  for (const holding of turn.holdings) Matching.trimReduceOnly(turn, holding)
}

/** What ends the first Tick of a second. */
const everySecond = (turn: StepContext): void => {
  Pools.unwind(turn)
  Maker.act(turn)
  settle(turn)
  for (const market of turn.state.markets) Adl.rankAll(turn.state, market)
}

const setIndexPrice = (turn: StepContext, command: Command, request: SetIndexPrice): CommandResult => {
  const { state, at } = turn
  const market = state.marketOf.get(request.symbol)
  if (market === undefined) return refuse(command, Code.NOT_FOUND, "SymbolNotFound", `no market ${request.symbol}`)
  let price: Decimal.Scaled | undefined
  if (request.price !== undefined) {
    const ticks = OrderRules.checkPrice(market.rules, request.price)
    if (typeof ticks !== "number") return invalid(command, ticks)
    price = Grid.scaled(market.rules.price, ticks)
  }
  Prices.hold(turn, market, price)
  turn.sampled.push(market)
  const prices = Records.prices(state, market, at)
  emit(turn, undefined, market, () => ({ $case: "prices_sampled", value: { prices: [prices] } }))
  return acknowledge(turn, command, [], { result: { $case: "prices", value: prices } })
}

const dispatch = (turn: StepContext, command: Command): CommandResult => {
  const asked = command.command
  if (asked === undefined)
    return refuse(command, Code.INVALID_ARGUMENT, "MissingField", "the command is empty", { field: "command" })
  switch (asked.$case) {
    case "place_order":
      return PlaceOrder.place(turn, command, asked.value)
    case "amend_order":
      return Amend.amend(turn, command, asked.value)
    case "cancel_order":
      return Cancel.cancelOne(turn, command, asked.value)
    case "cancel_all":
      return Cancel.cancelAll(turn, command, asked.value)
    case "set_trading_stop":
      return TradingStop.setTradingStop(turn, command, asked.value)
    case "set_leverage":
      return Positions.setLeverage(turn, command, asked.value)
    case "set_margin_mode":
      return Positions.setMarginMode(turn, command, asked.value)
    case "add_margin":
      return Positions.addMargin(turn, command, asked.value)
    case "create_sub_account":
      return Funds.createSubAccount(turn, command, asked.value)
    case "set_sub_account":
      return Funds.setSubAccount(turn, command, asked.value)
    case "delete_sub_account":
      return Funds.deleteSubAccount(turn, command)
    case "withdraw_funds":
      return Funds.withdrawFunds(turn, command, asked.value)
    case "credit_reward":
      return Funds.creditReward(turn, command, asked.value)
    case "transfer_funds":
      return Funds.transferFunds(turn, command, asked.value)
    case "deposit_funds":
      return Funds.depositFunds(turn, command, asked.value)
    case "set_index_price":
      return setIndexPrice(turn, command, asked.value)
    default:
      return refuse(command, Code.UNIMPLEMENTED, "InvalidField", "the command is not known", { field: "command" })
  }
}

/** Announces how the book and the tape of each touched market stand after the step. */
const publish = (turn: StepContext): void => {
  for (const { market, trades } of turn.prints)
    emit(turn, undefined, market, () => ({
      $case: "trade_printed",
      value: { trades, open_interest: Grid.text(market.rules.qty, market.openLots) }
    }))
  for (const market of turn.markets) publishBook(turn, market)
}

const publishBook = (turn: StepContext, market: MarketState): void => {
  const changes = market.book.takeChanges()
  if (changes.length === 0 && !turn.prints.some((print) => print.market === market)) return
  const before = market.bookSeq
  market.bookSeq = ++market.seq
  market.bookMs = turn.at
  const { price, qty } = market.rules
  const sideOf = (side: Side) =>
    changes
      .filter((change) => change.side === side)
      .map(({ ticks, lots }) => ({ price: Grid.text(price, ticks), qty: Grid.text(qty, lots) }))
  emit(turn, undefined, market, () => ({
    $case: "book_changed",
    value: {
      symbol: market.market.symbol,
      book_seq: market.bookSeq,
      prev_book_seq: before,
      bids: sideOf(Side.SIDE_BUY),
      asks: sideOf(Side.SIDE_SELL)
    }
  }))
}

const assertUncrossed = (market: MarketState): void => {
  const bid = market.book.best(Side.SIDE_BUY)
  const ask = market.book.best(Side.SIDE_SELL)
  if (bid !== undefined && ask !== undefined && bid >= ask)
    throw new Error(`the book of ${market.market.symbol} is crossed at ${bid}`)
}

/** Ends a step: tells exits, what the marks moved, margins, tape and books, and asserts what must hold. */
const finish = (turn: StepContext): void => {
  const { state } = turn
  TakeProfitStopLoss.announce(turn)
  emitMarkChanges(turn)
  emitOutdated(turn)
  Matching.emitMargins(turn)
  publish(turn)
  if (!hasEvents(turn)) return
  state.step = turn.step
  state.time = turn.at
  for (const market of turn.markets) assertUncrossed(market)
  assertConserved(state, turn.markets)
}

/** Fires the orders whose triggers the steps of an input have met, each in a step of its own. */
const fireAll = (state: State, at: number, events: Array<Event>, silent: boolean | undefined): void => {
  while (true) {
    TriggerQueues.decideMet(state)
    const order = TriggerQueues.nextMet(state)
    if (order === undefined) return
    const turn = begin(state, at, undefined, silent)
    OrderLifecycle.fire(turn, order)
    settle(turn)
    finish(turn)
    for (const event of turn.events) events.push(event)
  }
}

/** Applies one input; changes the state in place. Throws only where an invariant is broken: a bug, never a refusal. */
export const apply = (state: State, input: Input): Step => {
  const { at_ms, command, silent } = input
  if (at_ms < state.time) throw new RangeError(`engine time fell from ${state.time} to ${at_ms}`)
  const turn = begin(state, at_ms, command, silent)
  let result: CommandResult | undefined
  let first = false
  if (command === undefined) first = tick(turn)
  else result = dispatch(turn, command)
  settle(turn)
  if (first) everySecond(turn)
  finish(turn)
  if (result?.outcome?.$case === "ack") result.outcome.value.seq = state.seq
  fireAll(state, at_ms, turn.events, silent)
  return { result, events: turn.events }
}
