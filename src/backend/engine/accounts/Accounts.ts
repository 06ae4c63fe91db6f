/**
 * Balances and margins of accounts: what positions and orders reserve, and what a fill would change. Source:
 * docs/contract/exchange.md#matching, #margin.
 */
import * as Decimal from "../../../domain/Decimal.ts"
import * as Margin from "../../../domain/Margin.ts"
import { Side } from "../../../proto/gateway/v1/types.ts"
import { isPoolPosition, units, valueOf } from "../state/MarketPosition.ts"
import type { Account, MarketPosition, MarketState, State } from "../state/State.ts"

/** Open orders that reserve margin. */
type Reserved = Pick<MarketPosition, "buyLots" | "buyUnits" | "sellLots" | "sellUnits">

/** A position with its open orders, as booked or as simulated after a fill. */
export type AccountState = Reserved & Pick<MarketPosition, "lots" | "entryValue" | "openFee" | "isolatedMargin">

const openOrders = ({ rules: { unit } }: MarketState, held: Reserved): Margin.OpenOrders => ({
  buySize: BigInt(held.buyLots),
  buyValue: held.buyUnits * unit,
  sellSize: BigInt(held.sellLots),
  sellValue: held.sellUnits * unit
})

/** Margin figures of a position at the current mark; cached. */
export const figuresOf = (holding: MarketPosition): Margin.Figures => {
  const { market } = holding
  if (holding.figures !== undefined && holding.figuresMark === market.markTicks) return holding.figures
  const figures = Margin.figures(market.tiers, market.takerFee, {
    position: BigInt(holding.lots),
    entryValue: holding.entryValue,
    value: valueOf(market, market.markTicks, Math.abs(holding.lots)),
    leverage: holding.leverage,
    orders: openOrders(market, holding)
  })
  holding.figures = figures
  holding.figuresMark = market.markTicks
  return figures
}

/** Exposure of an account in a market, including open orders; for the risk limit and the tier. */
export const exposureOf = (market: MarketState, held: Reserved & { readonly lots: number }): Margin.Fraction => {
  const open = Margin.openingValue(BigInt(held.lots), openOrders(market, held))
  return Margin.exposure(valueOf(market, market.markTicks, Math.abs(held.lots)), open)
}

export interface AccountTotals extends Margin.AccountFigures {
  /** of all positions, including Isolated ones */
  readonly unrealisedPnl: Decimal.Scaled
  readonly isolatedMargin: Decimal.Scaled
  /** maintenance margin of the Isolated positions */
  readonly isolatedMaintenance: Decimal.Scaled
  /** cross equity + Σ equity of the Isolated positions */
  readonly equity: Decimal.Scaled
}

/** The open positions of an account, in the order of the markets. */
export const openHoldings = (account: Account): Array<MarketPosition> =>
  account.holdings.filter((holding) => holding !== undefined).filter((holding) => holding.lots !== 0)

/** Totals over all markets of an account. */
export const totalsOf = (account: Account): AccountTotals => {
  let unrealisedPnl = 0n
  let crossPnl = 0n
  let initialMargin = 0n
  let maintenanceMargin = 0n
  let orderMargin = 0n
  let isolatedMargin = 0n
  let isolatedMaintenance = 0n
  for (const holding of account.holdings) {
    if (holding === undefined) continue
    const figures = figuresOf(holding)
    orderMargin += figures.orderMargin
    unrealisedPnl += figures.unrealisedPnl
    if (holding.isolated) {
      isolatedMargin += holding.isolatedMargin
      isolatedMaintenance += figures.maintenanceMargin
      continue
    }
    crossPnl += figures.unrealisedPnl
    initialMargin += figures.initialMargin
    maintenanceMargin += figures.maintenanceMargin
  }
  const crossEquity = account.wallet + crossPnl
  return {
    unrealisedPnl,
    isolatedMargin,
    isolatedMaintenance,
    equity: account.wallet + unrealisedPnl + isolatedMargin,
    crossEquity,
    initialMargin,
    maintenanceMargin,
    orderMargin,
    free: crossEquity - initialMargin - orderMargin
  }
}

/** The totals, computed on first use. Not valid after a change of the account. */
export const lazyTotals = (account: Account): (() => AccountTotals) => {
  let totals: AccountTotals | undefined
  return () => (totals ??= totalsOf(account))
}

/** The amount that can be withdrawn or transferred. */
export const withdrawableOf = (account: Account): Decimal.Scaled =>
  Margin.withdrawable(account.wallet, totalsOf(account))

/** Margin of an Isolated position above its initial margin; unrealised profit does not count. */
export const excessMarginOf = (holding: MarketPosition): Decimal.Scaled => {
  const { initialMargin, unrealisedPnl } = figuresOf(holding)
  return holding.isolatedMargin + Decimal.min(0n, unrealisedPnl) - initialMargin
}

/** E_i, the equity that covers a position. Source: docs/contract/exchange.md#bust-price. */
export const equityOf = (holding: MarketPosition, totals: AccountTotals): Margin.Fraction => {
  const figures = figuresOf(holding)
  return holding.isolated
    ? { dividend: holding.isolatedMargin + figures.unrealisedPnl, divisor: 1n }
    : Margin.equityShare(totals.crossEquity, figures.maintenanceMargin, totals.maintenanceMargin)
}

/** Adds lots of an opening order to (or, negative, removes them from) the open orders that reserve margin. */
export const addReserved = (reserved: Reserved, side: Side, ticks: number, lots: number): void => {
  if (side === Side.SIDE_BUY) {
    reserved.buyLots += lots
    reserved.buyUnits += units(ticks, lots)
    if (reserved.buyLots < 0) throw new Error("open buy orders fell below 0")
  } else {
    reserved.sellLots += lots
    reserved.sellUnits += units(ticks, lots)
    if (reserved.sellLots < 0) throw new Error("open sell orders fell below 0")
  }
}

/** The same on a position. */
export const reserveOrder = (holding: MarketPosition, side: Side, ticks: number, lots: number): void => {
  addReserved(holding, side, ticks, lots)
  holding.figures = undefined
}

/** Counts resting reduce-only orders, which reserve no margin. */
export const countReduceOnly = (holding: MarketPosition, side: Side, lots: number): void => {
  if (side === Side.SIDE_BUY) holding.reduceBuyLots += lots
  else holding.reduceSellLots += lots
}

/** Lots of a position that orders of this side can close. */
export const closableLots = (position: number, side: Side): number =>
  side === Side.SIDE_BUY ? Math.max(0, -position) : Math.max(0, position)

/**
 * The fill check at the mark, after fees: whether cross equity covers the maintenance margin, an Isolated position
 * covers its own, and an Isolated reduction pays its own fee. `wallet` is the balance after the fill. Source:
 * docs/contract/exchange.md#fill-check.
 */
export const coversMaintenance = (
  holding: MarketPosition,
  wallet: Decimal.Scaled,
  fee: Decimal.Scaled,
  after: Margin.Settlement
) => {
  const { account, market, isolated } = holding
  let equity = wallet
  let maintenance = 0n
  for (const other of account.holdings) {
    if (other === undefined || other.lots === 0 || other.isolated || other === holding) continue
    const figures = figuresOf(other)
    equity += figures.unrealisedPnl
    maintenance += figures.maintenanceMargin
  }
  const { position, entryValue, isolatedMargin } = after.entry
  if (isolated && after.closedSize > 0n && after.released + after.realised < fee) return false
  if (position !== 0n) {
    const value = valueOf(market, market.markTicks, Math.abs(Number(position)))
    const pnl = Margin.unrealisedPnl(position, entryValue, value)
    const needed = Margin.maintenanceMargin(market.tiers, value)
    if (isolated) {
      if (isolatedMargin + pnl < needed) return false
    } else {
      equity += pnl
      maintenance += needed
    }
  }
  return equity >= maintenance
}

/** Settles a fill of a position in the state `from`; changes nothing. */
export const settleFill = (
  holding: MarketPosition,
  from: AccountState,
  side: Side,
  lots: number,
  value: Decimal.Scaled,
  fee: Decimal.Scaled
): Margin.Settlement => {
  const { lots: position, entryValue, openFee, isolatedMargin } = from
  const { isolated, leverage, market } = holding
  const lock = isolated
    ? (open: Decimal.Scaled) =>
        Margin.initialMargin(
          open,
          leverage,
          market.tiers[Margin.tierOfExposure(market.tiers, exposureOf(market, from))]!
        )
    : undefined
  return Margin.settle(
    { position: BigInt(position), entryValue, openFee, isolatedMargin },
    { size: BigInt(side === Side.SIDE_BUY ? lots : -lots), value, fee, lock }
  )
}

/**
 * Invalidates the liquidation thresholds of an account: its positions are checked at the next change of their marks.
 */
export const invalidateThresholds = (state: State, account: Account): void => {
  for (const holding of account.holdings)
    if (holding !== undefined && !isPoolPosition(holding)) state.liquidationRanges.invalidate(holding)
}

/**
 * Marks that the record of a position has changed for a reason outside its market. Its event follows: see
 * `PositionEvents.ts`.
 */
export const markOutdated = (state: State, holding: MarketPosition): void => {
  if (holding.outdated || holding.lots === 0 || isPoolPosition(holding)) return
  holding.outdated = true
  state.outdated.push(holding)
}

/** Credits (or, negative, debits) a wallet. This changes the loss that Cross positions can bear before liquidation. */
export const credit = (state: State, account: Account, amount: Decimal.Scaled): void => {
  account.wallet += amount
  state.wallets += amount
  invalidateThresholds(state, account)
  for (const holding of account.holdings) if (holding !== undefined && !holding.isolated) markOutdated(state, holding)
}

/** Credits (or, negative, debits) an isolated margin. */
export const creditIsolated = (state: State, holding: MarketPosition, amount: Decimal.Scaled): void => {
  holding.isolatedMargin += amount
  state.wallets += amount
  invalidateThresholds(state, holding.account)
}

/** Levels of the ADL indicator. */
const RANKS = 5

/**
 * The ADL indicator of a rank (0: first in line; −1: last) among `positions`. Source: docs/contract/exchange.md#adl.
 */
export const adlRank = (positions: number, place: number): number =>
  RANKS - Math.floor((RANKS * (place < 0 ? positions - 1 : place)) / positions)

/** Number of user positions on the same side of the market as `lots`. */
const sideHolders = ({ market }: MarketPosition, lots: number): number =>
  lots > 0 ? market.longHolders : market.holders.size - market.longHolders

const signedEntry = (lots: number, entryValue: Decimal.Scaled): Decimal.Scaled => (lots < 0 ? -entryValue : entryValue)

/** Books a settled fill on position, wallet, fee account and the totals that must balance. */
export const bookFill = (
  state: State,
  holding: MarketPosition,
  side: Side,
  lots: number,
  fee: Decimal.Scaled,
  settlement: Margin.Settlement,
  at: number
): void => {
  const { market } = holding
  const before = holding.lots
  const after = before + (side === Side.SIDE_BUY ? lots : -lots)
  const { entry } = settlement
  if (BigInt(after) !== entry.position) throw new Error("a fill and its settlement disagree")
  state.entries += signedEntry(after, entry.entryValue) - signedEntry(before, holding.entryValue)
  state.fees += fee
  credit(state, holding.account, settlement.wallet)
  creditIsolated(state, holding, entry.isolatedMargin - holding.isolatedMargin)
  if (!isPoolPosition(holding)) {
    if (after === 0) market.holders.delete(holding)
    else if (before === 0) market.holders.add(holding)
    market.longHolders += Number(after > 0) - Number(before > 0)
    // a new position is last in line until the next ranking
    if (after === 0) holding.adlRank = 0
    else if (before === 0 || before > 0 !== after > 0) holding.adlRank = adlRank(sideHolders(holding, after), -1)
  }
  market.netLots += after - before
  market.openLots += Math.max(0, after) - Math.max(0, before)
  const openedFee = fee - settlement.closedFee
  if (settlement.closedSize > 0n) holding.currentRealised += settlement.realised - settlement.closedFee
  if (before === 0 || (after !== 0 && before > 0 !== after > 0)) {
    holding.currentRealised = 0n
    holding.liquidationFee = 0n
    holding.createdMs = at
  }
  holding.currentRealised -= openedFee
  holding.realised += settlement.realised - fee
  holding.lots = after
  holding.entryValue = entry.entryValue
  holding.openFee = entry.openFee
  holding.figures = undefined
}

/** Books a funding payment against the wallet, or against the margin of an Isolated position. */
export const payFunding = (state: State, holding: MarketPosition, payment: Decimal.Scaled): void => {
  if (holding.isolated) creditIsolated(state, holding, -payment)
  else credit(state, holding.account, -payment)
  holding.currentRealised -= payment
  holding.realised -= payment
}

/** Order of positions by account address, which the risk rules use. */
export const byAddress = (a: MarketPosition, b: MarketPosition): number =>
  a.account.address < b.account.address ? -1 : a.account.address > b.account.address ? 1 : 0

/**
 * Conservation, exact: Σ wallets + Σ unrealised PnL + fees = deposits − withdrawals. Since Σ q = 0 in every market, the
 * unrealised PnL sums to −Σ signed entry values at any mark. Source: docs/contract/exchange.md#conservation.
 */
export const assertConserved = (state: State, markets: Iterable<MarketState>): void => {
  for (const market of markets)
    if (market.netLots !== 0) throw new Error(`positions of ${market.market.symbol} sum to ${market.netLots} lots`)
  const held = state.wallets - state.entries + state.fees
  if (held !== state.deposits)
    throw new Error(
      `money is not conserved: accounts hold ${Decimal.format(held)}, net deposits are ${Decimal.format(state.deposits)}`
    )
}
