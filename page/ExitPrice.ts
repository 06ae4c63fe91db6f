/**
 * Take-profit and stop-loss as a trader gives them: a price, a return on the margin in percent, or a profit and loss in the quote
 * asset. Fees are left out. Values are decimals scaled by 10^18.
 */
import * as Decimal from "../src/domain/Decimal.ts"
import type { Scaled } from "../src/domain/Decimal.ts"
import type { Side } from "../src/domain/Enumerations.ts"

/** How an exit is given. ROE is the return on the initial margin, in percent. */
export const exitUnits = ["Price", "ROE %", "PnL"] as const
export type ExitUnit = (typeof exitUnits)[number]
export type Leg = "take_profit" | "stop_loss"

/** What the exit closes: side, size and entry of the position. */
export interface ExitBasis {
  readonly side: Side
  readonly entry: Scaled
  readonly qty: Scaled
  readonly leverage: Scaled
  readonly tick: Scaled
}

const HUNDRED = 100n * Decimal.ONE

/** Distance of the exit from the entry, in the quote asset, for an amount of ROE or PnL. */
const distanceOf = (amount: Scaled, unit: "ROE %" | "PnL", { entry, leverage, qty }: ExitBasis): Scaled =>
  unit === "PnL"
    ? Decimal.div(amount, qty, "up")
    : Decimal.divide(entry * amount * Decimal.ONE, leverage * HUNDRED, "up")

/**
 * The trigger price of an amount, to the tick: a profit is at least the amount, a loss at most. The sign of the amount is the leg's,
 * so a loss may be given as 5 or as -5.
 */
export const exitPrice = (leg: Leg, amount: Scaled, unit: "ROE %" | "PnL", basis: ExitBasis): Scaled => {
  const distance = distanceOf(Decimal.abs(amount), unit, basis)
  const isAbove = (basis.side === "Buy") === (leg === "take_profit")
  return Decimal.toStep(
    isAbove ? basis.entry + distance : basis.entry - distance,
    basis.tick,
    basis.side === "Buy" ? "up" : "down"
  )
}

/** Profit or loss of an exit at its trigger price. */
export const pnlAt = (price: Scaled, { entry, qty, side }: ExitBasis): Scaled =>
  Decimal.mul(side === "Buy" ? price - entry : entry - price, qty, "down")

/** Return on the initial margin of an exit at its trigger price: 0.1 is 10 %. */
export const roeAt = (price: Scaled, { entry, leverage, side }: ExitBasis): Scaled =>
  entry === 0n ? 0n : Decimal.divide((side === "Buy" ? price - entry : entry - price) * leverage, entry, "down")

/** Whether a trigger price is on the wrong side of the entry. */
export const isOnWrongSide = (leg: Leg, price: Scaled, { entry, side }: ExitBasis): boolean =>
  (side === "Buy") === (leg === "take_profit") ? price <= entry : price >= entry
