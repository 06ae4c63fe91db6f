/**
 * Makes batches of the frames of the feed: events that follow a position without a gap, a repetition or a change of the epoch.
 * Source: docs/contract/boundary.md#one-event-stream.
 */
import type { Event, StreamPosition } from "../../domain/Event.ts"
import type { FeedFrame } from "../Feed.ts"

/**
 * Events after which a batch ends with its frame. Frames that arrived together are shown together up to it. Between two
 * batches the event loop serves others: a move of the index may be 100,000 events.
 */
const EVENTS_PER_BATCH = 512

/** Where events lead: epoch, fork and checksum after the last one. */
export type EventHistory = Pick<StreamPosition, "epoch" | "fork" | "checksum">

export type BatchStep =
  /** `isFull`: others are served before the next step. */
  | {
      readonly type: "batch"
      readonly history: EventHistory
      readonly events: ReadonlyArray<Event>
      readonly isFull: boolean
    }
  /** `isIdle`: no event waits for its batch. */
  | {
      readonly type: "heartbeat"
      readonly frame: Extract<FeedFrame, { readonly type: "heartbeat" }>
      readonly isIdle: boolean
    }
  | { readonly type: "interrupted" }
  /** The frames do not follow the position. Nothing comes after it. */
  | { readonly type: "broken"; readonly message: string }

/** The steps of frames that arrived together, after a position. */
export function* batchSteps(
  position: StreamPosition | undefined,
  frames: ReadonlyArray<FeedFrame>
): Generator<BatchStep, void> {
  let epoch = position?.epoch
  let next = (position?.seq ?? 0) + 1
  let events: Array<Event> = []
  /** The history after the last of them. */
  let history: EventHistory = { epoch: epoch ?? "" }
  /** The events so far, if there are any. */
  function* ended(isFull = false): Generator<BatchStep, void> {
    if (events.length > 0) yield { type: "batch", history, events, isFull }
    events = []
  }
  for (const frame of frames) {
    switch (frame.type) {
      case "events": {
        if (frame.events.length === 0) break
        if (epoch !== undefined && epoch !== frame.epoch) {
          return yield { type: "broken", message: `epoch ${frame.epoch} follows ${epoch}` }
        }
        epoch = frame.epoch
        // drop events seen before
        const fresh = frame.events[0]!.seq >= next ? frame.events : frame.events.filter(({ seq }) => seq >= next)
        const skipped = frame.events.length - fresh.length
        const { fork, checksums } = frame
        for (let i = 0; i < fresh.length; i++) {
          const event = fresh[i]!
          if (event.seq !== next) {
            if (i > 0) history = { epoch, fork, checksum: checksums?.[skipped + i - 1] }
            yield* ended()
            return yield { type: "broken", message: `event ${event.seq} follows ${next - 1}` }
          }
          events.push(event)
          next++
        }
        if (fresh.length > 0) history = { epoch, fork, checksum: checksums?.at(-1) }
        if (events.length >= EVENTS_PER_BATCH) yield* ended(true)
        break
      }
      case "heartbeat":
        yield { type: "heartbeat", frame, isIdle: events.length === 0 }
        break
      case "interrupted":
        yield* ended()
        yield { type: "interrupted" }
        break
    }
  }
  yield* ended()
}
