/**
 * Position and balance events, and the rules for events that no command or fill causes.
 *
 * - A command or fill (a fill, a payment, a new leverage or exit) emits the changed records immediately.
 * - A mark change emits a position and its balance once the unrealised PnL has moved by 1 % of the initial margin since
 *   the last event of the position. The size is constant between two events, so this is a range of marks.
 * - A position is outdated where its record changes for another reason: its ADL indicator, the risk tier of its orders,
 *   or, in Cross mode, the money of the account. Its event follows at the end of the step.
 *
 * The last two rules each emit a position at most once per second of engine time; a change within that second is
 * emitted at the next sample. So a position has two events per second besides those of commands and fills. Source:
 * docs/contract/websocket.md#private-topics, #emission.
 */
import * as Decimal from "../../../domain/Decimal.ts"
import type { BalanceChanged } from "../../../proto/gateway/v1/sequencer.ts"
import { BalanceReason } from "../../../proto/gateway/v1/types.ts"
import * as Accounts from "../accounts/Accounts.ts"
import { valueOf } from "../state/MarketPosition.ts"
import { type Slices, sort } from "../state/Slices.ts"
import type { Account, MarketPosition, MarketState } from "../state/State.ts"
import * as Records from "./Records.ts"
import { emit, type StepContext } from "./StepContext.ts"

/** The initial margin is divided by this: a PnL move of 1 % causes an event. */
const PARTS = 100n

/** Distance in ticks at which the PnL has moved by that part; 0 for a flat position. */
const stepOf = (holding: MarketPosition): number => {
  const { lots, market } = holding
  if (lots === 0) return 0
  const { initialMargin } = Accounts.figuresOf(holding)
  return Number(Decimal.divide(initialMargin, PARTS * valueOf(market, 1, Math.abs(lots)), "up"))
}

/** Emits a position event. `totals` are the totals of its account. */
export const emitPosition = (ctx: StepContext, holding: MarketPosition, totals: () => Accounts.AccountTotals): void => {
  const { account, market } = holding
  holding.updatedMs = ctx.at
  holding.outdated = false
  holding.seq = emit(ctx, account, market, () => ({
    $case: "position_changed",
    value: { position: Records.position(holding, totals()) }
  }))
  holding.announcedTicks = market.markTicks
  holding.announcedStep = stepOf(holding)
  holding.announcedTier = Accounts.figuresOf(holding).exposureTier
  ctx.state.announcementRanges.invalidate(holding)
}

/** The cause of a balance event. Absent amounts are 0. */
export type BalanceCause = Partial<Omit<BalanceChanged, "balance" | "reason">> & Pick<BalanceChanged, "reason">

/** Emits a balance event. It contains the current margins, so a pending margin event of the account is dropped. */
export const emitBalance = (
  ctx: StepContext,
  account: Account,
  market: MarketState | undefined,
  cause: () => BalanceCause,
  totals: () => Accounts.AccountTotals = () => Accounts.totalsOf(account)
): void => {
  account.updatedMs = ctx.at
  ctx.changedMargins.delete(account)
  emit(ctx, account, market, () => ({
    $case: "balance_changed",
    value: { amount: "0", fee: "0", realised_pnl: "0", ...cause(), balance: Records.balance(account, totals()) }
  }))
}

const emitAccountMarkChange = (ctx: StepContext, account: Account, positions: ReadonlyArray<MarketPosition>): void => {
  const totals = Accounts.lazyTotals(account)
  for (const holding of positions) {
    emitPosition(ctx, holding, totals)
    holding.announcedSecond = Math.floor(ctx.at / 1000)
  }
  emitBalance(ctx, account, undefined, () => ({ reason: BalanceReason.BALANCE_REASON_MARK }), totals)
}

/**
 * Positions of a market whose mark has moved far enough and that had no such event in this second. The others are
 * watched again.
 */
const dueOf = function* ({ at, state }: StepContext, market: MarketState): Slices<ReadonlyArray<MarketPosition>> {
  const due: Array<MarketPosition> = []
  for (const holding of yield* state.announcementRanges.takeDue(market)) {
    yield
    const { announcedSecond, announcedStep, announcedTicks } = holding
    if (Math.abs(market.markTicks - announcedTicks) < announcedStep)
      state.announcementRanges.watch(holding, announcedTicks - announcedStep + 1, announcedTicks + announcedStep - 1)
    else if (announcedSecond === Math.floor(at / 1000)) state.announcementRanges.invalidate(holding)
    else due.push(holding)
  }
  return due
}

const inOrder = (a: MarketPosition, b: MarketPosition): number =>
  a.account.index - b.account.index || a.market.index - b.market.index

/** Emits the positions and balances that the sampled marks of this step make due, by account. */
export const emitMarkChanges = function* (ctx: StepContext): Slices {
  const found: Array<MarketPosition> = []
  for (const market of ctx.sampledMarkets) for (const holding of yield* dueOf(ctx, market)) found.push(holding)
  if (found.length === 0) return
  const due = yield* sort(found, inOrder)
  for (let start = 0; start < due.length;) {
    yield
    const { account } = due[start]!
    let end = start
    while (end < due.length && due[end]!.account === account) end++
    emitAccountMarkChange(ctx, account, due.slice(start, end))
    start = end
  }
}

/** Emits outdated positions that had no such event in this second; the others follow in the next second. */
export const emitOutdated = function* (ctx: StepContext): Slices {
  const { at, state } = ctx
  const second = Math.floor(at / 1000)
  const due: Array<MarketPosition> = []
  const consider = (holding: MarketPosition): void => {
    // another event has shown the change meanwhile
    if (!holding.outdated) return
    if (holding.lots === 0) holding.outdated = false
    else if (holding.outdatedSecond === second) state.waiting.add(holding)
    else due.push(holding)
  }
  if (ctx.sampledMarkets.length > 0 && state.waiting.size > 0) {
    const waiting = [...state.waiting]
    state.waiting.clear()
    waiting.forEach(consider)
  }
  if (state.outdated.length > 0) state.outdated.splice(0).forEach(consider)
  if (due.length === 0) return
  for (const holding of yield* sort(due, inOrder)) {
    yield
    emitPosition(ctx, holding, Accounts.lazyTotals(holding.account))
    holding.outdatedSecond = second
  }
}
