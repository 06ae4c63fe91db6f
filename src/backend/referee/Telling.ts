/**
 * What users are told of their positions, and when a mark alone is reason enough.
 *
 * A position that a step sampled the prices of is told, with its balance, once its unrealised PnL stands 1 % of its
 * initial margin or more away from what was told last, whatever told it; both are those of that last event. By its mark
 * alone it is told once in a second of engine time at most; what is due sooner waits for the next sample. Between two
 * events of a position its size stands still, so what it waits for is two marks. Source: contract 5.8, 6.
 */
import * as Decimal from "../../domain/Decimal.ts"
import { BalanceReason } from "../../proto/gateway/v1/types.ts"
import * as Records from "../Records.ts"
import { type Account, type Holding, type MarketState, valueOf } from "../State.ts"
import { emit, type Turn } from "../Turn.ts"
import * as Accounts from "./Accounts.ts"

/** Parts of the initial margin that the PnL must have moved by: 1 %. */
const PARTS = 100n

/** By how many ticks the mark must move until the PnL has changed by that part; 0 for a flat position. */
const stepOf = (holding: Holding): number => {
  const { lots, market } = holding
  if (lots === 0) return 0
  const { initialMargin } = Accounts.figuresOf(holding)
  return Number(Decimal.divide(initialMargin, PARTS * valueOf(market, 1, Math.abs(lots)), "up"))
}

/** Announces a position as it stands. `totals` are those of its account. */
export const tellPosition = (turn: Turn, holding: Holding, totals: () => Accounts.AccountTotals): void => {
  const { account, market } = holding
  holding.seq = emit(turn, account, market, () => ({
    $case: "position_changed",
    value: { position: Records.position(holding, totals()) }
  }))
  holding.toldTicks = market.markTicks
  holding.toldStep = stepOf(holding)
  turn.state.telling.touch(holding)
}

const tellAccount = (turn: Turn, account: Account, positions: ReadonlyArray<Holding>): void => {
  const totals = Accounts.lazyTotals(account)
  for (const holding of positions) {
    tellPosition(turn, holding, totals)
    holding.toldSecond = Math.floor(turn.at / 1000)
  }
  emit(turn, account, undefined, () => ({
    $case: "balance_changed",
    value: {
      balance: Records.balance(account, totals()),
      reason: BalanceReason.BALANCE_REASON_MARK,
      amount: "0",
      fee: "0",
      realised_pnl: "0"
    }
  }))
}

/** Positions of a market that its mark has moved far enough, as long as they may be told; the others are left alone. */
const dueOf = ({ at, state }: Turn, market: MarketState): ReadonlyArray<Holding> =>
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

const inOrder = (a: Holding, b: Holding): number => a.account.index - b.account.index || a.market.index - b.market.index

/** Tells whom the samples of this step concern, the oldest account first. */
export const tellMarks = (turn: Turn): void => {
  const due = turn.sampled.flatMap((market) => dueOf(turn, market)).sort(inOrder)
  for (let start = 0; start < due.length;) {
    const { account } = due[start]!
    let end = start
    while (end < due.length && due[end]!.account === account) end++
    tellAccount(turn, account, due.slice(start, end))
    start = end
  }
}
