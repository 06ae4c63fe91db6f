/**
 * Port: the keys of the gateway: one that signs tokens, older ones that still verify them, and a key for cursors.
 *
 * Guarantee: the keys are the same after every restart. Private keys do not leave this port; it exposes only
 * signatures and {@link cursorKey}.
 * Source: docs/contract/authentication.md#tokens, docs/contract/configuration.md#variables.
 */
import { Context, type Redacted } from "effect"

export interface VerifyKey {
  /** RFC 7638 thumbprint of the key. */
  readonly kid: string
  readonly publicKey: Uint8Array
}

export class SigningKeys extends Context.Service<
  SigningKeys,
  {
    readonly current: VerifyKey
    /** Ed25519 signature of the current key. */
    readonly sign: (message: Uint8Array) => Uint8Array
    /** The current key and the older ones. */
    readonly ring: ReadonlyArray<VerifyKey>
    /** 32 bytes for the HMAC of cursors, derived from the current key. */
    readonly cursorKey: Redacted.Redacted<Uint8Array>
  }
>()("gateway/services/SigningKeys") {}
