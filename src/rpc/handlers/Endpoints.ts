/**
 * Calls of the endpoints inside the process: every check, limit and service of REST, without a socket.
 *
 * It calls the router that it is built in. Routes may be added to the router later.
 */
import { Context, Effect, Layer, Option } from "effect"
import { Headers, HttpClient, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { currentPeer } from "./Peer.ts"

export class Endpoints extends Context.Service<Endpoints, HttpClient.HttpClient>()("gateway/rpc/Endpoints") {
  static readonly layer = Layer.effect(
    Endpoints,
    Effect.map(HttpRouter.HttpRouter, (router) => {
      let whole: ReturnType<typeof router.asHttpEffect> | undefined
      return HttpClient.make((request) =>
        Effect.flatMap(currentPeer, ({ address, forwarded }) => {
          const asked = HttpServerRequest.fromClientRequest(request)
          const placed = asked.modify({
            remoteAddress: Option.fromUndefinedOr(address),
            headers: forwarded === undefined ? asked.headers : Headers.set(asked.headers, "x-forwarded-for", forwarded)
          })
          return (whole ??= router.asHttpEffect()).pipe(
            Effect.provideService(HttpServerRequest.HttpServerRequest, placed),
            Effect.scoped,
            Effect.map((response) => HttpServerResponse.toClientResponse(response, { request })),
            Effect.orDie
          )
        })
      )
    })
  )
}
