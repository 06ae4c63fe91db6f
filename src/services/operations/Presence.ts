/**
 * Port: which users have an authenticated private connection to any gateway of the fleet.
 *
 * Guarantee: a connection to this gateway counts at once, one to another gateway shortly after. A user is reported
 * offline when no live gateway has a connection of that user. While the other gateways cannot be queried, no user is
 * reported offline. The default adapter is for a single gateway.
 * Source: docs/contract/orders.md#dead-mans-switch.
 */
import { Context, Effect, Layer, type Scope } from "effect"

/** Called when a user's first connection opens, and when the last one closes. */
export type PresenceListener = (user_id: string, here: boolean) => void

export class Presence extends Context.Service<
  Presence,
  {
    /** A connection of the user to this gateway was authenticated; call it once per connection. */
    readonly came: (user_id: string) => void
    /** A connection of the user closed. */
    readonly went: (user_id: string) => void
    readonly isHere: (user_id: string) => boolean
    readonly watch: (listener: PresenceListener) => Effect.Effect<void, never, Scope.Scope>
    /** Waits until listeners have received all changes that the fleet had recorded at the call. Has no time limit. */
    readonly settled: Effect.Effect<void>
  }
>()("gateway/services/Presence") {
  static readonly layer: Layer.Layer<Presence> = Layer.sync(Presence, () => {
    const connections = new Tally()
    const { tell, watch } = watchers()
    return Presence.of({
      came: (user_id) => {
        if (connections.came(user_id)) tell(user_id, true)
      },
      went: (user_id) => {
        if (connections.went(user_id)) tell(user_id, false)
      },
      isHere: (user_id) => connections.has(user_id),
      watch,
      settled: Effect.void
    })
  })
}

/** Number of connections to this gateway, by user. */
export class Tally {
  private readonly connections = new Map<string, number>()
  has(user_id: string): boolean {
    return this.connections.has(user_id)
  }
  get users(): Iterable<string> {
    return this.connections.keys()
  }
  /** Returns whether it is the user's first connection. */
  came(user_id: string): boolean {
    const count = this.connections.get(user_id) ?? 0
    this.connections.set(user_id, count + 1)
    return count === 0
  }
  /** Returns whether it was the user's last connection. */
  went(user_id: string): boolean {
    const count = this.connections.get(user_id) ?? 0
    if (count <= 1) return this.connections.delete(user_id)
    this.connections.set(user_id, count - 1)
    return false
  }
}

/** Listeners, registered until their scopes close. */
export const watchers = () => {
  const listeners = new Set<PresenceListener>()
  return {
    tell: (user_id: string, here: boolean): void => {
      for (const listener of listeners) listener(user_id, here)
    },
    watch: (listener: PresenceListener) =>
      Effect.asVoid(
        Effect.acquireRelease(
          Effect.sync(() => listeners.add(listener)),
          () => Effect.sync(() => listeners.delete(listener))
        )
      )
  }
}
