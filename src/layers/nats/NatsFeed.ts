/**
 * The Feed port over the copy in JetStream, with the sequencer's own stream as the fallback.
 *
 * The sequencer alone decides which events exist: each event must follow the seq before it. Where the copy has a gap,
 * another epoch or no data, or is silent, the reader continues with the sequencer's stream from its position. It returns
 * when the copy holds that position again. An outage or data loss of NATS costs the sequencer one more reader and loses no
 * event.
 */
import { DeliverPolicy } from "@nats-io/jetstream"
import { Effect, Layer, Stream } from "effect"
import { mayAgree, type StreamPosition } from "../../domain/Event.ts"
import { Feed, type FeedFrame } from "../../services/Feed.ts"
import * as Daemon from "../../services/operations/Daemon.ts"
import { read } from "../grpc/EventFrames.ts"
import { attempt, checksumOf, NatsStream, NatsUnavailable, type Place, STREAM } from "./NatsStream.ts"

export interface Options {
  /** Silence after which a reader leaves the copy; heartbeats come once a second. Default 2.5 s. */
  readonly silence_ms?: number
  /** Interval at which a reader of the sequencer checks whether the copy holds its position. Default 1 s. */
  readonly check_every_ms?: number
}

/** Pause and number of attempts while the copy catches up with a reader. */
const CATCH_UP_EVERY = "20 millis"
const CATCH_UP_TRIES = 25
/** Messages buffered for a reader. */
const WAITING_MAX = 256

/** The position of a reader, and the check of what follows it. */
export class Progress {
  position: StreamPosition | undefined
  /** Whether the copy held a recent position. */
  isNear = false
  constructor(position: StreamPosition | undefined) {
    this.position = position
  }
  /**
   * The part of a frame that is new; `[]`: nothing is new; undefined: the frame does not follow. `before`: checksum of the
   * history before its first event.
   */
  take(frame: FeedFrame, before?: number): ReadonlyArray<FeedFrame> | undefined {
    if (frame.type === "interrupted") return [frame]
    const { epoch, fork } = frame
    const { position } = this
    const seq = position?.seq ?? 0
    if (frame.type === "heartbeat") {
      const head = { epoch, fork, seq: frame.head_seq, checksum: frame.checksum }
      if (frame.head_seq > seq || (position !== undefined && !mayAgree(position, head))) return undefined
      this.position ??= { epoch, seq, fork, checksum: frame.checksum }
      return frame.head_seq < seq ? [] : [frame]
    }
    const events = frame.events.filter((event) => event.seq > seq)
    const skipped = frame.events.length - events.length
    const checksum = skipped === 0 ? before : frame.checksums?.[skipped - 1]
    const isAt = skipped === 0 || frame.events[skipped - 1]!.seq === seq
    if (position !== undefined && !mayAgree(position, { epoch, fork, seq, checksum: isAt ? checksum : undefined }))
      return undefined
    if (events.length === 0) return []
    if (events.some((event, i) => event.seq !== seq + 1 + i)) return undefined
    this.accept(frame)
    return [{ ...frame, events, checksums: frame.checksums?.slice(skipped) }]
  }
  /** Moves to the end of a frame of the sequencer itself. */
  accept(frame: FeedFrame): void {
    if (frame.type === "interrupted") return
    const { epoch, fork } = frame
    if (frame.type === "events")
      this.position = { epoch, seq: frame.events.at(-1)!.seq, fork, checksum: frame.checksums?.at(-1) }
    else this.position = { ...(this.position ?? { epoch, seq: 0 }), fork }
  }
}

/** The message with the event after a position, or that ends with the position; undefined: the copy lacks it. */
const locate = Effect.fnUntraced(function* (position: StreamPosition | undefined) {
  const { ends, placeOf } = yield* (yield* NatsStream).connected
  const kept = yield* ends
  if (position === undefined || kept === undefined) return undefined
  const newest = yield* placeOf(kept.last)
  const isOf = (place: Place | undefined) =>
    place?.epoch === position.epoch && (position.fork === undefined || place.fork === position.fork)
  if (newest === undefined || !isOf(newest) || newest.last < position.seq) return undefined
  let [low, high] = [kept.first, kept.last]
  let found: number | undefined
  while (low <= high) {
    const middle = Math.floor((low + high) / 2)
    const place = yield* placeOf(middle)
    // in a copy of several histories the older ones come first
    if (place === undefined || !isOf(place) || place.first <= position.seq + 1) {
      found = isOf(place) ? middle : found
      low = middle + 1
    } else high = middle - 1
  }
  return found
})

export const layer = (options: Options = {}): Layer.Layer<Feed, never, Feed | NatsStream> =>
  Layer.effect(
    Feed,
    Effect.gen(function* () {
      const nats = yield* NatsStream
      const sequencer = yield* Feed
      const silence_ms = options.silence_ms ?? 2_500
      const check_every_ms = options.check_every_ms ?? 1_000

      const found = (position: StreamPosition | undefined) =>
        Effect.orElseSucceed(Effect.provideService(locate(position), NatsStream, nats), () => undefined)

      /** The same, with retries while the copy is close to the position of a reader that comes from the sequencer. */
      const locateWithRetry = Effect.fnUntraced(function* (progress: Progress) {
        let first = yield* found(progress.position)
        for (let i = 0; i < CATCH_UP_TRIES && progress.isNear && first === undefined; i++) {
          yield* Effect.sleep(CATCH_UP_EVERY)
          first = yield* found(progress.position)
        }
        progress.isNear = false
        return first
      })

      /** Messages from a number on, until the copy is lost or silent. */
      const messages = (first: number) =>
        Stream.unwrap(
          Effect.gen(function* () {
            const { js } = yield* nats.connected
            const consumer = yield* attempt(() =>
              js.consumers.get(STREAM, {
                deliver_policy: DeliverPolicy.StartSequence,
                opt_start_seq: first
              })
            )
            const messages = yield* Effect.acquireRelease(
              attempt(() => consumer.consume({ max_messages: WAITING_MAX })),
              (messages) =>
                Effect.promise(() =>
                  messages.close().then(
                    () => {},
                    () => {}
                  )
                )
            )
            return Stream.fromAsyncIterable(messages, (cause) => new NatsUnavailable({ cause }))
          })
        ).pipe(Stream.timeout(silence_ms))

      /** Frames from the copy, as long as it holds what follows. */
      const fromCopy = (progress: Progress) =>
        Stream.unwrap(
          Effect.map(locateWithRetry(progress), (first) =>
            first === undefined
              ? Stream.empty
              : messages(first).pipe(
                  Stream.map((message) => {
                    const taken: Array<FeedFrame> = []
                    for (const frame of read(message.data)) {
                      const added = progress.take(frame, checksumOf(message.headers, "before"))
                      if (added === undefined) return { taken, follows: false }
                      taken.push(...added)
                    }
                    return { taken, follows: true }
                  }),
                  Stream.takeUntil(({ follows }) => !follows),
                  Stream.flatMap(({ taken }) => Stream.fromIterable(taken)),
                  Stream.catchCause(() => Stream.empty)
                )
          )
        )

      /** Frames from the sequencer, until the copy holds what follows. */
      const fromSequencer = (progress: Progress) =>
        Stream.unwrap(
          Effect.gen(function* () {
            yield* Effect.suspend(() => found(progress.position)).pipe(
              Effect.map((first) => {
                progress.isNear = first !== undefined
              }),
              Effect.delay(check_every_ms),
              Daemon.repeat("position in the copy of NATS")
            )
            return sequencer.follow(progress.position).pipe(
              Stream.map((frame) => {
                progress.accept(frame)
                return frame
              }),
              Stream.takeUntil(() => progress.isNear)
            )
          })
        )

      return Feed.of({
        follow: (position) =>
          Stream.suspend(() => {
            const progress = new Progress(position)
            return Stream.forever(
              Stream.concat(
                Stream.suspend(() => fromCopy(progress)),
                Stream.suspend(() => fromSequencer(progress))
              )
            )
          }).pipe(Stream.buffer({ capacity: WAITING_MAX }))
      })
    })
  )
