/** Times in the API: Unix milliseconds, as a number or as digits. Source: docs/contract/conventions.md#times. */
import { Schema } from "effect"
import { described } from "./Field.ts"

/** Unix milliseconds as a JSON number. */
export const Millis = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({
  identifier: "Millis",
  ...described("Unix time in milliseconds", "ms", 1767225600000)
})
export type Millis = number

/** Unix milliseconds as a string of digits, as order and execution lists carry them. */
export const DigitMillis = Schema.String.check(
  Schema.isPattern(/^[0-9]{1,16}$/u, { message: "expected Unix time in milliseconds, as digits" })
).annotate({
  identifier: "DigitMillis",
  ...described("Unix time in milliseconds, as a string of digits", "ms", "1767225600000")
})

export const SECOND_MS = 1_000
export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 86_400_000

/** Validity of a token. Source: docs/contract/authentication.md#tokens. */
export const TOKEN_VALIDITY_MS = 7 * DAY_MS

/** Tolerated difference between the clocks of two gateways, and tolerated step back of one clock, in ms. */
export const CLOCKS_APART_MS = 60_000

/** ISO 8601 with milliseconds, as the funding endpoints return it beside the number. */
export const iso = (ms: Millis): string => new Date(ms).toISOString()
