/** Decimals of the boundary: strings in messages, integers of 10^-18 in the suite. Source: docs/contract/conventions.md#decimals. */

const PLACES = 18
const ONE = 10n ** BigInt(PLACES)
const CANONICAL = /^(?!-0$)-?(?:0|[1-9][0-9]*)(?:\.[0-9]{0,17}[1-9])?$/u

/** A number times 10^18. */
export type Exact = bigint

/** Whether a string is canonical: no trailing zeros, no `-0`, at most 18 places. */
export const isCanonical = (text: string): boolean => CANONICAL.test(text)

/** Parses a decimal string, canonical or not; `undefined` for other text. */
export const parse = (text: string): Exact | undefined => {
  const match = /^(-?)([0-9]+)(?:\.([0-9]{1,18}))?$/u.exec(text)
  if (match === null) return undefined
  const [, sign, whole, places = ""] = match
  const value = BigInt(`${whole}${places.padEnd(PLACES, "0")}`)
  return sign === "-" ? -value : value
}

export const format = (value: Exact): string => {
  const digits = (value < 0n ? -value : value).toString().padStart(PLACES + 1, "0")
  const places = digits.slice(-PLACES).replace(/0+$/u, "")
  return `${value < 0n ? "-" : ""}${digits.slice(0, -PLACES)}${places === "" ? "" : `.${places}`}`
}

/** A product, rounded to 18 places toward plus infinity, against the payer. */
export const multiplyUp = (a: Exact, b: Exact): Exact => {
  const product = a * b
  const floor = product / ONE
  return product % ONE > 0n ? floor + 1n : floor
}

/** The least multiple of `step` that is not below `value`. Both are positive. */
export const ceilTo = (value: Exact, step: Exact): Exact => ((value + step - 1n) / step) * step

/** The greatest multiple of `step` that is not above `value`. Both are positive. */
export const floorTo = (value: Exact, step: Exact): Exact => (value / step) * step

/** The whole quotient of two values, rounded up. */
export const divideUp = (a: Exact, b: Exact): Exact => (a * ONE + b - 1n) / b
