/**
 * Every procedure behind one path, over WebSocket and over HTTP. It is built in the router of the REST surface, whose endpoints
 * it asks.
 *
 * `handlers` are the procedures by themselves, for an app that serves them in its own way.
 */
import { ByteSize, Duration, Effect, Layer } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { RpcSerialization, RpcServer } from "effect/rpc"
import { FeedLines } from "../services/FeedLines.ts"
import { RPC_PATH, Rpcs } from "./api/Rpcs.ts"
import * as FeedHandlers from "./handlers/FeedHandlers.ts"
import { InHand } from "./handlers/InHand.ts"
import * as OperationHandlers from "./handlers/OperationHandlers.ts"

/** Largest message of a caller, in bytes: a call holds no more than the body of a request may. */
export const MESSAGE_BYTES_MAX = 256 * 1024
const MESSAGE_SIZE_MAX = ByteSize.fromInputUnsafe(MESSAGE_BYTES_MAX)

/** Time in which the last answers are written, once no call is in hand any more. */
const LAST_WORDS = Duration.millis(50)

/** All procedures; they need the endpoints and the feeds of a gateway. */
export const handlers = Layer.mergeAll(OperationHandlers.layer, FeedHandlers.layer).pipe(Layer.provide(InHand.layer))

const overHttp = Effect.gen(function* () {
  const { httpEffect, protocol } = yield* RpcServer.makeProtocolWithHttpEffect()
  const router = yield* HttpRouter.HttpRouter
  const bounded = Effect.provideService(httpEffect, HttpIncomingMessage.MaxBodySize, MESSAGE_SIZE_MAX)
  // the library's client asks with the slash
  for (const path of [RPC_PATH, `${RPC_PATH}/`] as const) yield* router.add("POST", path, bounded)
  return protocol
})

const overWebSocket = Effect.gen(function* () {
  const { httpEffect, protocol } = yield* RpcServer.makeProtocolWithHttpEffectWebsocket
  const router = yield* HttpRouter.HttpRouter
  const inHand = yield* InHand
  const { over } = yield* FeedLines
  // at a shutdown a socket ends behind its streams and calls: the server would wait for it
  const leaving = over.pipe(
    Effect.andThen(inHand.none),
    Effect.andThen(Effect.sleep(LAST_WORDS)),
    Effect.as(HttpServerResponse.empty())
  )
  yield* router.add("GET", RPC_PATH, (request: HttpServerRequest.HttpServerRequest) =>
    request.headers["upgrade"]?.toLowerCase() === "websocket"
      ? Effect.raceFirst(httpEffect, leaving)
      : // what the path speaks is told by the router, as of all paths
        Effect.fail(new HttpServerError.HttpServerError({ reason: new HttpServerError.RouteNotFound({ request }) }))
  )
  return protocol
})

/** A server of its own for each way in. */
const served = <R>(protocol: Effect.Effect<RpcServer.Protocol["Service"], never, R>) =>
  RpcServer.layer(Rpcs, { disableTracing: true, disableFatalDefects: true }).pipe(
    Layer.provide(Layer.effect(RpcServer.Protocol, protocol))
  )

/** The routes. */
export const layer = Layer.mergeAll(served(overHttp), served(overWebSocket)).pipe(
  Layer.provide([handlers, InHand.layer]),
  Layer.provide(RpcSerialization.layerNdjson)
)
