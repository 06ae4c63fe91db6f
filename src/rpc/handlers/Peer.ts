/** Who calls: where the call comes from is told by the request that carries it, never by the call itself. */
import { Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import type { Peer } from "../../services/FeedLines.ts"

export const peer: Effect.Effect<Peer> = Effect.map(
  Effect.serviceOption(HttpServerRequest.HttpServerRequest),
  Option.match({
    // a caller in this process
    onNone: () => ({ address: undefined, forwarded: undefined }),
    onSome: ({ headers, remoteAddress }) => ({
      address: Option.getOrUndefined(remoteAddress),
      forwarded: headers["x-forwarded-for"]
    })
  })
)
