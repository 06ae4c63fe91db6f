/**
 * Decimals as exact integers: a `bigint` scaled by 10^18, never a float. Products are exact at 10^36 and rounded
 * once, in the named direction.
 *
 * The module is separate from the schemas of Decimal.ts, so that a small bundle can include it without them.
 * Source: docs/contract/conventions.md#decimals.
 */

/** A decimal scaled by 10^18. */
export type Scaled = bigint

/** Decimal places that a scaled integer carries. */
export const PLACES = 18
/** One, scaled. */
export const ONE: Scaled = 10n ** 18n

/** Rounding of a quotient or product that does not fit 18 places. */
export type Rounding = "toward-zero" | "up" | "down"

const POWERS: ReadonlyArray<bigint> = Array.from({ length: PLACES + 1 }, (_, i) => 10n ** BigInt(i))

/** Reads decimal text that a schema has accepted. Other text throws: it is a bug of the caller. */
export const parse = (text: string): Scaled => {
  const point = text.indexOf(".")
  if (point === -1) return BigInt(text) * ONE
  const places = text.length - point - 1
  if (places < 1 || places > PLACES) throw new RangeError(`not a decimal: ${text}`)
  return BigInt(text.slice(0, point) + text.slice(point + 1)) * POWERS[PLACES - places]!
}

/**
 * Prints the canonical form: no trailing zeros, no exponent, never `-0`. Source:
 * docs/contract/conventions.md#decimals.
 */
export const format = (value: Scaled): string => {
  if (value === 0n) return "0"
  const negative = value < 0n
  const digits = (negative ? -value : value).toString().padStart(PLACES + 1, "0")
  const point = digits.length - PLACES
  let end = digits.length
  while (end > point && digits.charCodeAt(end - 1) === 48) end--
  const whole = digits.slice(0, point)
  const text = end === point ? whole : `${whole}.${digits.slice(point, end)}`
  return negative ? `-${text}` : text
}

/** Converts accepted decimal text to its canonical form: `60000.0` becomes `60000`. */
export const canonical = (text: string): string => format(parse(text))

/** Divides two integers with the named rounding; `divisor` must not be 0. */
export const divide = (dividend: bigint, divisor: bigint, rounding: Rounding): bigint => {
  const quotient = dividend / divisor
  const exact = quotient * divisor === dividend
  if (exact) return quotient
  const negative = dividend < 0n !== divisor < 0n
  switch (rounding) {
    case "toward-zero":
      return quotient
    case "up":
      return negative ? quotient : quotient + 1n
    case "down":
      return negative ? quotient - 1n : quotient
  }
}

/** a × b, rounded once. */
export const mul = (a: Scaled, b: Scaled, rounding: Rounding): Scaled => divide(a * b, ONE, rounding)

/** a ÷ b, rounded once. */
export const div = (a: Scaled, b: Scaled, rounding: Rounding): Scaled => divide(a * ONE, b, rounding)

/** a × b ÷ c as one exact fraction, rounded once; all three scaled. */
export const mulDiv = (a: Scaled, b: Scaled, c: Scaled, rounding: Rounding): Scaled => divide(a * b, c, rounding)

/** Whether `value` is a whole multiple of `step`. */
export const isMultipleOf = (value: Scaled, step: Scaled): boolean => value % step === 0n

/** Rounds to a multiple of `step`. */
export const toStep = (value: Scaled, step: Scaled, rounding: Rounding): Scaled => divide(value, step, rounding) * step

export const abs = (value: Scaled): Scaled => (value < 0n ? -value : value)
export const min = (a: Scaled, b: Scaled): Scaled => (a < b ? a : b)
export const max = (a: Scaled, b: Scaled): Scaled => (a > b ? a : b)
export const compare = (a: Scaled, b: Scaled): -1 | 0 | 1 => (a < b ? -1 : a > b ? 1 : 0)
