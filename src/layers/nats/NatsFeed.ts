/**
 * The Feed port over the copy in JetStream, on top of the Feed of the sequencer itself.
 *
 * The sequencer alone says what was accepted: every event is held against the seq before it, and wherever the copy has a
 * gap, another epoch, nothing, or is silent, the reader goes on with the sequencer's own stream from its position, and
 * comes back when the copy holds that position again. So a NATS that is away or lost its data costs the sequencer one
 * reader more, and nobody an event.
 */
import { DeliverPolicy } from "@nats-io/jetstream"
import { Effect, Layer, Stream } from "effect"
import type { StreamPosition } from "../../domain/Event.ts"
import { Feed, type FeedFrame } from "../../services/Feed.ts"
import { read } from "../grpc/EventFrames.ts"
import { asked, NatsStream, NatsUnavailable, STREAM } from "./NatsStream.ts"

export interface Options {
  /** A copy that brings nothing for so long, not even a heartbeat (one a second), is left. Default 2.5 s. */
  readonly silence_ms?: number
  /** How often a reader of the sequencer looks whether the copy holds its position. Default 1 s. */
  readonly look_every_ms?: number
}

/** How long, and how often, a reader waits for the copy to catch up with it. */
const CATCH_UP_EVERY = "20 millis"
const CATCH_UP_TRIES = 25
/** Messages that wait for their reader. */
const WAITING_MAX = 256

/** What a reader has, and what of a frame is new to it. */
export class Progress {
  position: StreamPosition | undefined
  /** The copy held a position of just now. */
  isNear = false
  constructor(position: StreamPosition | undefined) {
    this.position = position
  }
  /** The frame less what was read before; `[]`: nothing is new; `undefined`: it does not follow. */
  take(frame: FeedFrame): ReadonlyArray<FeedFrame> | undefined {
    if (frame.type === "interrupted") return [frame]
    const { epoch } = frame
    if (this.position !== undefined && this.position.epoch !== epoch) return undefined
    const seq = this.position?.seq ?? 0
    if (frame.type === "heartbeat") {
      if (frame.head_seq > seq) return undefined
      this.position ??= { epoch, seq }
      return frame.head_seq < seq ? [] : [frame]
    }
    const events = frame.events.filter((event) => event.seq > seq)
    if (events.length === 0) return []
    if (events.some((event, i) => event.seq !== seq + 1 + i)) return undefined
    this.position = { epoch, seq: seq + events.length }
    return [{ type: "events", epoch, events }]
  }
}

/** The message that holds the event after a position, or ends with it; `undefined`: the copy does not reach there. */
const locate = Effect.fnUntraced(function* (position: StreamPosition | undefined) {
  const { ends, placeOf } = yield* (yield* NatsStream).connected
  const kept = yield* ends
  if (position === undefined || kept === undefined) return undefined
  const newest = yield* placeOf(kept.last)
  if (newest === undefined || newest.epoch !== position.epoch || newest.last < position.seq) return undefined
  let [low, high] = [kept.first, kept.last]
  let found: number | undefined
  while (low <= high) {
    const middle = (low + high) >> 1
    const place = yield* placeOf(middle)
    // of a copy that goes on over epochs the older part lies before
    if (place === undefined || place.epoch !== position.epoch || place.first <= position.seq + 1) {
      found = place?.epoch === position.epoch ? middle : found
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
      const look_every_ms = options.look_every_ms ?? 1_000

      const found = (position: StreamPosition | undefined) =>
        Effect.orElseSucceed(Effect.provideService(locate(position), NatsStream, nats), () => undefined)

      /** The same, once more and again while the copy is about to hold what the reader of the sequencer has. */
      const awaited = Effect.fnUntraced(function* (progress: Progress) {
        let first = yield* found(progress.position)
        for (let i = 0; i < CATCH_UP_TRIES && progress.isNear && first === undefined; i++) {
          yield* Effect.sleep(CATCH_UP_EVERY)
          first = yield* found(progress.position)
        }
        progress.isNear = false
        return first
      })

      /** Messages from one on, until the copy is lost or silent. */
      const messages = (first: number) =>
        Stream.unwrap(
          Effect.gen(function* () {
            const { js } = yield* nats.connected
            const consumer = yield* asked(() =>
              js.consumers.get(STREAM, {
                deliver_policy: DeliverPolicy.StartSequence,
                opt_start_seq: first
              })
            )
            const messages = yield* Effect.acquireRelease(
              asked(() => consumer.consume({ max_messages: WAITING_MAX })),
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

      /** From the copy, for as long as it holds what comes next. */
      const fromCopy = (progress: Progress) =>
        Stream.unwrap(
          Effect.map(awaited(progress), (first) =>
            first === undefined
              ? Stream.empty
              : messages(first).pipe(
                  Stream.map((message) => {
                    const taken: Array<FeedFrame> = []
                    for (const frame of read(message.data)) {
                      const some = progress.take(frame)
                      if (some === undefined) return { taken, follows: false }
                      taken.push(...some)
                    }
                    return { taken, follows: true }
                  }),
                  Stream.takeUntil(({ follows }) => !follows),
                  Stream.flatMap(({ taken }) => Stream.fromIterable(taken)),
                  Stream.catchCause(() => Stream.empty)
                )
          )
        )

      /** From the sequencer, until the copy holds what comes next. */
      const fromSequencer = (progress: Progress) =>
        Stream.unwrap(
          Effect.gen(function* () {
            yield* Effect.suspend(() => found(progress.position)).pipe(
              Effect.map((first) => {
                progress.isNear = first !== undefined
              }),
              Effect.delay(look_every_ms),
              Effect.forever,
              Effect.forkScoped
            )
            return sequencer.follow(progress.position).pipe(
              Stream.map((frame) => {
                progress.take(frame)
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
          })
      })
    })
  )
