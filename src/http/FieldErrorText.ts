/** The text of a field that a rule behind the schemas refused. Source: docs/contract/conventions.md#errors. */
import { type Details, type Reason, textOf } from "../domain/Reason.ts"
import { fieldText } from "../domain/InputText.ts"
import { DECIMAL } from "../domain/SchemaErrorText.ts"

/** What a field accepts that is refused for this reason, where the reason alone says it. */
const BY_REASON: { readonly [R in Reason]?: string } = {
  AccessCodeNotFound: "the id of an access code",
  AlreadyClaimed: "a reward that is not claimed yet",
  ApiKeyNotFound: "the id of an own API key",
  CodeExists: "a code that does not exist yet",
  CompetitionNotFound: "the id of a competition",
  DestinationNotFound: "a listed withdrawal address",
  DestinationNotListed: "a listed withdrawal address, from its effective_time on",
  DuplicateOrderLinkId: "a value that was not used before",
  DuplicateRequestId: "an id that was not used before with other content",
  InvalidCursor: "next_page_cursor of the page before, with the same filters",
  InvalidDecimal: DECIMAL,
  InvalidNonce: "8 to 64 characters of A-Z, a-z, 0-9, - and _",
  InvalidPublicKey: "an Ed25519 public key: 32 bytes as hex, 0x-hex, base64 or base64url",
  LeverageUnchanged: "another value than the current leverage",
  OrderNotFound: "an order of this sub-account and market",
  PositionNotFound: "a market in which the sub-account has a position",
  ReferralCodeNotFound: "the referral code of a user",
  RewardNotFound: "the id of an own reward",
  SelfReferral: "the referral code of a user whom you did not refer",
  SlugTaken: "a slug that no competition has",
  SubAccountNotFound: "the address of an own sub-account",
  SymbolNotFound: "the symbol of a market, such as BTC-USDC",
  TooManyDecimals: DECIMAL
}

/** Fields whose value a reason refuses, for refusals that name none: a backend need not know the fields of the API. */
const FIELDS: { readonly [R in Reason]?: ReadonlyArray<string> } = {
  AccessCodeNotFound: ["code_id"],
  ApiKeyNotFound: ["api_key_id"],
  CompetitionNotFound: ["competition_id"],
  DuplicateOrderLinkId: ["order_link_id"],
  LeverageUnchanged: ["leverage"],
  OrderNotFound: ["order_id", "order_link_id"],
  OrderVersionMismatch: ["order_iv"],
  PositionNotFound: ["symbol"],
  RewardNotFound: ["reward_id"],
  SubAccountNotFound: ["sub_account_address"]
}

/** The field that a refusal is about: the one that it names, else the first of its reason that the request has. */
export const fieldOf = (reason: Reason, { field }: Details, valueOf: (field: string) => unknown): string | undefined =>
  typeof field === "string" ? field : FIELDS[reason]?.find((name) => valueOf(name) !== undefined)

const acceptedBy = (reason: Reason, facts: Details, message: string): string | undefined => {
  const said = /^expected (.+)$/u.exec(message)?.[1]
  if (said !== undefined) return said
  const { max, min, nearest, step, version } = facts
  switch (reason) {
    case "NotMultipleOfStep":
    case "NotMultipleOfTick":
      if (step === undefined) return undefined
      return `a multiple of ${step}${Array.isArray(nearest) ? `; nearest: ${nearest.join(", ")}` : ""}`
    case "OrderVersionMismatch":
      return version === undefined ? undefined : `${version}, the order's version`
    case "OutOfRange":
      return min === undefined || max === undefined ? undefined : `a value from ${min} to ${max}`
    default:
      return BY_REASON[reason]
  }
}

/** `message` is the text of the rule, if it has one; `valueOf` finds what was given. */
export const refusedField = (
  reason: Reason,
  field: string,
  facts: Details,
  message: string,
  valueOf: (field: string) => unknown
): string => {
  // the rule has named the field and the given value itself
  if (message.startsWith(`${field}: expected `)) return message
  const accepted = acceptedBy(reason, facts, message)
  const value = valueOf(field)
  if (accepted !== undefined) return fieldText(field, accepted, value)
  const bounds = (["min", "max"] as const).flatMap((name) =>
    facts[name] === undefined ? [] : `${name} ${facts[name]}`
  )
  return `${fieldText(field, "another value", value)}: ${[message === "" ? textOf(reason) : message, ...bounds].join("; ")}`
}
