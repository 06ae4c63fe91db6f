/** A feed under the control of the test: it repeats, lags, skips, ends and forgets. */
import { Cause, Effect, Layer, Queue, Stream } from "effect"
import type { Event, StreamPosition } from "../../src/domain/Event.ts"
import { Feed, FeedGone, type FeedFrame } from "../../src/services/Feed.ts"

type EventsFrame = Extract<FeedFrame, { readonly type: "events" }>

export class ScriptedFeed {
  /** The requested positions, in order. */
  readonly followed: Array<StreamPosition | undefined> = []
  epoch = "e1"
  /** Every sent event; a follower gets those after its position. */
  readonly log: Array<Event> = []
  /** The next follower gets FeedGone. */
  gone = false
  /** The next follower gets nothing automatically: the test pushes frames. */
  silent = false
  private queue: Queue.Queue<FeedFrame, FeedGone | Cause.Done> | undefined

  readonly layer = Layer.succeed(Feed, {
    follow: (position) =>
      Stream.unwrap(
        Effect.gen({ self: this }, function* () {
          this.followed.push(position)
          const queue = yield* Queue.unbounded<FeedFrame, FeedGone | Cause.Done>()
          this.queue = queue
          const missed = this.log.filter(({ seq }) => seq > (position?.seq ?? 0))
          if (this.gone) {
            this.gone = false
            yield* Queue.fail(queue, new FeedGone({ reason: "Expired" }))
          } else if (missed.length > 0 && !this.silent) this.push(missed)
          return Stream.fromQueue(queue)
        })
      )
  })

  get isFollowed(): boolean {
    return this.queue !== undefined
  }
  /** Sends events in one frame, in any order. */
  push(events: ReadonlyArray<Event>, epoch = this.epoch, history: Pick<EventsFrame, "fork" | "checksums"> = {}): void {
    if (this.queue !== undefined) Queue.offerUnsafe(this.queue, { type: "events", epoch, events, ...history })
  }
  /** Sends events and keeps them for later followers. */
  tell(...events: ReadonlyArray<Event>): void {
    this.log.push(...events)
    this.push(events)
  }
  heartbeat(head_seq: number, server_ts_ms = 0, refusing: ReadonlyArray<string> = []): void {
    Queue.offerUnsafe(this.queue!, { type: "heartbeat", epoch: this.epoch, head_seq, server_ts_ms, refusing })
  }
  interrupt(): void {
    Queue.offerUnsafe(this.queue!, { type: "interrupted" })
  }
  end(): void {
    Queue.endUnsafe(this.queue!)
  }
  die(defect: unknown): void {
    Queue.failCauseUnsafe(this.queue!, Cause.die(defect))
  }
  forget(reason: FeedGone["reason"] = "Expired"): void {
    Queue.failCauseUnsafe(this.queue!, Cause.fail(new FeedGone({ reason })))
  }
}
