/** Frames of StreamEvents as bytes, for a message broker between the sequencer and the gateways. */
import type { ServiceError } from "@grpc/grpc-js"
import { Effect, Stream } from "effect"
import type { StreamPosition } from "../../domain/Event.ts"
import { SequencerService, StreamEventsResponse } from "../../proto/gateway/v1/sequencer.ts"
import type { FeedFrame, FeedGone } from "../../services/Feed.ts"
import { type Endpoint, make as makeChannel } from "./Channel.ts"
import * as GrpcFeed from "./GrpcFeed.ts"
import { toEvent, toHeartbeat } from "./WireEvents.ts"

/** Deadline for reading the sequencer's head, in ms. */
const HEAD_MS = 2_000

export interface EventFrame {
  readonly epoch: string
  /** First and last seq of its events. Of a heartbeat: head + 1, and the head. */
  readonly first: number
  readonly last: number
  readonly bytes: Uint8Array
}

/** Splits a response into frames of at most `bytes_max` bytes; a single larger event keeps its own frame. */
const split = (response: StreamEventsResponse, bytes_max: number): ReadonlyArray<EventFrame> => {
  const { epoch, events, heartbeat } = response
  const first = events[0]?.seq ?? (heartbeat === undefined ? undefined : heartbeat.head_seq + 1)
  const last = events.at(-1)?.seq ?? heartbeat?.head_seq
  if (first === undefined || last === undefined) return []
  const bytes = StreamEventsResponse.encode(response).finish()
  if (bytes.length <= bytes_max || events.length < 2) return [{ epoch, first, last, bytes }]
  const half = events.length >> 1
  return [
    ...split({ epoch, events: events.slice(0, half), heartbeat: undefined }, bytes_max),
    ...split({ epoch, events: events.slice(half), heartbeat }, bytes_max)
  ]
}

/**
 * The sequencer's frames after a position, without end. Without a position, or where the sequencer no longer keeps it, the
 * frames begin at its head.
 */
export const follow = (
  endpoint: Endpoint,
  position: StreamPosition | undefined,
  bytes_max: number
): Stream.Stream<EventFrame, FeedGone | ServiceError> =>
  Stream.unwrap(
    Effect.map(makeChannel(endpoint), (channel) => {
      const after = (position: StreamPosition) =>
        GrpcFeed.frames<EventFrame | undefined>(
          channel,
          position,
          (reader, frame) => {
            // throws on a gap, and the stream reopens at the missing seq
            reader.read(frame)
            return split(frame, bytes_max)
          },
          undefined
        ).pipe(Stream.filter((frame) => frame !== undefined))
      const fromHead = Stream.unwrap(
        Effect.map(channel.read(SequencerService.getHead, {}, HEAD_MS), ({ epoch, head_seq }) =>
          after({ epoch, seq: head_seq })
        )
      )
      return position === undefined ? fromHead : Stream.catchTag(after(position), "FeedGone", () => fromHead)
    })
  )

/** Decodes a frame. Throws where the bytes are not a frame. */
export const read = (bytes: Uint8Array): ReadonlyArray<FeedFrame> => {
  const { epoch, events, heartbeat } = GrpcFeed.decodeFrame(bytes)
  const frames: Array<FeedFrame> = []
  if (events.length > 0) frames.push({ type: "events", epoch, events: events.map(toEvent) })
  if (heartbeat !== undefined) frames.push(toHeartbeat(epoch, heartbeat))
  return frames
}
