/** What accounts hold, what their positions and orders bind, and what a fill would leave of it. Source: contract 9.3, 9.4. */
import * as Decimal from "../../domain/Decimal.ts"
import * as Margin from "../../domain/Margin.ts"
import { Side } from "../../proto/gateway/v1/types.ts"
import { type Account, type Holding, type MarketState, type State, units, valueOf } from "../State.ts"

const openOrders = (holding: Holding): Margin.OpenOrders => {
  const { unit } = holding.market.rules
  return {
    buySize: BigInt(holding.buyLots),
    buyValue: holding.buyUnits * unit,
    sellSize: BigInt(holding.sellLots),
    sellValue: holding.sellUnits * unit
  }
}

/** The figures of a holding at the mark of now. */
export const figuresOf = (holding: Holding): Margin.Figures => {
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
export const exposureOf = (holding: Holding): Margin.Fraction => {
  const { market } = holding
  const open = Margin.openingValue(BigInt(holding.lots), openOrders(holding))
  return Margin.exposure(valueOf(market, market.markTicks, Math.abs(holding.lots)), open)
}

export interface AccountTotals extends Margin.AccountFigures {
  readonly unrealisedPnl: Decimal.Scaled
}

/** Totals over all markets of an account. */
export const totalsOf = (account: Account): AccountTotals => {
  let unrealisedPnl = 0n
  let initialMargin = 0n
  let maintenanceMargin = 0n
  let orderMargin = 0n
  for (const holding of account.holdings) {
    if (holding === undefined) continue
    const figures = figuresOf(holding)
    unrealisedPnl += figures.unrealisedPnl
    initialMargin += figures.initialMargin
    maintenanceMargin += figures.maintenanceMargin
    orderMargin += figures.orderMargin
  }
  const crossEquity = account.wallet + unrealisedPnl
  return {
    unrealisedPnl,
    crossEquity,
    initialMargin,
    maintenanceMargin,
    orderMargin,
    free: crossEquity - initialMargin - orderMargin
  }
}

/** Counts lots of an opening order in (or, negative, out of) what the account has open. */
export const bindOrder = (holding: Holding, side: Side, ticks: number, lots: number): void => {
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
export const bindReduceOnly = (holding: Holding, side: Side, lots: number): void => {
  if (side === Side.SIDE_BUY) holding.reduceBuyLots += lots
  else holding.reduceSellLots += lots
}

/** What of a position orders of this side can close, in lots. */
export const closable = (position: number, side: Side): number =>
  side === Side.SIDE_BUY ? Math.max(0, -position) : Math.max(0, position)

/** A position and a wallet as they are, or as a fill would make them. */
export interface Stand {
  readonly wallet: Decimal.Scaled
  readonly lots: number
  readonly entryValue: Decimal.Scaled
}

/** Fill check: whether the cross equity still covers the maintenance margin, fees paid, at mark. */
export const covers = (account: Account, market: MarketState, stand: Stand): boolean => {
  let equity = stand.wallet
  let maintenance = 0n
  for (const holding of account.holdings) {
    if (holding === undefined || holding.lots === 0 || holding.market === market) continue
    const figures = figuresOf(holding)
    equity += figures.unrealisedPnl
    maintenance += figures.maintenanceMargin
  }
  if (stand.lots !== 0) {
    const value = valueOf(market, market.markTicks, Math.abs(stand.lots))
    equity += Margin.unrealisedPnl(stand.lots, stand.entryValue, value)
    maintenance += Margin.maintenanceMargin(market.tiers, value)
  }
  return equity >= maintenance
}

/** What a fill would make of a holding. */
export const settleFill = (
  stand: { readonly lots: number; readonly entryValue: Decimal.Scaled; readonly openFee: Decimal.Scaled },
  side: Side,
  lots: number,
  value: Decimal.Scaled,
  fee: Decimal.Scaled
): Margin.Settlement =>
  Margin.settle(
    { position: BigInt(stand.lots), entryValue: stand.entryValue, openFee: stand.openFee, isolatedMargin: 0n },
    { size: BigInt(side === Side.SIDE_BUY ? lots : -lots), value, fee }
  )

/** Moves money into (or, negative, out of) a wallet. */
export const credit = (state: State, account: Account, amount: Decimal.Scaled, at: number): void => {
  account.wallet += amount
  account.updatedMs = at
  state.wallets += amount
}

const signedEntry = (lots: number, entryValue: Decimal.Scaled): Decimal.Scaled => (lots < 0 ? -entryValue : entryValue)

/** Books a settled fill: position, wallet, fee account and the totals that must balance. */
export const book = (
  state: State,
  holding: Holding,
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
  credit(state, holding.account, settlement.wallet, at)
  market.netLots += after - before
  market.openLots += Math.max(0, after) - Math.max(0, before)
  const openedFee = fee - settlement.closedFee
  if (settlement.closedSize > 0n) holding.currentRealised += settlement.realised - settlement.closedFee
  if (before === 0 || (after !== 0 && before > 0 !== after > 0)) {
    holding.currentRealised = 0n
    holding.createdMs = at
  }
  holding.currentRealised -= openedFee
  holding.realised += settlement.realised - fee
  holding.lots = after
  holding.entryValue = entry.entryValue
  holding.openFee = entry.openFee
  holding.updatedMs = at
  holding.figures = undefined
}

/**
 * Conservation, exact: Σ wallets + Σ unrealised PnL + fees = deposits − withdrawals. Since Σ q = 0 in every market, the
 * unrealised PnL sums to −Σ signed entry values at any mark. Source: contract 9.3.
 */
export const assertConserved = (state: State, markets: Iterable<MarketState>): void => {
  for (const market of markets)
    if (market.netLots !== 0) throw new Error(`positions of ${market.market.symbol} sum to ${market.netLots} lots`)
  const held = state.wallets - state.entries + state.fees
  if (held !== state.deposits)
    throw new Error(`money is not conserved: ${Decimal.format(held)} held of ${Decimal.format(state.deposits)}`)
}
