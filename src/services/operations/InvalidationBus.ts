/**
 * Port: tells the other gateways of a fleet that a credential has ended, so that they need not find out by asking.
 *
 * Guarantee: what is published reaches every gateway that listens within a second, or that gateway is told that it may have
 * missed something: at once when it stops hearing, every second for as long as it does not hear, and when it hears again.
 * Nobody's own notices come back. What a notice tells is on record before it is published: the database is the truth, and
 * whoever missed something reads it there. A gateway that is alone has nobody to tell, which is the default.
 * Source: docs/contract/boundary.md#ownership, docs/contract/configuration.md#variables.
 */
import { Context, Effect, type Scope } from "effect"

export type Invalidation =
  /** The key was changed. `ended`: whoever uses it must authenticate anew. */
  | {
      readonly type: "api_key"
      readonly public_key: string
      readonly api_key_id: string
      readonly ended: boolean
    }
  | { readonly type: "token"; readonly jti: string; readonly expires_at_ms: number }
  | { readonly type: "ban"; readonly user_id: string }

/** Notices may have been lost: read again what they could have been about. */
export interface InvalidationsMissed {
  readonly type: "missed"
}

export interface InvalidationChannel {
  readonly publish: (notice: Invalidation) => Effect.Effect<void>
  /** Handles one notice after the other for as long as the scope lives; those that come too fast become one `missed`. */
  readonly listen: (
    handle: (notice: Invalidation | InvalidationsMissed) => Effect.Effect<void>
  ) => Effect.Effect<void, never, Scope.Scope>
}

export const InvalidationBus = Context.Reference<InvalidationChannel>("gateway/services/Notices", {
  defaultValue: () => ({ publish: () => Effect.void, listen: () => Effect.void })
})
