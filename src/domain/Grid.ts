/**
 * Prices and quantities as whole counts of a step.
 *
 * Every price of a market is a multiple of its tick and every quantity a multiple of its step, so both fit a safe
 * integer (ticks, lots). Parsing and printing need a few string operations and no `bigint`. Values that do not fit
 * use the exact arithmetic of {@link Decimal}.
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
/** Text up to this length has no more digits than a float64 represents exactly. */
const EXACT_LENGTH = 15
const POINT = 46
const ZERO = 48
const NINE = 57
const NONE = -1

/** Largest number that is printed from the tables below. */
const UNITS_MAX = 2 ** 31 - 1
/** Fraction texts, by places and value: with the leading point, without trailing zeros. */
const FRACTIONS: ReadonlyArray<ReadonlyArray<string>> = [0, 1, 2, 3, 4].map((places) =>
  Array.from({ length: POWERS[places]! }, (_, value) =>
    value === 0 ? "" : `.${String(value).padStart(places, "0").replace(/0+$/u, "")}`
  )
)
/**
 * Cache of the texts of whole parts, indexed by their low bits. The prices of a market have few different whole
 * parts.
 */
const WHOLES = 4_096
const wholes = new Int32Array(WHOLES)
const wholeTexts: Array<string> = Array.from({ length: WHOLES }, () => "0")

const wholeText = (whole: number): string => {
  const place = whole & (WHOLES - 1)
  if (wholes[place] !== whole) {
    wholes[place] = whole
    wholeTexts[place] = String(whole)
  }
  return wholeTexts[place]!
}

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
 * Converts accepted, unsigned decimal text to a count of steps; `undefined` if it is not a whole count or exceeds the
 * safe integers.
 */
export const read = (grid: Grid, text: string): number | undefined => {
  const { length } = text
  let exact = length <= EXACT_LENGTH
  let digits = 0
  let point = NONE
  for (let i = 0; exact && i < length; i++) {
    const code = text.charCodeAt(i)
    if (code >= ZERO && code <= NINE) digits = digits * 10 + (code - ZERO)
    else if (code === POINT && point === NONE) point = i
    else exact = false
  }
  const places = point === NONE ? 0 : length - 1 - point
  if (exact && places <= grid.places && grid.places - places < POWERS.length) {
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
  const units = count * grid.factor
  const fractions = FRACTIONS[grid.places]
  if (fractions !== undefined && units >= 0 && units <= UNITS_MAX) {
    const scale = POWERS[grid.places]!
    const whole = Math.floor(units / scale)
    return wholeText(whole) + fractions[units - whole * scale]!
  }
  return Decimal.format(BigInt(count) * grid.step)
}

/** A count of steps as a scaled decimal. */
export const scaled = (grid: Grid, count: number): Decimal.Scaled => BigInt(count) * grid.step

const countOf = (grid: Grid, value: Decimal.Scaled): number | undefined => {
  const count = Number(value / grid.step)
  return Number.isSafeInteger(count) ? count : undefined
}

/** Number of whole steps, rounded down; for values that are not negative. */
export const floor = (grid: Grid, value: Decimal.Scaled): number => Number(Decimal.divide(value, grid.step, "down"))

/** Number of whole steps, rounded up. */
export const ceil = (grid: Grid, value: Decimal.Scaled): number => Number(Decimal.divide(value, grid.step, "up"))

/** The nearest whole step, halves up. */
export const round = (grid: Grid, value: Decimal.Scaled): number =>
  Number(Decimal.divide(2n * value + grid.step, 2n * grid.step, "down"))
