/** Policy: which users hold an authenticated private connection to this gateway. Source: contract 2.4, Dead-man's switch. */
import { Context, Effect, Layer, type Scope } from "effect"

/** Told when a user's first connection has come, or the last one has gone. */
export type PresenceListener = (user_id: string, here: boolean) => void

export class Presence extends Context.Service<
  Presence,
  {
    /** A connection of the user has authenticated; each is told once. */
    readonly came: (user_id: string) => void
    /** A connection that came is gone. */
    readonly went: (user_id: string) => void
    readonly isHere: (user_id: string) => boolean
    readonly watch: (listener: PresenceListener) => Effect.Effect<void, never, Scope.Scope>
  }
>()("gateway/services/Presence") {
  static readonly layer: Layer.Layer<Presence> = Layer.sync(Presence, () => {
    const connections = new Map<string, number>()
    const listeners = new Set<PresenceListener>()
    const tell = (user_id: string, here: boolean) => {
      for (const listener of listeners) listener(user_id, here)
    }
    return Presence.of({
      came: (user_id) => {
        const count = connections.get(user_id) ?? 0
        connections.set(user_id, count + 1)
        if (count === 0) tell(user_id, true)
      },
      went: (user_id) => {
        const count = connections.get(user_id) ?? 0
        if (count > 1) return void connections.set(user_id, count - 1)
        if (connections.delete(user_id)) tell(user_id, false)
      },
      isHere: (user_id) => connections.has(user_id),
      watch: (listener) =>
        Effect.asVoid(
          Effect.acquireRelease(
            Effect.sync(() => listeners.add(listener)),
            () => Effect.sync(() => listeners.delete(listener))
          )
        )
    })
  })
}
