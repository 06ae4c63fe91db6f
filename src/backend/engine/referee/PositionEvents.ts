/**
 * The events of positions and balances, and when a change that no act of their own caused is reason enough for one.
 *
 * - An act (a fill, a payment, a new leverage or exit) emits the records that it changes, at once.
 * - A mark emits a position, with its balance, once its unrealised PnL is 1 % of its initial margin or more away from
 *   that of its last event, whatever caused that one. The size of a position is constant between two of its events, so
 *   this means: outside two marks.
 * - A position is outdated where its record changes by something else: its place in the queue of deleveraging, the risk
 *   tier of its orders, or, of a Cross position, the money of the account. It has its event at the end of the step.
 *
 * Each of the last two emits a position once in a second of engine time at most; what is due sooner waits for the next
 * sample. So a position costs its acts, and two events a second besides.
 * Source: docs/contract/websocket.md#private-topics, #emission; amendments 10 and 11.
 */
import * as Decimal from "../../../domain/Decimal.ts"
import type { BalanceChanged } from "../../../proto/gateway/v1/sequencer.ts"
import { BalanceReason } from "../../../proto/gateway/v1/types.ts"
import * as Records from "../Records.ts"
import { type Account, type MarketPosition, type MarketState, valueOf } from "../State.ts"
import { emit, type StepContext } from "../StepContext.ts"
import * as Accounts from "./Accounts.ts"

/** Parts of the initial margin that the PnL must have moved by: 1 %. */
const PARTS = 100n

/** By how many ticks the mark must move until the PnL has changed by that part; 0 for a flat position. */
const stepOf = (holding: MarketPosition): number => {
  const { lots, market } = holding
  if (lots === 0) return 0
  const { initialMargin } = Accounts.figuresOf(holding)
  return Number(Decimal.divide(initialMargin, PARTS * valueOf(market, 1, Math.abs(lots)), "up"))
}

/** Emits a position. `totals` are those of its account. */
export const emitPosition = (
  turn: StepContext,
  holding: MarketPosition,
  totals: () => Accounts.AccountTotals
): void => {
  const { account, market } = holding
  holding.updatedMs = turn.at
  holding.outdated = false
  holding.seq = emit(turn, account, market, () => ({
    $case: "position_changed",
    value: { position: Records.position(holding, totals()) }
  }))
  holding.toldTicks = market.markTicks
  holding.toldStep = stepOf(holding)
  holding.toldTier = Accounts.figuresOf(holding).exposureTier
  turn.state.telling.touch(holding)
}

/** Why a balance has changed. Absent amounts are 0. */
export type BalanceCause = Partial<Omit<BalanceChanged, "balance" | "reason">> & Pick<BalanceChanged, "reason">

/** Emits a balance. It shows the margins of now, so that none are left to be announced for the account. */
export const emitBalance = (
  turn: StepContext,
  account: Account,
  market: MarketState | undefined,
  cause: () => BalanceCause,
  totals: () => Accounts.AccountTotals = () => Accounts.totalsOf(account)
): void => {
  account.updatedMs = turn.at
  turn.margins.delete(account)
  emit(turn, account, market, () => ({
    $case: "balance_changed",
    value: { amount: "0", fee: "0", realised_pnl: "0", ...cause(), balance: Records.balance(account, totals()) }
  }))
}

const tellAccount = (turn: StepContext, account: Account, positions: ReadonlyArray<MarketPosition>): void => {
  const totals = Accounts.lazyTotals(account)
  for (const holding of positions) {
    emitPosition(turn, holding, totals)
    holding.toldSecond = Math.floor(turn.at / 1000)
  }
  emitBalance(turn, account, undefined, () => ({ reason: BalanceReason.BALANCE_REASON_MARK }), totals)
}

/** Positions of a market that its mark has moved far enough, as long as they may be told; the others are left alone. */
const dueOf = ({ at, state }: StepContext, market: MarketState): ReadonlyArray<MarketPosition> =>
  state.telling.take(market).filter((holding) => {
    const { toldSecond, toldStep, toldTicks } = holding
    if (Math.abs(market.markTicks - toldTicks) < toldStep) {
      state.telling.between(holding, toldTicks - toldStep + 1, toldTicks + toldStep - 1)
      return false
    }
    if (toldSecond === Math.floor(at / 1000)) {
      state.telling.touch(holding)
      return false
    }
    return true
  })

const inOrder = (a: MarketPosition, b: MarketPosition): number =>
  a.account.index - b.account.index || a.market.index - b.market.index

/** Tells whom the samples of this step concern, the oldest account first. */
export const emitMarkChanges = (turn: StepContext): void => {
  const due = turn.sampled.flatMap((market) => dueOf(turn, market)).sort(inOrder)
  for (let start = 0; start < due.length;) {
    const { account } = due[start]!
    let end = start
    while (end < due.length && due[end]!.account === account) end++
    tellAccount(turn, account, due.slice(start, end))
    start = end
  }
}

/** Emits the positions that are outdated and have had no such event in this second; the others wait for the next. */
export const emitOutdated = (turn: StepContext): void => {
  const { at, state } = turn
  const second = Math.floor(at / 1000)
  const due: Array<MarketPosition> = []
  const look = (holding: MarketPosition): void => {
    // its event has come meanwhile
    if (!holding.outdated) return
    if (holding.lots === 0) holding.outdated = false
    else if (holding.outdatedSecond === second) state.waiting.add(holding)
    else due.push(holding)
  }
  if (turn.sampled.length > 0 && state.waiting.size > 0) {
    const waiting = [...state.waiting]
    state.waiting.clear()
    waiting.forEach(look)
  }
  state.outdated.splice(0).forEach(look)
  for (const holding of due.sort(inOrder)) {
    emitPosition(turn, holding, Accounts.lazyTotals(holding.account))
    holding.outdatedSecond = second
  }
}
