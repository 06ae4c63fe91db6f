/**
 * Port: strict Ed25519 verification.
 *
 * Guarantee: the result is the same on every platform. `S` is below the group order, `A` and `R` are canonical,
 * neither has small order, and the equation holds without cofactor. Anything else, including a wrong length, returns
 * `false` and never fails.
 * Source: docs/contract/authentication.md#signatures.
 */
import { Context, type Effect } from "effect"

export class Signatures extends Context.Service<
  Signatures,
  {
    /** Verifies, on another thread if the load requires it. */
    readonly verify: (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => Effect.Effect<boolean>
    /** Verifies synchronously; about 0.1 ms. */
    readonly verifySync: (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean
  }
>()("gateway/services/Signatures") {}
