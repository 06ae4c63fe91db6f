/** The three transports of a call: inside the process, over HTTP, over WebSocket. */
import { NodeSocket } from "@effect/platform-node"
import { Effect, Layer, type Scope } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { RpcClient, RpcSerialization, RpcTest } from "effect/rpc"
import type * as RpcClientError from "effect/rpc/RpcClientError"
import { Rpcs } from "../../src/rpc/api/Rpcs.ts"
import * as Rpc from "../../src/rpc/Rpc.ts"
import type { Exchange } from "../../verification/harness/Exchange.ts"

type Client = RpcClient.FromGroup<typeof Rpcs, RpcClientError.RpcClientError>
export type Program<A> = (client: Client) => Effect.Effect<A, unknown, Scope.Scope>
/** Runs a program with its own client, and closes both. */
export type Caller = <A>(exchange: Pick<Exchange, "url" | "inside">, program: Program<A>) => Promise<A>

/** Headers as a proxy would set them. */
export const overHttp =
  (headers: Record<string, string> = {}): Caller =>
  ({ url }, program) => {
    const transformClient = HttpClient.mapRequest(HttpClientRequest.setHeaders(headers))
    const protocol = RpcClient.layerProtocolHttp({ url: `${url}/rpc`, transformClient }).pipe(
      Layer.provide([FetchHttpClient.layer, RpcSerialization.layerNdjson])
    )
    return Effect.runPromise(
      RpcClient.make(Rpcs).pipe(Effect.flatMap(program), Effect.scoped, Effect.provide(protocol))
    )
  }

export const overWebSocket: Caller = ({ url }, program) => {
  const protocol = RpcClient.layerProtocolSocket().pipe(
    Layer.provide([NodeSocket.layerWebSocket(`${url.replace("http", "ws")}/rpc`), RpcSerialization.layerNdjson])
  )
  return Effect.runPromise(RpcClient.make(Rpcs).pipe(Effect.flatMap(program), Effect.scoped, Effect.provide(protocol)))
}

export const inside: Caller = ({ inside }, program) =>
  inside(RpcTest.makeClient(Rpcs).pipe(Effect.flatMap(program), Effect.scoped, Effect.provide(Rpc.handlers)))

export const callers = { RpcTest: inside, HTTP: overHttp(), WebSocket: overWebSocket }

/** The headers of a token's owner. */
export const as = ({ token }: { readonly token: string }) => ({ headers: { authorization: `Bearer ${token}` } })
