/**
 * A wallet in the path of an admin endpoint. Source: docs/contract/rest-access.md#whitelist,
 * docs/contract/conventions.md#addresses.
 */
import { Effect } from "effect"
import { FULL_ADDRESS, parseAddress, parseFullAddress, rootOfParty } from "../../domain/Address.ts"
import { parseParty, PARTY_ID } from "../../domain/Identity.ts"
import { invalidField, type DomainError } from "../../services/DomainError.ts"

const reader = (accepted: string, read: (text: string) => string | undefined) => {
  return (text: string): Effect.Effect<string, DomainError<"InvalidField">> => {
    const root = text.includes("::") ? (parseParty(text) === undefined ? undefined : rootOfParty(text)) : read(text)
    return root === undefined ? Effect.fail(invalidField("root_address", text, accepted)) : Effect.succeed(root)
  }
}

/** Root address of a wallet, from an address, canonical or short, or from a party id. */
export const rootOf = reader(`an address of 1 to 64 hex digits, with or without 0x, or ${PARTY_ID}`, parseAddress)

/** Root address of a wallet, from an address in full or from a party id. */
export const fullRootOf = reader(`an address in full: ${FULL_ADDRESS}, or ${PARTY_ID}`, parseFullAddress)
