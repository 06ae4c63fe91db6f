/**
 * What accounts hold, what their positions and orders bind, and what a fill would leave of it.
 * Source: docs/contract/exchange.md#matching, #margin.
 */
import * as Decimal from "../../../domain/Decimal.ts"
import * as Margin from "../../../domain/Margin.ts"
import { Side } from "../../../proto/gateway/v1/types.ts"
import { type Account, type MarketPosition, isHouse, type MarketState, type State, units, valueOf } from "../State.ts"

const openOrders = (holding: MarketPosition): Margin.OpenOrders => {
  const { unit } = holding.market.rules
  return {
    buySize: BigInt(holding.buyLots),
    buyValue: holding.buyUnits * unit,
    sellSize: BigInt(holding.sellLots),
    sellValue: holding.sellUnits * unit
  }
}

/** The figures of a holding at the mark of now. */
export const figuresOf = (holding: MarketPosition): Margin.Figures => {
  const { market } = holding
  if (holding.figures !== undefined && holding.figuresMark === market.markTicks) return holding.figures
  const figures = Margin.figures(market.tiers, market.takerFee, {
    position: BigInt(holding.lots),
    entryValue: holding.entryValue,
    value: valueOf(market, market.markTicks, Math.abs(holding.lots)),
    leverage: holding.leverage,
    orders: openOrders(holding)
  })
  holding.figures = figures
  holding.figuresMark = market.markTicks
  return figures
}

/** The account's exposure in a market, orders included; for the risk limit. */
export const exposureOf = (holding: MarketPosition): Margin.Fraction => {
  const { market } = holding
  const open = Margin.openingValue(BigInt(holding.lots), openOrders(holding))
  return Margin.exposure(valueOf(market, market.markTicks, Math.abs(holding.lots)), open)
}

export interface AccountTotals extends Margin.AccountFigures {
  /** of all positions, Isolated ones too */
  readonly unrealisedPnl: Decimal.Scaled
  readonly isolatedMargin: Decimal.Scaled
  /** maintenance margin of the Isolated positions */
  readonly isolatedMaintenance: Decimal.Scaled
  /** cross equity + Σ equity of the Isolated positions */
  readonly equity: Decimal.Scaled
}

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

/** The same, counted when they are first asked for; not to be kept beyond a change. */
export const lazyTotals = (account: Account): (() => AccountTotals) => {
  let totals: AccountTotals | undefined
  return () => (totals ??= totalsOf(account))
}

/** What may leave an account. */
export const withdrawableOf = (account: Account): Decimal.Scaled =>
  Margin.withdrawable(account.wallet, totalsOf(account))

/** What an Isolated position has above the margin that its leverage asks for; unrealised profit does not count. */
export const spareOf = (holding: MarketPosition): Decimal.Scaled => {
  const { initialMargin, unrealisedPnl } = figuresOf(holding)
  return holding.isolatedMargin + Decimal.min(0n, unrealisedPnl) - initialMargin
}

/** E_i, the equity that stands behind a position. Source: docs/contract/exchange.md#bust-price. */
export const equityOf = (holding: MarketPosition, totals: AccountTotals): Margin.Fraction => {
  const figures = figuresOf(holding)
  return holding.isolated
    ? { dividend: holding.isolatedMargin + figures.unrealisedPnl, divisor: 1n }
    : Margin.equityShare(totals.crossEquity, figures.maintenanceMargin, totals.maintenanceMargin)
}

/** Counts lots of an opening order in (or, negative, out of) what the account has open. */
export const bindOrder = (holding: MarketPosition, side: Side, ticks: number, lots: number): void => {
  if (side === Side.SIDE_BUY) {
    holding.buyLots += lots
    holding.buyUnits += units(ticks, lots)
    if (holding.buyLots < 0) throw new Error("open buy orders fell below 0")
  } else {
    holding.sellLots += lots
    holding.sellUnits += units(ticks, lots)
    if (holding.sellLots < 0) throw new Error("open sell orders fell below 0")
  }
  holding.figures = undefined
}

/** The same for resting reduce-only orders, which bind no margin. */
export const bindReduceOnly = (holding: MarketPosition, side: Side, lots: number): void => {
  if (side === Side.SIDE_BUY) holding.reduceBuyLots += lots
  else holding.reduceSellLots += lots
}

/** What of a position orders of this side can close, in lots. */
export const closable = (position: number, side: Side): number =>
  side === Side.SIDE_BUY ? Math.max(0, -position) : Math.max(0, position)

/**
 * Fill check, fees paid, at mark: whether the cross equity still covers the maintenance margin, an Isolated position its
 * own, and an Isolated reduction pays for itself. `wallet` is that after the fill.
 * Source: docs/contract/exchange.md#fill-check.
 */
export const covers = (
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

/** A position as it is booked, or as a fill would make it. */
export interface AccountState {
  readonly lots: number
  readonly entryValue: Decimal.Scaled
  readonly openFee: Decimal.Scaled
  readonly isolatedMargin: Decimal.Scaled
}

/** What a fill would make of a holding that stands so. */
export const settleFill = (
  holding: MarketPosition,
  stand: AccountState,
  side: Side,
  lots: number,
  value: Decimal.Scaled,
  fee: Decimal.Scaled
): Margin.Settlement => {
  const { lots: position, entryValue, openFee, isolatedMargin } = stand
  const { tiers } = holding.market
  const lock = holding.isolated
    ? (open: Decimal.Scaled) => Margin.initialMargin(open, holding.leverage, tiers[figuresOf(holding).exposureTier]!)
    : undefined
  return Margin.settle(
    { position: BigInt(position), entryValue, openFee, isolatedMargin },
    { size: BigInt(side === Side.SIDE_BUY ? lots : -lots), value, fee, lock }
  )
}

/** Lets an account's positions be judged at the next move of their marks, wherever it goes. */
export const touch = (state: State, account: Account): void => {
  for (const holding of account.holdings) if (holding !== undefined && !isHouse(holding)) state.standing.touch(holding)
}

/** Notes that the record of a position has changed without an act in its market. Its event follows: see `Telling.ts`. */
export const outdate = (state: State, holding: MarketPosition): void => {
  if (holding.outdated || holding.lots === 0 || isHouse(holding)) return
  holding.outdated = true
  state.outdated.push(holding)
}

/** Moves money into (or, negative, out of) a wallet. What Cross positions may lose before liquidation changes with it. */
export const credit = (state: State, account: Account, amount: Decimal.Scaled): void => {
  account.wallet += amount
  state.wallets += amount
  touch(state, account)
  for (const holding of account.holdings) if (holding !== undefined && !holding.isolated) outdate(state, holding)
}

/** Moves money into (or, negative, out of) an isolated margin. */
export const creditIsolated = (state: State, holding: MarketPosition, amount: Decimal.Scaled): void => {
  holding.isolatedMargin += amount
  state.wallets += amount
  touch(state, holding.account)
}

/** Steps of the indicator that shows a position's place in the queue of deleveraging. */
const RANKS = 5

/** The indicator of a place (0: first in line; −1: last) among so many. Source: docs/contract/exchange.md#adl. */
export const adlRank = (positions: number, place: number): number =>
  RANKS - Math.floor((RANKS * (place < 0 ? positions - 1 : place)) / positions)

/** Positions of users on the side of a market that a holding of so many lots is on. */
const sideHolders = ({ market }: MarketPosition, lots: number): number =>
  lots > 0 ? market.longHolders : market.holders.size - market.longHolders

const signedEntry = (lots: number, entryValue: Decimal.Scaled): Decimal.Scaled => (lots < 0 ? -entryValue : entryValue)

/** Books a settled fill: position, wallet, fee account and the totals that must balance. */
export const book = (
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
  if (!isHouse(holding)) {
    if (after === 0) market.holders.delete(holding)
    else if (before === 0) market.holders.add(holding)
    market.longHolders += Number(after > 0) - Number(before > 0)
    // last in line until the next ranking
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

/** Books a funding payment: out of the wallet, or the margin of an Isolated position. */
export const payFunding = (state: State, holding: MarketPosition, payment: Decimal.Scaled): void => {
  if (holding.isolated) creditIsolated(state, holding, -payment)
  else credit(state, holding.account, -payment)
  holding.currentRealised -= payment
  holding.realised -= payment
}

/** Accounts and holdings by address, as the risk rules take them. */
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
    throw new Error(`money is not conserved: ${Decimal.format(held)} held of ${Decimal.format(state.deposits)}`)
}
