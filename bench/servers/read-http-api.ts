/** A peer of reads: Effect's HttpApi as in its examples, with a response schema. */
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer, ManagedRuntime, Schema } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { OrderBook } from "../../src/domain/Market.ts"
import { book, headers } from "./reads.ts"
import { serve } from "./usage.ts"

const api = HttpApi.make("peer").add(
  HttpApiGroup.make("market").add(
    HttpApiEndpoint.get("orderbook", "/api/v1/market/orderbook", {
      query: { symbol: Schema.String, depth: Schema.optionalKey(Schema.Int) },
      success: OrderBook
    })
  )
)
const handlers = HttpApiBuilder.group(api, "market", (handlers) =>
  handlers.handle("orderbook", () => Effect.succeed(book as typeof OrderBook.Type))
)
/** The headers of the gateway's responses. */
const fields = HttpRouter.middleware((app) => Effect.map(app, HttpServerResponse.setHeaders(headers)), { global: true })
const server = createServer()
const runtime = ManagedRuntime.make(
  HttpRouter.serve(Layer.mergeAll(HttpApiBuilder.layer(api).pipe(Layer.provide(handlers)), fields), {
    disableLogger: true,
    disableListenLog: true
  }).pipe(Layer.provide(NodeHttpServer.layer(() => server, { port: 0, host: "127.0.0.1" })))
)
await runtime.runPromise(Effect.void)
serve((server.address() as AddressInfo).port)
