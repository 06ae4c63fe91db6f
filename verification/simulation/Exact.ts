/** Decimal text as integers, for checks that do not lean on the code they check. */
export const ONE = 10n ** 18n

/** Decimal text, scaled by 10^18. */
export const scaled = (text: string): bigint => {
  const negative = text.startsWith("-")
  const [whole, fraction = ""] = (negative ? text.slice(1) : text).split(".")
  const value = BigInt(whole!) * ONE + BigInt(fraction.padEnd(18, "0"))
  return negative ? -value : value
}

export const ceilDiv = (a: bigint, b: bigint): bigint => (a > 0n ? (a + b - 1n) / b : a / b)

/** Something that must hold does not. */
export class Violation extends Error {
  override readonly name = "Violation"
}

export const ensure = (holds: boolean, what: () => string): void => {
  if (!holds) throw new Violation(what())
}
