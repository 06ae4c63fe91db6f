/**
 * Policy: whose turn it is to write what the event stream means, and how much of it may be shown.
 *
 * Every gateway reads the same stream and derives the same rows and numbers from it. The one that leads commits them. The
 * others show what they find committed, as far as it is, and so stand at a committed position at every moment: whoever comes
 * to lead goes on exactly there. A commit of two that think they lead goes to whoever is first; the other one finds its own
 * rows in place, since they are the same. Source: docs/contract/boundary.md#one-event-stream, #ownership.
 */
import { Effect, Schedule, Schema } from "effect"
import type { StreamPosition } from "../../domain/Event.ts"
import type { ModelPosition, Projection } from "../../domain/Projection.ts"
import { History, type HistoryUnavailable, type ProjectionRefused } from "../History.ts"
import { Leadership } from "../operations/Leadership.ts"

/** Waits between tries while the read model does not answer: from 50 ms, doubled, up to half a second. */
const backOff = Schedule.min([Schedule.exponential("50 millis"), Schedule.spaced("500 millis")])
/** How often a follower looks how far the leader is, while it holds events that are not committed. */
const FOLLOW_PAUSE = "10 millis"

/** The read model does not stand where this gateway does, and not behind it either: it is to be loaded again. */
export class Superseded extends Schema.TaggedError<Superseded>()("Superseded", { message: Schema.String }) {}

/** Whether the model holds all up to a position, in the same numbering. */
const holds = (standing: ModelPosition | undefined, position: ModelPosition): boolean =>
  standing?.epoch === position.epoch && standing.began === position.began && standing.seq >= position.seq

export interface CommitCoordinator {
  /**
   * Waits until events after `position` may be shown. `undefined`: this gateway leads, from exactly there, and commits them
   * itself; else the seq up to which they are committed. `epoch`: that of the events.
   */
  readonly turn: (position: ModelPosition | undefined, epoch: string) => Effect.Effect<number | undefined, Superseded>
  /** Commits, however long it takes; ends well where another gateway has committed the same. */
  readonly commit: (projection: Projection) => Effect.Effect<void, ProjectionRefused>
}

export const make: Effect.Effect<CommitCoordinator, never, History> = Effect.gen(function* () {
  const history = yield* History
  const leadership = yield* Leadership
  /** The term for which it is known that the model stands where this gateway does. */
  let confirmed: number | undefined

  const untilAnswered = <A, E>(effect: Effect.Effect<A, E | HistoryUnavailable>) =>
    effect.pipe(
      Effect.tapError((error) =>
        isUnavailable(error) ? Effect.logError("the history does not answer", error.cause) : Effect.void
      ),
      Effect.retry({ while: isUnavailable, schedule: backOff })
    ) as Effect.Effect<A, Exclude<E, HistoryUnavailable>>

  const turn: CommitCoordinator["turn"] = Effect.fnUntraced(function* (position, epoch) {
    const from: StreamPosition & { readonly began: number } = position ?? { epoch, seq: 0, began: 0 }
    while (true) {
      const term = leadership.term()
      if (term !== undefined && term === confirmed) return undefined
      const standing = yield* untilAnswered(history.position)
      const seq = standing?.seq ?? 0
      if (
        standing === undefined ? position !== undefined : standing.epoch !== from.epoch || standing.began !== from.began
      ) {
        return yield* new Superseded({ message: "the read model was built anew" })
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
      untilAnswered(
        Effect.catchTag(history.commit(projection), "ProjectionRefused", (refused) =>
          // an earlier try that seemed to fail had come through, or another gateway was first
          holds(refused.position, projection.position) ? Effect.void : Effect.fail(refused)
        )
      )
  }
})

const isUnavailable = (error: unknown): error is HistoryUnavailable =>
  (error as { readonly _tag?: string })._tag === "HistoryUnavailable"
