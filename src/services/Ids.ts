/**
 * Port: identifiers that nobody can guess or has used, and the derived ones of commands that must not run twice.
 *
 * Guarantee: no two ids are equal, on all gateways; an id tells nothing of the next one.
 */
import { Context, type Effect } from "effect"
import { NAMESPACE, uuidV5 } from "../domain/Address.ts"

export class Ids extends Context.Service<
  Ids,
  {
    /** A random UUID, lower case. */
    readonly uuid: Effect.Effect<string>
  }
>()("gateway/services/Ids") {}

/**
 * Command id over kind, owner and id: whoever repeats the same act sends the same command.
 * Source: contract 8, ground rules.
 */
export const commandIdOf = (kind: string, owner: string, id: string | number): string =>
  uuidV5(NAMESPACE, `${kind}:${owner}:${id}`)
