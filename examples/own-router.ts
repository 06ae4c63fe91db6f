/** The procedures of an exchange in the router of another app, beside its own routes and on its own port. */
import { NodeHttpServer } from "@effect/platform-node"
import { Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { RpcSerialization, RpcServer } from "effect/rpc"
import { createServer } from "node:http"
import { Rpc, Rpcs } from "../src/index.ts"
import { Exchange } from "./embed.ts"

const Mine = HttpRouter.add("GET", "/mine", HttpServerResponse.text("mine"))
export const App = HttpRouter.serve(Layer.merge(Mine, RpcServer.layerHttp({ group: Rpcs, path: "/exchange" }))).pipe(
  Layer.provide([Rpc.handlers, RpcSerialization.layerNdjson]),
  Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0 })),
  Layer.provide(Exchange(() => {}))
)
