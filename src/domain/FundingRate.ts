/** The funding rate that follows from the premium. Source: docs/contract/exchange.md#funding. */
import * as Decimal from "./Decimal.ts"

/** Funding rate of an interval without a premium. */
const INTEREST_RATE = Decimal.parse("0.0001")
/** Largest distance by which the interest moves the rate from the premium. */
const PULL_MAX = Decimal.parse("0.0005")
/** A rate has 8 places. */
const RATE_STEP = 10n ** 10n

const clamp = (value: Decimal.Scaled, limit: Decimal.Scaled): Decimal.Scaled =>
  Decimal.max(-limit, Decimal.min(limit, value))

/** F = clamp(P̄ + clamp(interest − P̄, ±0.0005), ±cap), truncated to 8 places. */
export const rateOf = (average: Decimal.Scaled, cap: Decimal.Scaled): Decimal.Scaled => {
  const rate = clamp(average + clamp(INTEREST_RATE - average, PULL_MAX), cap)
  return (rate / RATE_STEP) * RATE_STEP
}
