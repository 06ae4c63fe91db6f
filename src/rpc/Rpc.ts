/**
 * Every procedure behind one path, by POST and over WebSocket. It is built in the router of the REST surface, whose endpoints
 * the procedures call.
 *
 * `handlers` are the procedures by themselves, for an app that serves them in its own way.
 */
import { Effect, FiberSet, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { RpcServer } from "effect/rpc"
import { RpcConnections } from "../services/operations/RpcConnections.ts"
import { RPC_PATH, Rpcs } from "./api/Rpcs.ts"
import * as CallServer from "./CallServer.ts"
import * as FeedHandlers from "./handlers/FeedHandlers.ts"
import * as OperationHandlers from "./handlers/OperationHandlers.ts"
import * as HttpCalls from "./HttpCalls.ts"
import { SocketCalls } from "./SocketCalls.ts"

/** All procedures; they need the endpoints and the feeds of a gateway. A call counts for the client of the request that carries it. */
export const handlers = Layer.mergeAll(OperationHandlers.layer, FeedHandlers.layer)

const overHttp = Effect.gen(function* () {
  const server = yield* CallServer.make(false)
  const router = yield* HttpRouter.HttpRouter
  // the library's client sends the path with the slash
  for (const path of [RPC_PATH, `${RPC_PATH}/`] as const) yield* router.add("POST", path, HttpCalls.answer(server))
  return server.protocol
})

/** The sockets are those of the transport, with its limits. */
const overWebSocket = Effect.gen(function* () {
  const server = yield* CallServer.make(true)
  const run = yield* FiberSet.makeRuntime<never>()
  const connections = yield* RpcConnections
  const fork = (effect: Effect.Effect<void>, then: () => void) => void run(effect).addObserver(then)
  yield* connections.serve((connection) => new SocketCalls(server, connection, fork))
  return server.protocol
})

/** A server of its own for each transport. */
const served = <R>(protocol: Effect.Effect<RpcServer.Protocol["Service"], never, R>) =>
  RpcServer.layer(Rpcs, { disableTracing: true, disableFatalDefects: true }).pipe(
    Layer.provide(Layer.effect(RpcServer.Protocol, protocol))
  )

/** The routes. */
export const layer = Layer.mergeAll(served(overHttp), served(overWebSocket)).pipe(Layer.provide(handlers))
