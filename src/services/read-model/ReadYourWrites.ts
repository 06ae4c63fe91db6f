/**
 * Policy: read-your-writes. An acknowledged command is visible to later reads.
 *
 * Orders are acknowledged before the read model includes them, so an immediate list could miss them. The lists of a
 * user therefore wait, for a bounded time, until the read model includes the effects of the user's commands on this
 * gateway.
 * Source: docs/contract/orders.md#acknowledgement, docs/contract/rest-trading.md#order-endpoints (after a response,
 * /order/realtime includes the order).
 */
import { Clock, Context, Effect, Layer } from "effect"
import { streamIdOf } from "../../domain/Projection.ts"
import { Lru } from "../operations/Lru.ts"
import { monotonicMillis } from "../operations/Monotonic.ts"
import { EVENTS_MS_MAX } from "../Sequencer.ts"
import { Projector } from "./Projector.ts"

/** Users whose last command is recorded; the least recently used are evicted, and their lists do not wait. */
const USERS_MAX = 16_384

/** An acknowledged command: the seq of its last event, and when it was acknowledged. */
interface Write {
  readonly seq: number
  readonly acknowledged_ms: number
}
const NONE: Write = { seq: 0, acknowledged_ms: -Infinity }

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
    Effect.gen(function* () {
      const projector = yield* Projector
      const clock = yield* Clock.Clock
      let stream: string | undefined
      let last = new Lru<string, Write>(USERS_MAX)
      let newest: Write = NONE
      /** The seq of the read model. A seq from before a restart of the numbering is never reached, and forgotten. */
      const shown = (): number => {
        const position = projector.position()
        const current = position && streamIdOf(position)
        if (current !== stream) {
          stream = current
          last = new Lru(USERS_MAX)
          newest = NONE
        }
        return position?.seq ?? 0
      }
      /** The seq for which a read waits; 0 once its events are overdue. */
      const awaited = ({ acknowledged_ms, seq }: Write): number =>
        monotonicMillis(clock) - acknowledged_ms > EVENTS_MS_MAX ? 0 : seq
      const awaitWrite = (write: () => Write | undefined): Effect.Effect<void> =>
        Effect.suspend(() => {
          const at = shown()
          const seq = awaited(write() ?? NONE)
          return at >= seq ? Effect.void : projector.reached(seq)
        })
      return ReadYourWrites.of({
        record: (user_id, seq) => {
          if (seq <= shown()) return
          const write = { seq, acknowledged_ms: monotonicMillis(clock) }
          if (seq > awaited(newest)) newest = write
          if (seq > awaited(last.get(user_id) ?? NONE)) last.set(user_id, write)
        },
        awaitAll: awaitWrite(() => newest),
        awaitUser: (user_id) => awaitWrite(() => last.get(user_id))
      })
    })
  )
}
