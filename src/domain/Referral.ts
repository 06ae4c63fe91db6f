/** Referrals and their codes: 8 characters of Crockford base32. Source: docs/contract/rest-user.md#referral. */
import { sha256 } from "@noble/hashes/sha2.js"
import { utf8ToBytes } from "@noble/hashes/utils.js"
import { Schema } from "effect"
import { field, measure } from "./Field.ts"
import { crockford } from "./Crockford.ts"

export const Referral = Schema.Struct({
  downline_count: measure(Schema.Int, "Number of users with this referrer", "count"),
  referral_code: field(Schema.String, "The caller's own code", "7Q2MX9KD"),
  referrer_code: field(Schema.String, '"" without a referrer'),
  referrer_user_id: field(Schema.String, '"" without a referrer')
}).annotate({ identifier: "Referral" })
export type Referral = typeof Referral.Type

/**
 * The code of a user: the first 40 bits of a hash. The same wallet has the same code after any restore. `attempt` is
 * incremented if another user has the code.
 */
export const referralCodeOf = (user_id: string, attempt: number): string =>
  crockford(sha256(utf8ToBytes(`referral:${user_id}:${attempt}`)), 8)

/** Parses a code; surrounding blanks and lower case are accepted. `undefined` if the text is malformed. */
export const parseReferralCode = (text: string): string | undefined => {
  const code = text.trim().toUpperCase()
  return /^[0-9A-HJKMNP-TV-Z]{8}$/u.test(code) ? code : undefined
}
