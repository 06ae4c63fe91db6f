/**
 * Port: notifies the other gateways of a fleet that a credential has ended, so that they need not poll.
 *
 * Guarantee: a published invalidation reaches every listening gateway within a second; otherwise that gateway
 * receives `missed`: at once when its connection is lost, every second while it is disconnected, and when it
 * reconnects. A gateway does not receive its own invalidations. The database is written before an invalidation is
 * published, so a gateway that missed one reads the database. The default adapter is for a single gateway and sends
 * nothing.
 * Source: docs/contract/boundary.md#ownership, docs/contract/configuration.md#variables.
 */
import { Context, Effect, type Scope } from "effect"

export type Invalidation =
  /** The key was changed. `ended`: its users must authenticate again. */
  | {
      readonly type: "api_key"
      readonly public_key: string
      readonly api_key_id: string
      readonly ended: boolean
    }
  | { readonly type: "token"; readonly jti: string; readonly expires_at_ms: number }
  | { readonly type: "ban"; readonly user_id: string }

/** Invalidations may have been lost: read the affected records again. */
export interface InvalidationsMissed {
  readonly type: "missed"
}

export interface InvalidationChannel {
  readonly publish: (invalidation: Invalidation) => Effect.Effect<void>
  /** Handles invalidations in sequence until the scope closes; a burst beyond the capacity becomes one `missed`. */
  readonly listen: (
    handle: (invalidation: Invalidation | InvalidationsMissed) => Effect.Effect<void>
  ) => Effect.Effect<void, never, Scope.Scope>
}

export const InvalidationBus = Context.Reference<InvalidationChannel>("gateway/services/InvalidationBus", {
  defaultValue: () => ({ publish: () => Effect.void, listen: () => Effect.void })
})
