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
  /** The history, and its checksum before the first and after the last event; undefined where the sequencer has none. */
  readonly fork: string | undefined
  readonly before: number | undefined
  readonly checksum: number | undefined
  readonly bytes: Uint8Array
}

/** Splits a response into frames of at most `bytes_max` bytes; a single larger event keeps its own frame. */
const split = (
  response: StreamEventsResponse,
  before: number | undefined,
  bytes_max: number
): ReadonlyArray<EventFrame> => {
  const { checksums, epoch, events, heartbeat } = response
  const first = events[0]?.seq ?? (heartbeat === undefined ? undefined : heartbeat.head_seq + 1)
  const last = events.at(-1)?.seq ?? heartbeat?.head_seq
  if (first === undefined || last === undefined) return []
  const bytes = StreamEventsResponse.encode(response).finish()
  if (bytes.length <= bytes_max || events.length < 2) {
    const fork = response.fork === "" ? undefined : response.fork
    return [{ epoch, first, last, fork, before, checksum: checksums.at(-1) ?? heartbeat?.checksum, bytes }]
  }
  const half = events.length >> 1
  const [left, right] = [checksums.slice(0, half), checksums.slice(half)]
  return [
    ...split({ ...response, events: events.slice(0, half), checksums: left, heartbeat: undefined }, before, bytes_max),
    ...split({ ...response, events: events.slice(half), checksums: right }, left.at(-1), bytes_max)
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
            const before = reader.position
            reader.read(frame)
            const isNext = before === undefined || frame.events[0]?.seq === before.seq + 1
            return split(frame, isNext ? before?.checksum : undefined, bytes_max)
          },
          undefined
        ).pipe(Stream.filter((frame) => frame !== undefined))
      const fromHead = Stream.unwrap(
        Effect.map(channel.read(SequencerService.getHead, {}, HEAD_MS), ({ checksum, epoch, fork, head_seq }) =>
          after({ epoch, seq: head_seq, fork: fork === "" ? undefined : fork, checksum })
        )
      )
      return position === undefined ? fromHead : Stream.catchTag(after(position), "FeedGone", () => fromHead)
    })
  )

/** Decodes a frame. Throws where the bytes are not a frame. */
export const read = (bytes: Uint8Array): ReadonlyArray<FeedFrame> => {
  const { checksums, epoch, events, heartbeat, ...response } = GrpcFeed.decodeFrame(bytes)
  const fork = response.fork === "" ? undefined : response.fork
  const frames: Array<FeedFrame> = []
  if (events.length > 0) {
    const known = GrpcFeed.lastOf(checksums, events.length)
    frames.push({ type: "events", epoch, fork, events: events.map(toEvent), checksums: known })
  }
  if (heartbeat !== undefined) frames.push(toHeartbeat(epoch, fork, heartbeat))
  return frames
}
