/** Calls by POST: a body of calls, answered as they end. */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Context, Effect, Pull, Queue, Scope, Stream, Cause } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { RpcSerialization } from "effect/rpc"
import type { IncomingMessage } from "node:http"
import * as ApiError from "../domain/ApiError.ts"
import { httpStatusOf } from "../domain/Reason.ts"
import { type Budget, InboundBudget } from "../services/operations/InboundBudget.ts"
import * as RequestBody from "../services/operations/RequestBody.ts"
import { RequestContext } from "../services/operations/RequestContext.ts"
import { defectText } from "./CallMessages.ts"
import type { CallServer, Connection, Load } from "./CallServer.ts"
import { peerOf } from "./handlers/Peer.ts"

/** Parts of an answer that its client has not read; calls behind them wait. */
const PARTS_MAX = 16

/** Calls in flight of a connection: its client may send requests without waiting for answers. */
const loads = new WeakMap<object, Load>()
const loadOf = (connection: object): Load => {
  let load = loads.get(connection)
  if (load === undefined) loads.set(connection, (load = { inFlight: 0 }))
  return load
}

const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const { contentType } = RpcSerialization.ndjson

const { details, code, message } = ApiError.ofReason("BodyTooLarge")
const tooLarge = (request_id: string | undefined) =>
  HttpServerResponse.jsonUnsafe(
    { code, message, details, request_id },
    { status: httpStatusOf("BodyTooLarge"), headers: { connection: "close" } }
  )

/** The body of a request. A request that was cut has no client left to answer. */
const bodyOf = (
  source: IncomingMessage,
  response: Parameters<typeof RequestBody.readEffect>[1],
  budget: Budget,
  address: string
): Effect.Effect<Buffer | undefined | "too-large"> =>
  Number(source.headers["content-length"]) > RequestBody.BODY_BYTES_MAX
    ? Effect.succeed("too-large")
    : Effect.catch(
        RequestBody.readEffect(source, response, budget, () => address),
        (unread) => (unread === "cut" ? Effect.interrupt : Effect.succeed(unread))
      )

/** Runs the calls of a body. One that is not UTF-8 has none: other text than its client meant would be in their place. */
const run = (connection: Connection, send: (text: string) => Effect.Effect<void>, body: Buffer | undefined) => {
  try {
    return connection.run(decoder.decode(body))
  } catch {
    return send(defectText("expected a body in UTF-8"))
  }
}

/** Answers a request of calls. */
export const answer = (server: CallServer) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const scope = yield* Effect.scope
    const source = request.source as IncomingMessage
    const context = Context.getOrUndefined(yield* Effect.context(), RequestContext)
    const address = context?.clientIp ?? source.socket.remoteAddress ?? ""
    const body = yield* bodyOf(source, NodeHttpServerRequest.toServerResponse(request), yield* InboundBudget, address)
    if (body === "too-large") return tooLarge(context?.id)
    const queue = yield* Queue.bounded<Uint8Array, Cause.Done>(PARTS_MAX)
    const send = (text: string) => Effect.asVoid(Queue.offer(queue, encoder.encode(text)))
    const connection = server.open({
      peer: peerOf(request),
      headers: Object.entries(request.headers) as Array<[string, string]>,
      load: loadOf(source.socket),
      send,
      ended: Effect.asVoid(Queue.end(queue)),
      answered: () => {}
    })
    yield* Scope.addFinalizer(
      scope,
      Effect.suspend(() => {
        server.close(connection)
        return Queue.shutdown(queue)
      })
    )
    // the calls continue while the client reads the answers, which wait for room in the queue
    yield* Effect.forkIn(Effect.andThen(run(connection, send, body), connection.eof), scope)
    const first = yield* Effect.interruptible(Pull.catchDone(Queue.takeAll(queue), () => Effect.succeed([])))
    if (queue.state._tag === "Done") return HttpServerResponse.uint8Array(Buffer.concat(first), { contentType })
    return HttpServerResponse.stream(Stream.concat(Stream.fromArray(first), Stream.fromQueue(queue)), { contentType })
  })
