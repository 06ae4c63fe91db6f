/** Where a withdrawal may go to. Source: docs/contract/rest-account.md, docs/contract/conventions.md#addresses. */
import { Effect } from "effect"
import { FULL_ADDRESS, parseFullAddress } from "../../domain/Address.ts"
import { parseParty, PARTY_ID } from "../../domain/Identity.ts"
import type { Caller } from "../../domain/User.ts"
import { invalidField, type DomainError } from "../DomainError.ts"

/** A destination of the user's own rail in its canonical form. Short forms are refused. */
export const destinationOf = (caller: Caller, text: string): Effect.Effect<string, DomainError> => {
  const destination = caller.rail === "party" ? parseParty(text)?.id : parseFullAddress(text)
  if (destination !== undefined) return Effect.succeed(destination)
  const accepted = caller.rail === "party" ? PARTY_ID : `an address in full: ${FULL_ADDRESS}`
  return Effect.fail(invalidField("destination", text, accepted))
}
