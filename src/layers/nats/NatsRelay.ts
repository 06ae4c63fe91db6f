/**
 * Copies the sequencer's event stream to JetStream, from the last event of the copy on, or from the sequencer's head where it
 * no longer keeps the events after the copy.
 *
 * The message id of a frame is `epoch:first:last:checksum` (plus the time, for a heartbeat), so the server drops duplicates and several
 * relays may run. A relay that fails can leave a gap, which readers detect and fill from the sequencer.
 */
import { headers } from "@nats-io/transport-node"
import { Effect, Layer, Stream } from "effect"
import type { StreamPosition } from "../../domain/Event.ts"
import * as Daemon from "../../services/operations/Daemon.ts"
import type { Endpoint } from "../grpc/Channel.ts"
import { type EventFrame, follow } from "../grpc/EventFrames.ts"
import { attempt, type Connected, NatsStream, SUBJECT } from "./NatsStream.ts"

/** NATS accepts messages of up to 1 MiB, headers included. */
const BYTES_MAX = 512 * 1024
const RETRY = "500 millis"

const idOf = ({ checksum, epoch, first, last }: EventFrame, now_ms: number): string =>
  [epoch, first, last, checksum ?? "", ...(first > last ? [now_ms] : [])].join(":")

const publish = ({ js }: Connected, frame: EventFrame, now_ms: number) =>
  attempt(() => {
    const metadata = headers()
    metadata.set("epoch", frame.epoch)
    metadata.set("first", String(frame.first))
    metadata.set("last", String(frame.last))
    for (const name of ["fork", "before", "checksum"] as const)
      if (frame[name] !== undefined) metadata.set(name, String(frame[name]))
    return js.publish(SUBJECT, frame.bytes, { msgID: idOf(frame, now_ms), headers: metadata })
  })

export const layer = (endpoint: Endpoint): Layer.Layer<never, never, NatsStream> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const nats = yield* NatsStream
      const relay = Effect.gen(function* () {
        const connected = yield* nats.connected
        const ends = yield* connected.ends
        const place = ends === undefined ? undefined : yield* connected.placeOf(ends.last)
        const position: StreamPosition | undefined = place === undefined ? undefined : { ...place, seq: place.last }
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
        Effect.andThen(Effect.sleep(RETRY)),
        Daemon.repeat("relay to NATS")
      )
    })
  )
