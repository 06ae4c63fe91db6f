/**
 * Policy: read-your-writes. An acknowledged command is visible to later reads.
 *
 * Orders are acknowledged before the read model includes them, so an immediate list could miss them. The lists of a
 * user therefore wait, for a bounded time, until the read model includes the effects of the user's commands on this
 * gateway.
 * Source: docs/contract/orders.md#acknowledgement, docs/contract/rest-trading.md#order-endpoints (after a response,
 * /order/realtime includes the order).
 */
import { Context, Effect, Layer } from "effect"
import { streamIdOf } from "../../domain/Projection.ts"
import { Lru } from "../operations/Lru.ts"
import { Projector } from "./Projector.ts"

/** Users whose last command is recorded; the least recently used are evicted, and their lists do not wait. */
const USERS_MAX = 16_384

export class ReadYourWrites extends Context.Service<
  ReadYourWrites,
  {
    /** Records an acknowledged command of the user; `seq` is that of its last event. */
    readonly record: (user_id: string, seq: number) => void
    /** Waits until the recorded commands of the user are visible, at most the maximum wait of {@link Projector}. */
    readonly awaitUser: (user_id: string) => Effect.Effect<void>
    /** Waits for the commands of all users: for records that the orders of others change. */
    readonly awaitAll: Effect.Effect<void>
  }
>()("gateway/services/ReadYourWrites") {
  static readonly layer: Layer.Layer<ReadYourWrites, never, Projector> = Layer.effect(
    ReadYourWrites,
    Effect.map(Projector, (projector) => {
      let stream: string | undefined
      let last = new Lru<string, number>(USERS_MAX)
      let newest = 0
      /** The seq of the read model. A seq from before a restart of the numbering is never reached, and forgotten. */
      const shown = (): number => {
        const position = projector.position()
        const current = position && streamIdOf(position)
        if (current !== stream) {
          stream = current
          last = new Lru(USERS_MAX)
          newest = 0
        }
        return position?.seq ?? 0
      }
      return ReadYourWrites.of({
        record: (user_id, seq) => {
          if (seq <= shown()) return
          newest = Math.max(newest, seq)
          if (seq > (last.get(user_id) ?? 0)) last.set(user_id, seq)
        },
        awaitAll: Effect.suspend(() => (shown() >= newest ? Effect.void : projector.reached(newest))),
        awaitUser: (user_id) =>
          Effect.suspend(() => {
            const reached = shown()
            const seq = last.get(user_id)
            return seq === undefined || reached >= seq ? Effect.void : projector.reached(seq)
          })
      })
    })
  )
}
