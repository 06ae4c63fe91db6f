/**
 * Port: strict Ed25519 verification.
 *
 * Guarantee: one verdict on every platform. `S` is below the group order, `A` and `R` are canonical, neither is of small
 * order, and the equation holds without cofactor; anything else, wrong lengths too, is `false` and never a failure.
 * Source: docs/contract/authentication.md#signatures.
 */
import { Context, type Effect } from "effect"

export class Signatures extends Context.Service<
  Signatures,
  {
    /** Verifies off the calling thread where the load asks for it. */
    readonly verify: (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => Effect.Effect<boolean>
    /** Verifies at once; about 0.1 ms. */
    readonly verifySync: (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean
  }
>()("gateway/services/Signatures") {}
