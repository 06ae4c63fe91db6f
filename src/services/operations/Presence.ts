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
export type PresenceListener = (user_id: string, isPresent: boolean) => void

export class Presence extends Context.Service<
  Presence,
  {
    /** A connection of the user to this gateway was authenticated; call it once per connection. */
    readonly connected: (user_id: string) => void
    /** A connection of the user closed. */
    readonly disconnected: (user_id: string) => void
    /** Whether a live gateway has a connection of the user, as far as this gateway has read. */
    readonly isPresent: (user_id: string) => boolean
    readonly watch: (listener: PresenceListener) => Effect.Effect<void, never, Scope.Scope>
    /** Waits until listeners have received all changes that the fleet had recorded at the call. Has no time limit. */
    readonly settled: Effect.Effect<void>
  }
>()("gateway/services/Presence") {
  static readonly layer: Layer.Layer<Presence> = Layer.sync(Presence, () => {
    const connections = new Tally()
    const { notify, watch } = watchers()
    return Presence.of({
      connected: (user_id) => {
        if (connections.connected(user_id)) notify(user_id, true)
      },
      disconnected: (user_id) => {
        if (connections.disconnected(user_id)) notify(user_id, false)
      },
      isPresent: (user_id) => connections.has(user_id),
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
  connected(user_id: string): boolean {
    const count = this.connections.get(user_id) ?? 0
    this.connections.set(user_id, count + 1)
    return count === 0
  }
  /** Returns whether it was the user's last connection. */
  disconnected(user_id: string): boolean {
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
    notify: (user_id: string, isPresent: boolean): void => {
      for (const listener of listeners) listener(user_id, isPresent)
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
