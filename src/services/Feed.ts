/**
 * Port: the sequencer's one ordered event stream.
 *
 * Guarantee: events after the asked position arrive in order, without a gap and without a repetition, whole steps at a
 * time; a lost connection is taken up again at the next seq, for ever. Heartbeats tell the head while nothing happens.
 * The stream fails only with {@link FeedGone}: the epoch is another one or the position is not kept any more, so the read
 * model must be built anew. Source: docs/contract/boundary.md#one-event-stream, #sequencer.
 */
import { Context, Schema, type Stream } from "effect"
import type { Event, StreamPosition } from "../domain/Event.ts"

export type FeedFrame =
  | { readonly type: "events"; readonly epoch: string; readonly events: ReadonlyArray<Event> }
  | {
      readonly type: "heartbeat"
      readonly epoch: string
      readonly head_seq: number
      readonly server_ts_ms: number
      /** Why the sequencer refuses every command, or why prices do not move; empty while it works. */
      readonly refusing: ReadonlyArray<string>
    }
  /** The connection was lost; the feed goes on by itself. */
  | { readonly type: "interrupted" }

/** The position asked for is not kept, or belongs to another epoch. */
export class FeedGone extends Schema.TaggedError<FeedGone>()("FeedGone", {}) {}

export class Feed extends Context.Service<
  Feed,
  {
    /** Frames after `position`; `undefined`: from the first event of the running epoch. */
    readonly follow: (position: StreamPosition | undefined) => Stream.Stream<FeedFrame, FeedGone>
  }
>()("gateway/services/Feed") {}
