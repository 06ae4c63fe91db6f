/**
 * Port: random identifiers, and derived ids for commands that must not run twice.
 *
 * Guarantee: ids are unique over all gateways and unpredictable.
 */
import { Context, type Effect } from "effect"
import { hash } from "node:crypto"
import { NAMESPACE } from "../../domain/Address.ts"

export class Ids extends Context.Service<
  Ids,
  {
    /** A random UUID, lower case. */
    readonly uuid: Effect.Effect<string>
  }
>()("gateway/services/Ids") {}

const namespace = Buffer.from(NAMESPACE.replaceAll("-", ""), "hex")

/**
 * Command id derived from kind, owner and id, so a repeated action sends the same command. A UUID version 5, as in
 * `domain/Address.ts`, computed with the platform's SHA-1 for speed: every order needs one.
 * Source: docs/contract/boundary.md#ground-rules.
 */
export const commandIdOf = (kind: string, owner: string, id: string | number): string => {
  const hex = hash("sha1", Buffer.concat([namespace, Buffer.from(`${kind}:${owner}:${id}`)]))
  const variant = ((Number.parseInt(hex[16]!, 16) & 0x3) | 0x8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
