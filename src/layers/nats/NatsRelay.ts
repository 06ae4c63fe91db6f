/**
 * Fills the stream of JetStream from the sequencer's own, beginning behind the last event that the copy holds, or at the
 * head where it holds nothing that the sequencer still knows.
 *
 * A frame is published under the id `epoch:first:last` (a heartbeat's has its time besides), so that what is published
 * again is dropped there; several relays do no harm. A relay that fails in between leaves a gap, which readers see and
 * fill from the sequencer.
 */
import { headers } from "@nats-io/transport-node"
import { Effect, Layer, Stream } from "effect"
import type { StreamPosition } from "../../domain/Event.ts"
import type { Endpoint } from "../grpc/Channel.ts"
import { type EventFrame, follow } from "../grpc/EventFrames.ts"
import { asked, type Connected, NatsStream, SUBJECT } from "./NatsStream.ts"

/** NATS takes messages of up to 1 MiB, headers included. */
const BYTES_MAX = 512 * 1024
const AGAIN = "500 millis"

const idOf = ({ epoch, first, last }: EventFrame, now_ms: number): string =>
  first > last ? `${epoch}:${first}:${last}:${now_ms}` : `${epoch}:${first}:${last}`

const publish = ({ js }: Connected, frame: EventFrame, now_ms: number) =>
  asked(() => {
    const marks = headers()
    marks.set("epoch", frame.epoch)
    marks.set("first", String(frame.first))
    marks.set("last", String(frame.last))
    return js.publish(SUBJECT, frame.bytes, { msgID: idOf(frame, now_ms), headers: marks })
  })

export const layer = (endpoint: Endpoint): Layer.Layer<never, never, NatsStream> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const nats = yield* NatsStream
      const relay = Effect.gen(function* () {
        const connected = yield* nats.connected
        const ends = yield* connected.ends
        const place = ends === undefined ? undefined : yield* connected.placeOf(ends.last)
        const position: StreamPosition | undefined =
          place === undefined ? undefined : { epoch: place.epoch, seq: place.last }
        const publishAll = (frames: ReadonlyArray<EventFrame>) =>
          Effect.clockWith((clock) =>
            Effect.forEach(frames, (frame) => publish(connected, frame, clock.currentTimeMillisUnsafe()), {
              concurrency: "unbounded",
              discard: true
            })
          )
        yield* follow(endpoint, position, BYTES_MAX).pipe(Stream.runForEachArray(publishAll))
      })
      yield* relay.pipe(
        Effect.catch((error) => Effect.logDebug("relay: events not published", error)),
        Effect.andThen(Effect.sleep(AGAIN)),
        Effect.forever,
        Effect.forkScoped
      )
    })
  )
