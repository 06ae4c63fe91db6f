/** The position of an account in one market: its creation, and the value of lots. */
import type * as Decimal from "../../../domain/Decimal.ts"
import { PositionStatus } from "../../../proto/gateway/v1/types.ts"
import type { Account, MarketPosition, MarketState } from "./State.ts"

/** Index of the internal accounts that hold the inventories of insurance pools. They have no user and no events. */
export const POOL_ACCOUNT = -1

export const isPoolPosition = ({ account }: MarketPosition): boolean => account.index === POOL_ACCOUNT

/** Returns the position of an account in a market; creates an empty one on first use. */
export const positionOf = (account: Account, market: MarketState): MarketPosition => {
  const held = account.holdings[market.index]
  if (held !== undefined) return held
  while (account.holdings.length < market.index) account.holdings.push(undefined)
  const holding: MarketPosition = {
    account,
    market,
    leverage: market.defaultLeverage,
    isolated: false,
    isolatedMargin: 0n,
    lots: 0,
    entryValue: 0n,
    openFee: 0n,
    currentRealised: 0n,
    liquidationFee: 0n,
    realised: 0n,
    status: PositionStatus.POSITION_STATUS_NORMAL,
    adlRank: 0,
    createdMs: 0,
    updatedMs: 0,
    seq: 0,
    announcedTicks: 0,
    announcedStep: 0,
    announcedTier: 0,
    announcedSecond: -1,
    outdated: false,
    outdatedSecond: -1,
    buyLots: 0,
    buyUnits: 0n,
    sellLots: 0,
    sellUnits: 0n,
    reduceBuyLots: 0,
    reduceSellLots: 0,
    orders: new Map(),
    conditional: new Map(),
    figures: undefined,
    figuresMark: 0
  }
  account.holdings[market.index] = holding
  return holding
}

/** ticks × lots, exact. */
export const units = (ticks: number, lots: number): bigint => {
  const product = ticks * lots
  return Number.isSafeInteger(product) ? BigInt(product) : BigInt(ticks) * BigInt(lots)
}

/** Value of lots at a price, exact. */
export const valueOf = (market: MarketState, ticks: number, lots: number): Decimal.Scaled =>
  units(ticks, lots) * market.rules.unit
