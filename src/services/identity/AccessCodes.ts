/**
 * Port: the access codes of a closed launch, by the hash of the code.
 *
 * Guarantee: a redemption uses the code, whitelists the wallet and stores what the code gives in one transaction, over all
 * gateways that share the store: a code is used at most `max_uses` times, a wallet is activated at most once, and
 * whatever fails leaves nothing behind. Source: docs/contract/rest-access.md#access-codes,
 * docs/contract/authentication.md#activation.
 */
import { Context, type Effect, Schema } from "effect"
import type { AccessCode } from "../../domain/AccessCode.ts"
import type { AccountsUnavailable, Activation } from "./Accounts.ts"

/** A code with this hash is there already, revoked or not. `index`: the first such code of the batch. */
export class CodeExists extends Schema.TaggedError<CodeExists>()("CodeExists", { index: Schema.Int }) {}
/** The wallet is whitelisted or activated. */
export class WalletActivated extends Schema.TaggedError<WalletActivated>()("WalletActivated", {}) {}
/** The code gives nothing. */
export class CodeUnusable extends Schema.TaggedError<CodeUnusable>()("CodeUnusable", {
  why: Schema.Literals(["unknown", "revoked", "expired", "used"])
}) {}

/** Where a code stands in the list, newest first. */
export interface CodeKey {
  readonly created_time: number
  readonly code_id: string
}
export const codeKeyOf = ({ created_time, code_id }: AccessCode): CodeKey => ({ created_time, code_id })

type Answer<A, E = never> = Effect.Effect<A, E | AccountsUnavailable>

export class AccessCodes extends Context.Service<
  AccessCodes,
  {
    /** Adds all of them or none. */
    readonly create: (codes: ReadonlyArray<AccessCode>) => Answer<void, CodeExists>
    /** At most `limit` codes after a key, newest first; `label`: those with exactly this one. */
    readonly list: (query: {
      readonly label: string | undefined
      readonly after: CodeKey | undefined
      readonly limit: number
    }) => Answer<ReadonlyArray<AccessCode>>
    /** Refuses the code from now on; `false` where there is none. */
    readonly revoke: (code_id: string) => Answer<boolean>
    /** Activates a wallet with a code. The wallet is looked at first, then the code: unknown, revoked, expired, used. */
    readonly redeem: (
      code_hash: string,
      root_address: string,
      now_ms: number
    ) => Answer<Activation, WalletActivated | CodeUnusable>
  }
>()("gateway/services/AccessCodes") {}

/** Why a code gives nothing now; `undefined`: it does. */
export const faultOf = (code: AccessCode | undefined, now_ms: number): typeof CodeUnusable.Type.why | undefined => {
  if (code === undefined) return "unknown"
  if (code.revoked) return "revoked"
  if (code.expires_time !== undefined && code.expires_time <= now_ms) return "expired"
  return code.uses >= code.max_uses ? "used" : undefined
}
