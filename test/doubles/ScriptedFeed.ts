/** A feed that does what the test says: repeats, lags, jumps, ends, forgets. */
import { Cause, Effect, Layer, Queue, Stream } from "effect"
import type { Event, StreamPosition } from "../../src/domain/Event.ts"
import { Feed, FeedGone, type FeedFrame } from "../../src/services/Feed.ts"

export class ScriptedFeed {
  /** Positions that were asked for, in order. */
  readonly followed: Array<StreamPosition | undefined> = []
  epoch = "e1"
  /** Everything that was told; a sound follower is given what comes after its position. */
  readonly log: Array<Event> = []
  /** The next who follows is told that its position is gone. */
  gone = false
  /** What is not offered by itself to who follows next: the test pushes frames by hand. */
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
            yield* Queue.fail(queue, new FeedGone())
          } else if (missed.length > 0 && !this.silent) this.push(missed)
          return Stream.fromQueue(queue)
        })
      )
  })

  get isFollowed(): boolean {
    return this.queue !== undefined
  }
  /** Tells events in one frame, whatever they are. */
  push(events: ReadonlyArray<Event>, epoch = this.epoch): void {
    if (this.queue !== undefined) Queue.offerUnsafe(this.queue, { type: "events", epoch, events })
  }
  /** Tells events and keeps them for who follows later. */
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
  forget(): void {
    Queue.failCauseUnsafe(this.queue!, Cause.fail(new FeedGone()))
  }
}
