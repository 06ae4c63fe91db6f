/** The client of a call. The request or the connection that carries the call says where it comes from, never the call itself. */
import { Context, Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import type { Peer } from "../../services/operations/InProcessFeeds.ts"

/** The client of a request. */
export const peerOf = (request: HttpServerRequest.HttpServerRequest): Peer => ({
  address: Option.getOrUndefined(request.remoteAddress),
  forwarded: request.headers["x-forwarded-for"]
})

/** The client of a connection of the gateway; undefined: another server carries the call. */
export const ConnectionPeer = Context.Reference<Peer | undefined>("gateway/rpc/ConnectionPeer", {
  defaultValue: () => undefined
})

const inProcess: Peer = { address: undefined, forwarded: undefined }

/** Another server, as in the router of an app, passes the context of its request on. Without one it is a caller in this process. */
export const currentPeer: Effect.Effect<Peer> = Effect.contextWith((context: Context.Context<never>) => {
  const request = Context.getOrUndefined(context, HttpServerRequest.HttpServerRequest)
  return Effect.succeed(Context.get(context, ConnectionPeer) ?? (request === undefined ? inProcess : peerOf(request)))
})
