/** A wallet as a path of the administrator names it. Source: contract 3.2. */
import { Effect } from "effect"
import { parseAddress, rootOfParty } from "../../domain/Address.ts"
import { parseParty } from "../../domain/Identity.ts"
import { Refused } from "../../services/Refused.ts"

/** Root address of a wallet named by address, canonical or short, or by party id. */
export const rootOf = (text: string): Effect.Effect<string, Refused> => {
  const root = text.includes("::")
    ? parseParty(text) === undefined
      ? undefined
      : rootOfParty(text)
    : parseAddress(text)
  return root === undefined ? Effect.fail(new Refused("InvalidField", { field: "root_address" })) : Effect.succeed(root)
}
