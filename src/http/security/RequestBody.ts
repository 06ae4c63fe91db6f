/**
 * The door of every endpoint: takes the body in, lets the checks behind it decide, and answers every failure.
 *
 * The body is read before anybody asks who is calling, since a signature may cover it; it is judged (as JSON, against
 * the schema) only after the credentials, when the endpoint asks for its text.
 * Source: docs/contract/conventions.md#json-and-http, docs/contract/rest.md#order-of-the-checks.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Context, Effect, Layer } from "effect"
import { HttpRouter, type HttpServerError, HttpServerRequest } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { IncomingMessage } from "node:http"
import { InboundBudget } from "../../services/operations/InboundBudget.ts"
import * as RequestBody from "../../services/operations/RequestBody.ts"
import * as ErrorResponse from "../ErrorResponse.ts"
import { RequestBodyMiddleware, NullCounts } from "../api/Security.ts"
import { FastRequest } from "../fast/FastRequest.ts"
import * as NearestName from "../NearestName.ts"
import * as Query from "../Query.ts"
import { CurrentRequest, type RequestState } from "../RequestState.ts"
import * as StrictJson from "../StrictJson.ts"
import { ofReason, type WireError } from "../WireError.ts"

const NO_BODY = new Uint8Array()
const tooLarge = ofReason("BodyTooLarge")
const wrongType = ofReason("WrongMediaType")

const JSON_TYPE = /^application\/json(?:\s*;\s*charset\s*=\s*"?utf-8"?)?\s*$/iu

/** The bytes of a body: of a request that has arrived as a whole, or of Node's. */
const bytesOf = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<Uint8Array, WireError | HttpServerError.HttpServerError> => {
  const { source } = request
  if ((request as unknown) instanceof FastRequest || !(source instanceof IncomingMessage)) {
    return Effect.map(request.arrayBuffer, (buffer) => new Uint8Array(buffer))
  }
  return Effect.withFiber((fiber) => {
    if (source.headers.expect !== undefined) NodeHttpServerRequest.toServerResponse(request).writeContinue()
    return Effect.catch(RequestBody.readEffect(source, Context.get(fiber.context, InboundBudget)), (unread) =>
      // nobody is left to answer where it was cut
      unread === "too-large" ? Effect.fail(tooLarge) : Effect.interrupt
    ).pipe(Effect.map((body) => body ?? NO_BODY))
  })
}

const readBody = (
  request: HttpServerRequest.HttpServerRequest,
  state: RequestState
): Effect.Effect<void, WireError | HttpServerError.HttpServerError> | undefined => {
  const { headers } = request
  const length = headers["content-length"]
  const chunked = headers["transfer-encoding"] !== undefined
  if ((length === undefined || length === "0") && !chunked) return undefined
  if (Number(length) > RequestBody.BODY_BYTES_MAX) return Effect.fail(tooLarge)
  return Effect.flatMap(bytesOf(request), (buffer) => {
    if (buffer.byteLength === 0) return Effect.void
    const type = headers["content-type"]
    if (
      (type !== undefined && type !== "application/json" && !JSON_TYPE.test(type)) ||
      headers["content-encoding"] !== undefined
    ) {
      return Effect.fail(wrongType)
    }
    state.body = buffer
    return Effect.void
  })
}

const fieldsOf = (payload: HttpApiEndpoint.PayloadMap): ReadonlySet<string> =>
  NearestName.fieldsOf([...payload.values()].flatMap((body) => ("schemas" in body ? body.schemas : [])))

/**
 * From now on the text of this request is its body made strict, or the refusal of it. The property is laid over the one
 * of the class, unless the request has one of its own: a copy of it would cost more than the rest of the door.
 */
const makeStrict = (
  request: HttpServerRequest.HttpServerRequest,
  state: RequestState,
  keepNull: boolean,
  payload: HttpApiEndpoint.PayloadMap
): void => {
  const text = Effect.suspend(() => {
    const read = StrictJson.parse(state.body, keepNull)
    if (read instanceof StrictJson.BadJson) return Effect.die(ErrorResponse.badBody(read, () => fieldsOf(payload)))
    state.input = read.value
    return Effect.succeed(read.text)
  })
  if (Object.hasOwn(request, "text")) (request as { -readonly [K in "text"]: (typeof request)[K] }).text = text
  else Object.defineProperty(request, "text", { value: text })
}

/** Fails if the query is no sound query; asked for after the credentials are known to be good. */
export const soundQuery = (state: RequestState) =>
  state.query instanceof StrictJson.BadJson ? Effect.fail(ErrorResponse.badShape(state.query)) : undefined

export const layer = Layer.succeed(
  RequestBodyMiddleware,
  RequestBodyMiddleware.of((endpoint, options) => {
    const takesBody = options.endpoint.payload.size > 0
    const keepNull = Context.get(options.endpoint.annotations, NullCounts)
    // the checks of who may call come first, and look at the query at their end
    const isChecked = options.endpoint.middlewares.size > 1
    return Effect.withFiber((fiber) => {
      const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
      const state = Context.getUnsafe(fiber.context, CurrentRequest)
      const query = Query.parse(request.url, options.endpoint.query)
      state.query = query
      if (options.endpoint.params !== undefined) {
        state.params = Context.getUnsafe(fiber.context, HttpRouter.RouteContext).params
      }
      let served: typeof endpoint = endpoint
      // as few additions to the context as can be: each is paid by every request
      if (query !== Query.NONE && !(query instanceof StrictJson.BadJson)) {
        served = Effect.provideService(
          served,
          HttpServerRequest.ParsedSearchParams,
          query as Record<string, string | Array<string>>
        )
      }
      if (takesBody) makeStrict(request, state, keepNull, options.endpoint.payload)
      else state.input = query
      const reading = readBody(request, state)
      // whatever fails is answered here, so that it is no error of the endpoint any more
      const checked = isChecked ? served : ((soundQuery(state) as typeof served | undefined) ?? served)
      const whole = reading === undefined ? checked : Effect.andThen(reading as Effect.Effect<void>, checked)
      return Effect.catchCause(whole, (cause) => ErrorResponse.ofCause(cause, state))
    })
  })
)
