/**
 * Port: the access codes of a closed launch, by the hash of the code.
 *
 * Guarantee: a redemption uses the code, whitelists the wallet and stores the benefits of the code in one
 * transaction. Over all gateways that share the store, a code is used at most `max_uses` times and a wallet is
 * activated at most once. A failure changes nothing.
 * Source: docs/contract/rest-access.md#access-codes, docs/contract/authentication.md#activation.
 */
import { Context, type Effect, Schema } from "effect"
import type { AccessCode } from "../../domain/AccessCode.ts"
import type { AccountsUnavailable, Activation } from "./Accounts.ts"

/** A code with this hash exists, revoked or not. `index`: the first such code of the batch. */
export class CodeExists extends Schema.TaggedError<CodeExists>()("CodeExists", { index: Schema.Int }) {}
/** The wallet is whitelisted or activated. */
export class WalletActivated extends Schema.TaggedError<WalletActivated>()("WalletActivated", {}) {}
/** The code cannot be redeemed. */
export class CodeUnusable extends Schema.TaggedError<CodeUnusable>()("CodeUnusable", {
  why: Schema.Literals(["unknown", "revoked", "expired", "used"])
}) {}

/** Sort key of a code, newest first. */
export interface CodeKey {
  readonly created_time: number
  readonly code_id: string
}

type Result<A, E = never> = Effect.Effect<A, E | AccountsUnavailable>

export class AccessCodes extends Context.Service<
  AccessCodes,
  {
    /** Adds all of them or none. */
    readonly create: (codes: ReadonlyArray<AccessCode>) => Result<void, CodeExists>
    /** At most `limit` codes after a key, newest first; `label`: exact match. */
    readonly list: (query: {
      readonly label: string | undefined
      readonly after: CodeKey | undefined
      readonly limit: number
    }) => Result<ReadonlyArray<AccessCode>>
    /** The code; `undefined` if it does not exist. */
    readonly get: (code_id: string) => Result<AccessCode | undefined>
    /** Revokes the code; `false` if it does not exist. */
    readonly revoke: (code_id: string) => Result<boolean>
    /** Activates a wallet with a code. Checks the wallet first, then the code: unknown, revoked, expired, used. */
    readonly redeem: (
      code_hash: string,
      root_address: string,
      now_ms: number
    ) => Result<Activation, WalletActivated | CodeUnusable>
  }
>()("gateway/services/AccessCodes") {}

/** Why a code that cannot be redeemed cannot. */
export const faultOf = (code: AccessCode | undefined, now_ms: number): typeof CodeUnusable.Type.why => {
  if (code === undefined) return "unknown"
  if (code.revoked) return "revoked"
  if (code.expires_time !== undefined && code.expires_time <= now_ms) return "expired"
  return "used"
}
