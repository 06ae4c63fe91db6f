/**
 * Prices and quantities as whole counts of a step.
 *
 * Every price of a market is a multiple of its tick and every quantity a multiple of its step, so both fit a safe integer
 * (ticks, lots). Reading and printing cost a few string operations and no `bigint`; whatever does not fit falls back to
 * the exact arithmetic of {@link Decimal}.
 */
import * as Decimal from "./Decimal.ts"

export interface Grid {
  /** The step, scaled by 10^18. */
  readonly step: Decimal.Scaled
  /** The step is `factor` × 10^−`places`. */
  readonly places: number
  readonly factor: number
}

const POWERS: ReadonlyArray<number> = Array.from({ length: 16 }, (_, i) => 10 ** i)
/** Text up to this long holds digits that a float64 carries exactly. */
const EXACT_LENGTH = 15

/** The grid of a positive step. */
export const make = (step: Decimal.Scaled): Grid => {
  if (step <= 0n) throw new RangeError("a step is positive")
  let factor = step
  let places = Decimal.PLACES
  while (places > 0 && factor % 10n === 0n) {
    factor /= 10n
    places--
  }
  if (factor > BigInt(Number.MAX_SAFE_INTEGER)) throw new RangeError(`step too large: ${Decimal.format(step)}`)
  return { step, places, factor: Number(factor) }
}

/** The grid of a step given as decimal text. */
export const fromText = (step: string): Grid => make(Decimal.parse(step))

/**
 * Counts the steps in accepted, unsigned decimal text; `undefined` where it is not a whole number of them or leaves the
 * safe integers.
 */
export const read = (grid: Grid, text: string): number | undefined => {
  const point = text.indexOf(".")
  const places = point === -1 ? 0 : text.length - point - 1
  if (text.length <= EXACT_LENGTH && places <= grid.places && grid.places - places < POWERS.length) {
    const digits = point === -1 ? Number(text) : Number(text.slice(0, point) + text.slice(point + 1))
    const units = digits * POWERS[grid.places - places]!
    if (Number.isSafeInteger(units)) {
      const count = units / grid.factor
      return Number.isInteger(count) ? count : undefined
    }
  }
  const value = Decimal.parse(text)
  return value % grid.step === 0n ? countOf(grid, value) : undefined
}

/** Prints a count of steps as a canonical decimal. */
export const text = (grid: Grid, count: number): Decimal.Decimal => {
  let units = count * grid.factor
  if (!Number.isSafeInteger(units)) return Decimal.format(BigInt(count) * grid.step)
  if (units === 0) return "0"
  let places = grid.places
  while (places > 0 && units % 10 === 0) {
    units /= 10
    places--
  }
  if (places === 0) return String(units)
  const sign = units < 0 ? "-" : ""
  const digits = String(Math.abs(units)).padStart(places + 1, "0")
  const point = digits.length - places
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
}

/** A count of steps as a scaled decimal. */
export const scaled = (grid: Grid, count: number): Decimal.Scaled => BigInt(count) * grid.step

const countOf = (grid: Grid, value: Decimal.Scaled): number | undefined => {
  const count = Number(value / grid.step)
  return Number.isSafeInteger(count) ? count : undefined
}

/** How many whole steps fit, rounded down; for values that are not negative. */
export const floor = (grid: Grid, value: Decimal.Scaled): number => Number(Decimal.divide(value, grid.step, "down"))

/** The fewest whole steps that reach the value. */
export const ceil = (grid: Grid, value: Decimal.Scaled): number => Number(Decimal.divide(value, grid.step, "up"))

/** The nearest whole step, halves up. */
export const round = (grid: Grid, value: Decimal.Scaled): number =>
  Number(Decimal.divide(2n * value + grid.step, 2n * grid.step, "down"))
