/** The event stream from its copy in NATS, with the sequencer's own stream as the fallback. */
import { Layer, type Redacted } from "effect"
import type { Feed } from "../../services/Feed.ts"
import type { Endpoint } from "../grpc/Channel.ts"
import * as NatsFeed from "./NatsFeed.ts"
import * as NatsRelay from "./NatsRelay.ts"
import * as NatsStream from "./NatsStream.ts"

/** `filledFrom`: the sequencer whose events this gateway copies; undefined where another process copies them. */
export const layer = <E, R>(
  url: Redacted.Redacted<string>,
  own: Layer.Layer<Feed, E, R>,
  filledFrom: Endpoint | undefined
) => {
  const stream = NatsStream.layer({ url })
  const copy = NatsFeed.layer().pipe(Layer.provide(own), Layer.provide(stream))
  return filledFrom === undefined ? copy : Layer.merge(copy, NatsRelay.layer(filledFrom).pipe(Layer.provide(stream)))
}
