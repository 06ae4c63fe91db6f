/**
 * Policy: who was acknowledged finds what was acknowledged.
 *
 * Orders are answered before the read model holds them, so a list that is asked for at once might miss them. A user's
 * lists wait, for a bounded time, until the read model holds what this user's own commands on this gateway have caused.
 * Source: docs/contract/orders.md#acknowledgement, docs/contract/rest-trading.md#order-endpoints (after an answer,
 * /order/realtime finds the order).
 */
import { Context, Effect, Layer } from "effect"
import { Lru } from "../operations/Lru.ts"
import { Projector } from "./Projector.ts"

/** Users whose last command is remembered; the longest untouched are forgotten, and their lists do not wait. */
const USERS_MAX = 16_384

export class ReadYourWrites extends Context.Service<
  ReadYourWrites,
  {
    /** A command of the user was acknowledged; `seq` is that of its last event. */
    readonly noted: (user_id: string, seq: number) => void
    /** Waits until readers see what was noted of the user, no longer than {@link Projector} lets anybody wait. */
    readonly held: (user_id: string) => Effect.Effect<void>
    /** The same of all users: for records that the orders of others change. */
    readonly heldOfAll: Effect.Effect<void>
  }
>()("gateway/services/OwnWrites") {
  static readonly layer: Layer.Layer<ReadYourWrites, never, Projector> = Layer.effect(
    ReadYourWrites,
    Effect.map(Projector, (projector) => {
      const last = new Lru<string, number>(USERS_MAX)
      let newest = 0
      return ReadYourWrites.of({
        noted: (user_id, seq) => {
          newest = Math.max(newest, seq)
          if (seq > (last.get(user_id) ?? 0)) last.set(user_id, seq)
        },
        heldOfAll: Effect.suspend(() => {
          const seq = newest
          if ((projector.position()?.seq ?? 0) >= seq) return Effect.void
          return Effect.andThen(
            projector.reached(seq),
            Effect.sync(() => {
              // a number of before the backend's numbering began anew is never reached
              const reached = projector.position()?.seq ?? 0
              if (newest === seq && reached < seq) newest = reached
            })
          )
        }),
        held: (user_id) =>
          Effect.suspend(() => {
            const seq = last.get(user_id)
            return seq === undefined || (projector.position()?.seq ?? 0) >= seq ? Effect.void : projector.reached(seq)
          })
      })
    })
  )
}
