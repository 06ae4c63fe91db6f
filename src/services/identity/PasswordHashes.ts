/** Port: scrypt (RFC 7914), off the calling thread. */
import { Context, type Effect } from "effect"
import type { PasswordHash } from "../../domain/Administrator.ts"

export class PasswordHashes extends Context.Service<
  PasswordHashes,
  {
    /** Whether the password matches the hash, compared in constant time. */
    readonly verify: (password: string, hash: PasswordHash) => Effect.Effect<boolean>
  }
>()("gateway/services/PasswordHashes") {}
