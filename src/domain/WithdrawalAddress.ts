/**
 * Withdrawal destinations of a user. Source: docs/contract/rest-account.md, docs/contract/conventions.md#addresses.
 */
import { Schema } from "effect"
import { field } from "./Field.ts"
import { Millis } from "./Time.ts"

export const WithdrawalAddress = Schema.Struct({
  destination: field(Schema.String, "Address or party id, by the rail of the user"),
  label: field(Schema.String, "Your label"),
  created_time: field(Millis, "Creation time"),
  effective_time: field(Millis, "Withdrawals to the destination are accepted from this time on")
}).annotate({ identifier: "WithdrawalAddress" })
export type WithdrawalAddress = typeof WithdrawalAddress.Type

/** The withdrawal rules of a user. */
export interface WithdrawalRules {
  /** Whether withdrawals go to listed destinations only. */
  readonly only_listed: boolean
  /** When `only_listed` ends, Unix ms; `undefined`: no end is scheduled. */
  readonly loosens_time: number | undefined
  readonly list: ReadonlyArray<WithdrawalAddress>
}

/** The default rules. */
export const openRules: WithdrawalRules = { only_listed: false, loosens_time: undefined, list: [] }

export const isRestricted = ({ loosens_time, only_listed }: WithdrawalRules, now: number): boolean =>
  only_listed && (loosens_time === undefined || now < loosens_time)

/**
 * Whether a withdrawal to a destination is allowed; `effective_time` of a listed destination that is not effective
 * yet.
 */
export const verdictOf = (
  rules: WithdrawalRules,
  destination: string,
  now: number
): { readonly allowed: boolean; readonly effective_time?: number } => {
  if (!isRestricted(rules, now)) return { allowed: true }
  const listed = rules.list.find((address) => address.destination === destination)
  if (listed === undefined) return { allowed: false }
  return { allowed: listed.effective_time <= now, effective_time: listed.effective_time }
}
