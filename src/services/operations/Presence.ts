/**
 * Port: which users hold an authenticated private connection, to this gateway or another one of its fleet.
 *
 * Guarantee: a connection to this gateway counts at once, one to another gateway soon after. A user is told to be gone when
 * no gateway that is known to live has a connection of it; while the others cannot be asked nobody is told to be gone.
 * A gateway that is alone is the default adapter. Source: docs/contract/orders.md#dead-mans-switch.
 */
import { Context, Effect, Layer, type Scope } from "effect"

/** Told when a user's first connection has come, or the last one has gone. */
export type PresenceListener = (user_id: string, here: boolean) => void

export class Presence extends Context.Service<
  Presence,
  {
    /** A connection of the user to this gateway has authenticated; each is told once. */
    readonly came: (user_id: string) => void
    /** A connection that came is gone. */
    readonly went: (user_id: string) => void
    readonly isHere: (user_id: string) => boolean
    readonly watch: (listener: PresenceListener) => Effect.Effect<void, never, Scope.Scope>
    /** Waits until listeners have been told all that the fleet knew when this began; for as long as that takes. */
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

/** Connections of this gateway, by user. */
export class Tally {
  private readonly connections = new Map<string, number>()
  has(user_id: string): boolean {
    return this.connections.has(user_id)
  }
  get users(): Iterable<string> {
    return this.connections.keys()
  }
  /** Whether it is the user's first one. */
  came(user_id: string): boolean {
    const count = this.connections.get(user_id) ?? 0
    this.connections.set(user_id, count + 1)
    return count === 0
  }
  /** Whether it was the user's last one. */
  went(user_id: string): boolean {
    const count = this.connections.get(user_id) ?? 0
    if (count <= 1) return this.connections.delete(user_id)
    this.connections.set(user_id, count - 1)
    return false
  }
}

/** Listeners, for as long as their scopes live. */
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
