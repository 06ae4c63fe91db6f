/**
 * The range of marks within which an account cannot need liquidation, so that no check is necessary.
 *
 * The surplus of an account above its maintenance margin is distributed over its positions by value: each mark can move
 * against its position by the same fraction, all at once, before the surplus is used up. A long loses at most its size
 * × the move, because its maintenance margin falls with the mark. A short also loses the growth of its maintenance
 * margin, at most at the highest rate. A move in favor of a position costs nothing, because the rate is below 1. Each
 * rounding of a margin costs at most one unit of the last decimal place. Source: docs/contract/exchange.md#margin,
 * #liquidation.
 */
import * as Decimal from "../../../domain/Decimal.ts"
import * as Accounts from "../accounts/Accounts.ts"
import { valueOf } from "../state/MarketPosition.ts"
import type { Account, MarketPosition, State } from "../state/State.ts"

/** The largest loss of a position for a move of its mark by its full value, scaled. */
const largestLoss = ({ lots, market }: MarketPosition): Decimal.Scaled => {
  const value = valueOf(market, market.markTicks, Math.abs(lots))
  return lots > 0 ? value : value + Decimal.mul(value, market.tiers.at(-1)!.maintenanceRate, "up")
}

/** Sets the thresholds of positions that share a surplus. */
const setThresholds = (state: State, positions: ReadonlyArray<MarketPosition>, surplus: Decimal.Scaled): void => {
  if (positions.length === 0) return
  let weights = 0n
  for (const holding of positions) weights += largestLoss(holding)
  const rounding = BigInt(positions.length)
  for (const holding of positions) {
    const { markTicks } = holding.market
    const reach = Number(Decimal.max(0n, ((surplus - rounding) * BigInt(markTicks)) / weights))
    if (holding.lots > 0) state.liquidationRanges.watch(holding, markTicks - reach, Infinity)
    else state.liquidationRanges.watch(holding, -Infinity, markTicks + reach)
  }
}

/** Sets the thresholds of all positions of an account at the current marks. */
export const update = (state: State, account: Account): void => {
  const cross: Array<MarketPosition> = []
  for (const holding of account.holdings) {
    if (holding === undefined || holding.lots === 0) continue
    if (!holding.isolated) {
      cross.push(holding)
      continue
    }
    const { maintenanceMargin, unrealisedPnl } = Accounts.figuresOf(holding)
    setThresholds(state, [holding], holding.isolatedMargin + unrealisedPnl - maintenanceMargin)
  }
  const { crossEquity, maintenanceMargin } = Accounts.totalsOf(account)
  setThresholds(state, cross, crossEquity - maintenanceMargin)
}
