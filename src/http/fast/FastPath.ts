/**
 * The fast path to an endpoint: its schemas, its middlewares and its handler of HttpApi, run without the router, merged contexts
 * and response objects. No rule is written twice, so the response is that of HttpApi. It supports endpoints that take a JSON
 * body, a query or neither, and answer JSON.
 * Source: docs/contract/conventions.md#json-and-http, docs/contract/rest.md#order-of-the-checks; docs/decisions/0009.
 */
import { Context, Effect, Fiber, identity, Schema, Tracer } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { type HttpApi, type HttpApiEndpoint, HttpApiError, type HttpApiGroup } from "effect/http-api"
import type { IncomingMessage, ServerResponse } from "node:http"
import { gzip } from "node:zlib"
import * as Tracing from "../../services/operations/Tracing.ts"
import { acceptsGzip } from "../Documents.ts"
import { fieldsOf, GZIP_BYTES_MIN, headersOf } from "../Headers.ts"
import { CurrentRequest, RequestState } from "../RequestState.ts"
import { asServerRequest, FastRequest } from "../FastRequest.ts"

/** A successful response: the text of a JSON body, and header fields beside those of every response. */
export class Done {
  readonly text: string
  readonly etag: string | undefined
  constructor(text: string, etag?: string) {
    this.text = text
    this.etag = etag
  }
}

/** A response: a body, or the error response that the outermost middleware made of a failure. */
export type FastResponse = Done | HttpServerResponse.HttpServerResponse

/** An endpoint that is ready to run. It takes the request and its state from the context. */
export interface FastPath {
  readonly endpoint: HttpApiEndpoint.Top
  readonly path: string
  /** The handler between its schemas, without the checks of who may call it. */
  readonly handled: Effect.Effect<unknown, unknown>
  /** Puts the middlewares of the endpoint around what answers it. */
  readonly guarded: (handled: Effect.Effect<unknown, unknown>) => Effect.Effect<FastResponse>
}

type Middleware = (
  served: Effect.Effect<unknown, unknown>,
  options: { readonly group: HttpApiGroup.Top; readonly endpoint: HttpApiEndpoint.Top }
) => Effect.Effect<unknown>
type Handler = (request: unknown) => Effect.Effect<unknown, unknown>
type Codec = Schema.Codec<unknown>

const JSON_TYPE = "application/json"
const { wrap } = HttpApiError.HttpApiSchemaError

/** Decodes the input of an endpoint. */
const decoderOf = ({
  payload,
  query
}: HttpApiEndpoint.Top): ((state: RequestState) => Effect.Effect<unknown, unknown>) => {
  const body = payload.get(JSON_TYPE)?.schemas[0]
  if (body !== undefined) {
    const decode = Schema.decodeUnknownEffect(body as unknown as Codec)
    return (state) => Effect.map(wrap("Payload", decode(state.input)), (payload) => ({ payload }))
  }
  if (query !== undefined) {
    const decode = Schema.decodeUnknownEffect(Schema.toCodecArrayFromSingle(query) as unknown as Codec)
    return (state) => Effect.map(wrap("Query", decode(state.query)), (query) => ({ query }))
  }
  return () => Effect.succeed({})
}

/** Builds the fast path to an endpoint. `context` holds its middlewares. */
export const make = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  names: { readonly group: string; readonly endpoint: string },
  handler: unknown,
  context: Context.Context<never>
): FastPath => {
  const group = (api.groups as unknown as Record<string, HttpApiGroup.Top>)[names.group]!
  const endpoint = (group.endpoints as unknown as Record<string, HttpApiEndpoint.Top>)[names.endpoint]!
  const [success] = endpoint.success
  const decode = decoderOf(endpoint)
  const encode = Schema.encodeUnknownEffect(success as unknown as Codec)
  const answer = handler as Handler
  const takesBody = endpoint.payload.size > 0

  const handled = Effect.withFiber((fiber) => {
    const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
    const state = Context.getUnsafe(fiber.context, CurrentRequest)
    // the outermost middleware has replaced `text` by the body as strict JSON
    const input = takesBody ? Effect.flatMap(request.text, () => decode(state)) : decode(state)
    return Effect.flatMap(input, (decoded) =>
      Effect.flatMap(answer(decoded), (result) =>
        Effect.map(wrap("Body", encode(result)), (encoded) => new Done(JSON.stringify(encoded)))
      )
    )
  })
  const guarded = (handled: Effect.Effect<unknown, unknown>) => {
    let served = handled
    for (const key of endpoint.middlewares) {
      const middleware = Context.getUnsafe(context, key as unknown as Context.Key<never, Middleware>)
      served = middleware(served, { group, endpoint })
    }
    return served as Effect.Effect<FastResponse>
  }
  return { endpoint, path: endpoint.path, handled, guarded }
}

const end = (response: ServerResponse, status: number, fields: Array<string>, body: string | Uint8Array) => {
  const length = Buffer.byteLength(body)
  fields.push("content-type", JSON_TYPE, "content-length", String(length), "vary", "Accept-Encoding")
  response.writeHead(status, fields)
  // head and body go out as one text; one of ASCII is copied faster
  if (typeof body === "string") response.end(body, length === body.length ? "latin1" : "utf8")
  else response.end(body)
}

/** Header fields of a refusal: those of its own beside those of every answer. */
const refusalFields = (state: RequestState, { headers, status }: HttpServerResponse.HttpServerResponse) => {
  const { "content-length": _, "content-type": __, ...own } = headers
  return Object.entries({ ...own, ...headersOf(state, status) }).flat()
}

/** Writes a response, compressed where the client accepts it and the body is large enough. */
export const write = (response: ServerResponse, state: RequestState, answer: FastResponse): void => {
  if (response.destroyed) return
  const done = answer instanceof Done
  const status = done ? 200 : answer.status
  const fields = done ? fieldsOf(state, 200) : refusalFields(state, answer)
  const etag = done ? answer.etag : undefined
  const body = done ? answer.text : answer.body._tag === "Uint8Array" ? answer.body.body : ""
  if (body.length < GZIP_BYTES_MIN || !acceptsGzip(response.req.headers["accept-encoding"])) {
    if (etag !== undefined) fields.push("etag", etag)
    return end(response, status, fields, body)
  }
  gzip(body, (error, packed) => {
    if (response.destroyed) return
    if (etag !== undefined) fields.push("etag", error === null ? `W/${etag}` : etag)
    if (error !== null) return end(response, status, fields, body)
    fields.push("content-encoding", "gzip")
    end(response, status, fields, packed)
  })
}

/** An error response whose body is complete up to the id of the request. */
export interface Ready {
  readonly status: number
  readonly head: string
  readonly retryAfter: string
}

/** Writes an error response that was prepared before its request. */
export const refuse = (response: ServerResponse, state: RequestState, { head, retryAfter, status }: Ready): void => {
  const fields = fieldsOf(state, status)
  fields.push("retry-after", retryAfter)
  end(response, status, fields, `${head}${state.id}"}`)
}

/** Whether the Accept-Encoding of a request has no weights, so that the fast path can read it. */
export const isCodingPlain = (request: IncomingMessage): boolean =>
  request.headers["accept-encoding"]?.toString().includes(";") !== true

/** What all requests of the fast path share. */
export interface FastPathDeps {
  readonly context: Context.Context<never>
  readonly join: Join
  readonly trustedProxies: number
}

/** Adds the span of a request to its context, if it has one. */
type Join = (context: Context.Context<never>, source: IncomingMessage, id: string) => Context.Context<never>

const joinSpan: Join = (context, source, id) => {
  const span = Tracing.ofRequest(source, id)
  return span === undefined ? context : Context.add(context, Tracer.ParentSpan, span)
}

/** Requests join their spans where a tracer is installed; else nothing runs for it. */
export const fastPathDeps = (context: Context.Context<never>, trustedProxies: number): FastPathDeps => ({
  context,
  join: Context.get(context, Tracing.CurrentTracer) === undefined ? identity : joinSpan,
  trustedProxies
})

/** Serves a request whose body has arrived. */
export const run = (
  source: IncomingMessage,
  response: ServerResponse,
  served: Effect.Effect<FastResponse>,
  { context, join, trustedProxies }: FastPathDeps,
  body?: Uint8Array
): void => {
  const request = asServerRequest(new FastRequest(source, body))
  const state = new RequestState(request, trustedProxies)
  const fiber = Effect.runForkWith(
    Context.add(
      Context.add(join(context, source, state.id), HttpServerRequest.HttpServerRequest, request),
      CurrentRequest,
      state
    )
  )(Effect.map(served, (answer) => write(response, state, answer)))
  if (fiber.pollUnsafe() !== undefined) return
  // the client has disconnected: a command that is not written yet is withdrawn
  response.on("close", () => {
    if (!response.writableEnded) Effect.runFork(Fiber.interrupt(fiber))
  })
}
