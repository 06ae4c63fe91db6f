/**
 * Port: the ordered event stream of the sequencer.
 *
 * Guarantee: events after the requested position arrive in order, without gaps or repetitions, in whole engine steps.
 * After a lost connection the feed reconnects at the next seq, without a limit of attempts. While there are no
 * events, heartbeats report the head. The stream fails only with {@link FeedGone}: the position is no longer retained or is
 * not on the history of the backend, so the read model must be rebuilt.
 * Source: docs/contract/boundary.md#one-event-stream, #sequencer.
 */
import { Context, Schema, type Stream } from "effect"
import type { Event, StreamPosition } from "../domain/Event.ts"

export type FeedFrame =
  | {
      readonly type: "events"
      readonly epoch: string
      readonly events: ReadonlyArray<Event>
      /** The history of the events; absent where the backend has none. */
      readonly fork?: string | undefined
      /** Checksum of the history after each event. */
      readonly checksums?: ReadonlyArray<number> | undefined
    }
  | {
      readonly type: "heartbeat"
      readonly epoch: string
      readonly head_seq: number
      readonly server_ts_ms: number
      /** Why the sequencer refuses every command, or why prices do not update; empty in normal operation. */
      readonly refusing: ReadonlyArray<string>
      /** Conditions of the sequencer that an operator should end; it works meanwhile. */
      readonly warnings?: ReadonlyArray<string>
      readonly fork?: string | undefined
      /** Checksum of the history at the head. */
      readonly checksum?: number | undefined
    }
  /** The connection was lost; the feed reconnects by itself. */
  | { readonly type: "interrupted" }

/** The requested position is not retained (`Expired`), or is not on the history of the backend (`Forked`, `Restarted`: of another epoch). */
export class FeedGone extends Schema.TaggedError<FeedGone>()("FeedGone", {
  reason: Schema.Literals(["Expired", "Forked", "Restarted"])
}) {}

export class Feed extends Context.Service<
  Feed,
  {
    /** Frames after `position`; `undefined`: from the first event of the running epoch. */
    readonly follow: (position: StreamPosition | undefined) => Stream.Stream<FeedFrame, FeedGone>
  }
>()("gateway/services/Feed") {}
