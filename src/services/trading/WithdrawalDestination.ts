/**
 * Validation of withdrawal destinations. Source: docs/contract/rest-account.md,
 * docs/contract/conventions.md#addresses.
 */
import { Effect } from "effect"
import { FULL_ADDRESS, parseFullAddress } from "../../domain/Address.ts"
import { parseParty, PARTY_ID } from "../../domain/Identity.ts"
import type { Caller } from "../../domain/User.ts"
import { invalidField, type DomainError } from "../DomainError.ts"

/** The canonical form of a destination on the user's rail. Short forms are refused. */
export const destinationOf = (caller: Caller, text: string): Effect.Effect<string, DomainError<"InvalidField">> => {
  const destination = caller.rail === "party" ? parseParty(text)?.id : parseFullAddress(text)
  if (destination !== undefined) return Effect.succeed(destination)
  const accepted = caller.rail === "party" ? PARTY_ID : `an address in full: ${FULL_ADDRESS}`
  return Effect.fail(invalidField("destination", text, accepted))
}
