/**
 * The Feed port over StreamEvents: reopens at the next seq after every loss. A gap closes the connection; repeated events
 * are dropped. Source: docs/contract/boundary.md#one-event-stream, #sequencer.
 */
import { type ServiceError, status } from "@grpc/grpc-js"
import { Effect, Layer, Stream } from "effect"
import type { Event, StreamPosition } from "../../domain/Event.ts"
import { WireReader } from "../../node/WireReader.ts"
import { SequencerService, StreamEventsResponse } from "../../proto/gateway/v1/sequencer.ts"
import { Feed, FeedGone, type FeedFrame } from "../../services/Feed.ts"
import { type Channel, type Endpoint, follow, make as makeChannel } from "./Channel.ts"
import { WireError } from "./Enums.ts"
import { toEvent, toHeartbeat } from "./WireEvents.ts"

export const decodeFrame = (bytes: Uint8Array): StreamEventsResponse =>
  StreamEventsResponse.decode(new WireReader(bytes))

const rpc = { ...SequencerService.streamEvents, responseDeserialize: decodeFrame }

/** Reads the frames over all connections of one subscription, and tracks where the next connection begins. */
export class Reader {
  private epoch: string
  private seq: number
  private fork: string | undefined
  private checksum: number | undefined
  /** The backend runs another epoch: no event after the position will follow. */
  gone = false

  constructor(position: StreamPosition | undefined) {
    this.epoch = position?.epoch ?? ""
    this.seq = position?.seq ?? 0
    this.fork = position?.fork
    this.checksum = position?.checksum
  }

  get request() {
    return { epoch: this.epoch, from_seq: this.seq + 1, fork: this.fork ?? "", checksum: this.checksum }
  }

  /** The position of the last event that was read; undefined before the first frame. */
  get position(): StreamPosition | undefined {
    const { checksum, epoch, fork, seq } = this
    return epoch === "" ? undefined : { epoch, seq, fork, checksum }
  }

  /** The new events of a frame, or its heartbeat. Throws where a seq is missing; the stream then reopens at that seq. */
  read(frame: StreamEventsResponse): ReadonlyArray<FeedFrame> {
    const { checksums, epoch, heartbeat } = frame
    const fork = frame.fork === "" ? undefined : frame.fork
    if (this.epoch === "") this.epoch = epoch
    if (epoch !== this.epoch) {
      this.gone = true
      throw new WireError(`the epoch changed from ${this.epoch} to ${epoch}`)
    }
    const frames: Array<FeedFrame> = []
    const events: Array<Event> = []
    let { seq } = this
    for (const event of frame.events) {
      if (event.seq <= this.seq) continue
      if (event.seq !== seq + 1) throw new WireError(`event ${event.seq} follows ${seq} instead of ${seq + 1}`)
      events.push(toEvent(event))
      seq = event.seq
    }
    this.seq = seq
    this.fork = fork ?? this.fork
    if (events.length > 0) {
      this.checksum = checksums.at(-1)
      frames.push({ type: "events", epoch, fork, events, checksums: lastOf(checksums, events.length) })
    }
    if (heartbeat !== undefined) frames.push(toHeartbeat(epoch, fork, heartbeat))
    return frames
  }
}

/** The checksums of the last events of a frame; undefined where the backend has none. */
export const lastOf = (checksums: ReadonlyArray<number>, count: number): ReadonlyArray<number> | undefined =>
  checksums.length < count ? undefined : checksums.slice(checksums.length - count)

/** Why the stream cannot be resumed; undefined: the connection was lost. */
const goneOf = (reader: Reader, error: ServiceError): FeedGone | undefined => {
  if (reader.gone) return new FeedGone({ reason: "Restarted" })
  if (error.code === status.OUT_OF_RANGE) return new FeedGone({ reason: "Expired" })
  if (error.code !== status.FAILED_PRECONDITION) return undefined
  const isFork = error.metadata?.get("error-reason")[0] === "Forked"
  return new FeedGone({ reason: isFork ? "Forked" : "Restarted" })
}

/** StreamEvents without end; `read` converts each frame. */
export const frames = <A>(
  channel: Channel,
  position: StreamPosition | undefined,
  read: (reader: Reader, frame: StreamEventsResponse) => ReadonlyArray<A>,
  lost: A
): Stream.Stream<A, FeedGone> =>
  Stream.suspend(() => {
    const reader = new Reader(position)
    return follow<StreamEventsResponse, A, FeedGone>({
      name: "events",
      channel,
      open: () => channel.responses(rpc, reader.request),
      read: (frame) => read(reader, frame),
      lost,
      final: (error) => goneOf(reader, error)
    })
  })

/** The port over a channel. */
export const make = (channel: Channel) =>
  Feed.of({
    follow: (position) =>
      frames<FeedFrame>(channel, position, (reader, frame) => reader.read(frame), { type: "interrupted" })
  })

export const layer = (endpoint: Endpoint): Layer.Layer<Feed> =>
  Layer.effect(Feed, Effect.map(makeChannel(endpoint), make))
