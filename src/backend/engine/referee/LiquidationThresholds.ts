/**
 * Between which marks an account surely stands, so that liquidation need not ask it.
 *
 * What an account has above its maintenance margin is laid out over its positions by their values: each mark may go
 * against its position by the same part of itself, all of them at once, before what is above is used up. A long loses at
 * most its size × the move, for its maintenance margin falls with the mark; a short loses the growth of its margin
 * besides, at most the highest rate. A move in a position's favour costs nothing, since the rate is below 1; each
 * rounding of a margin costs one unit of the last place at most. Source: docs/contract/exchange.md#margin,
 * #liquidation.
 */
import * as Decimal from "../../../domain/Decimal.ts"
import { type Account, type MarketPosition, type State, valueOf } from "../State.ts"
import * as Accounts from "./Accounts.ts"

/** What a position loses at most while its mark goes all its way, scaled. */
const weightOf = ({ lots, market }: MarketPosition): Decimal.Scaled => {
  const value = valueOf(market, market.markTicks, Math.abs(lots))
  return lots > 0 ? value : value + Decimal.mul(value, market.tiers.at(-1)!.maintenanceRate, "up")
}

/** Leaves positions alone as far as `above`, which stands behind all of them, surely reaches. */
const layOut = (state: State, positions: ReadonlyArray<MarketPosition>, above: Decimal.Scaled): void => {
  if (positions.length === 0) return
  let weights = 0n
  for (const holding of positions) weights += weightOf(holding)
  const rounding = BigInt(positions.length)
  for (const holding of positions) {
    const { markTicks } = holding.market
    const reach = Number(Decimal.max(0n, ((above - rounding) * BigInt(markTicks)) / weights))
    if (holding.lots > 0) state.standing.between(holding, markTicks - reach, Infinity)
    else state.standing.between(holding, -Infinity, markTicks + reach)
  }
}

/** Watches the positions of an account that stands at the marks of now. */
export const watch = (state: State, account: Account): void => {
  const cross: Array<MarketPosition> = []
  for (const holding of account.holdings) {
    if (holding === undefined || holding.lots === 0) continue
    if (!holding.isolated) {
      cross.push(holding)
      continue
    }
    const { maintenanceMargin, unrealisedPnl } = Accounts.figuresOf(holding)
    layOut(state, [holding], holding.isolatedMargin + unrealisedPnl - maintenanceMargin)
  }
  const { crossEquity, maintenanceMargin } = Accounts.totalsOf(account)
  layOut(state, cross, crossEquity - maintenanceMargin)
}
