/**
 * Decimal text and its exact integer form.
 *
 * On the wire a price, quantity or amount is text with at most 20 integer digits and 18 decimal places. Internally it
 * is a `bigint` scaled by 10^18; Scaled.ts has its arithmetic.
 *
 * Source: docs/contract/conventions.md#decimals.
 */
import { Schema } from "effect"

export * from "./Scaled.ts"

/** Signed decimal text in the accepted form. Source: docs/contract/conventions.md#decimals. */
export const SignedDecimal = Schema.String.check(
  Schema.isPattern(/^(?!-0(?:\.0+)?$)-?(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{1,18})?$/u, {
    message: "expected a decimal string with at most 20 integer digits and 18 decimal places"
  })
).annotate({ identifier: "SignedDecimal", description: "Decimal number as text, may be negative", examples: ["-12.5"] })

/** Decimal text that is not negative. Source: docs/contract/conventions.md#decimals. */
export const Decimal = Schema.String.check(
  Schema.isPattern(/^(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{1,18})?$/u, {
    message: "expected a decimal string with at most 20 integer digits and 18 decimal places"
  })
).annotate({ identifier: "Decimal", description: "Decimal number as text", examples: ["60000.1"] })
export type Decimal = string
