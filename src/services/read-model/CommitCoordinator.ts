/**
 * Policy: which gateway commits projections, and how far a gateway may show events.
 *
 * Every gateway reads the same stream and derives the same rows and numbers from it. The leader commits them. The
 * others show events only up to the committed position, so every gateway is always at a committed position, and a new
 * leader continues exactly there. If two gateways both act as the leader, the first commit wins, and the other one
 * finds identical rows.
 * Source: docs/contract/boundary.md#one-event-stream, #ownership.
 */
import { Effect, Schedule, Schema } from "effect"
import type { StreamPosition } from "../../domain/Event.ts"
import type { ModelPosition, Projection } from "../../domain/Projection.ts"
import { History, type HistoryUnavailable, type ProjectionRefused } from "../History.ts"
import { Leadership } from "../operations/Leadership.ts"

/** Back-off while the read model does not respond: 50 ms, doubled, up to 500 ms. */
const backOff = Schedule.min([Schedule.exponential("50 millis"), Schedule.spaced("500 millis")])
/** How often a follower polls the committed position while it holds uncommitted events. */
const FOLLOW_PAUSE = "10 millis"

/** The read model is at another position than this gateway and not behind it, so it must be loaded again. */
export class Superseded extends Schema.TaggedError<Superseded>()("Superseded", { message: Schema.String }) {}

/** Whether the model includes a position, in the same numbering. */
const holds = (committed: ModelPosition | undefined, position: ModelPosition): boolean =>
  committed?.epoch === position.epoch && committed.began === position.began && committed.seq >= position.seq

export interface CommitCoordinator {
  /**
   * Waits until events after `position` may be shown. `undefined`: this gateway leads, starting exactly there, and
   * commits the events itself; otherwise the seq up to which they are committed. `epoch`: that of the events.
   */
  readonly turn: (position: ModelPosition | undefined, epoch: string) => Effect.Effect<number | undefined, Superseded>
  /** Commits without a time limit; succeeds if another gateway has committed the same projection. */
  readonly commit: (projection: Projection) => Effect.Effect<void, ProjectionRefused>
}

export const make: Effect.Effect<CommitCoordinator, never, History> = Effect.gen(function* () {
  const history = yield* History
  const leadership = yield* Leadership
  /** The term in which the position of the model was verified. */
  let confirmed: number | undefined

  const retryWhileUnavailable = <A, E>(effect: Effect.Effect<A, E | HistoryUnavailable>) =>
    effect.pipe(
      Effect.tapError((error) =>
        isUnavailable(error) ? Effect.logError("the history does not respond", error.cause) : Effect.void
      ),
      Effect.retry({ while: isUnavailable, schedule: backOff })
    ) as Effect.Effect<A, Exclude<E, HistoryUnavailable>>

  const turn: CommitCoordinator["turn"] = Effect.fnUntraced(function* (position, epoch) {
    const from: StreamPosition & { readonly began: number } = position ?? { epoch, seq: 0, began: 0 }
    while (true) {
      const term = leadership.term()
      if (term !== undefined && term === confirmed) return undefined
      const committed = yield* retryWhileUnavailable(history.position)
      const seq = committed?.seq ?? 0
      if (
        committed === undefined
          ? position !== undefined
          : committed.epoch !== from.epoch || committed.began !== from.began
      ) {
        return yield* new Superseded({ message: "the read model was rebuilt" })
      }
      if (seq < from.seq) return yield* new Superseded({ message: `the read model went back to ${seq}` })
      if (seq > from.seq) return seq
      if (term !== undefined) confirmed = term
      else yield* Effect.sleep(FOLLOW_PAUSE)
    }
  })

  return {
    turn,
    commit: (projection) =>
      retryWhileUnavailable(
        Effect.catchTag(history.commit(projection), "ProjectionRefused", (refused) =>
          // an earlier attempt that seemed to fail succeeded, or another gateway was first
          holds(refused.position, projection.position) ? Effect.void : Effect.fail(refused)
        )
      )
  }
})

const isUnavailable = (error: unknown): error is HistoryUnavailable =>
  (error as { readonly _tag?: string })._tag === "HistoryUnavailable"
