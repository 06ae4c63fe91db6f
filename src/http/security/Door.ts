/**
 * The door of every endpoint: takes the body in, lets the checks behind it decide, and answers every failure.
 *
 * The body is read before anybody asks who is calling, since a signature may cover it; it is judged (as JSON, against
 * the schema) only after the credentials, when the endpoint asks for its text. Source: contract 1.1, 3.
 */
import { ByteSize, Context, Effect, Layer } from "effect"
import { HttpIncomingMessage, HttpServerError, HttpServerRequest } from "effect/http"
import * as Answer from "../Answer.ts"
import { BodyTooLarge, WrongMediaType } from "../api/Errors.ts"
import { Door, NullCounts } from "../api/Security.ts"
import * as Query from "../Query.ts"
import { CurrentRequest, type RequestState } from "../RequestState.ts"
import * as StrictJson from "../StrictJson.ts"

/** Largest body that is read. */
export const BODY_BYTES_MAX = 256 * 1024

const tooLarge = BodyTooLarge.make({ message: "the body is larger than 256 KiB" })
const wrongType = WrongMediaType.make({ message: "the body must be application/json in UTF-8" })

const JSON_TYPE = /^application\/json(?:\s*;\s*charset\s*=\s*"?utf-8"?)?\s*$/iu

const readBody = (
  request: HttpServerRequest.HttpServerRequest,
  state: RequestState
): Effect.Effect<void, BodyTooLarge | WrongMediaType | HttpServerError.HttpServerError> | undefined => {
  const { headers } = request
  const length = headers["content-length"]
  if ((length === undefined || length === "0") && headers["transfer-encoding"] === undefined) return undefined
  if (Number(length) > BODY_BYTES_MAX) return Effect.fail(tooLarge)
  return request.arrayBuffer.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.fromInputUnsafe(BODY_BYTES_MAX)),
    Effect.mapError((error) =>
      error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge" ? tooLarge : error
    ),
    Effect.flatMap((buffer) => {
      if (buffer.byteLength === 0) return Effect.void
      const type = headers["content-type"]
      if ((type !== undefined && !JSON_TYPE.test(type)) || headers["content-encoding"] !== undefined) {
        return Effect.fail(wrongType)
      }
      state.body = new Uint8Array(buffer)
      return Effect.void
    })
  )
}

/** The request with its body taken in: its text is the body made strict, or the refusal of it. */
const admitted = (
  request: HttpServerRequest.HttpServerRequest,
  state: RequestState,
  keepNull: boolean
): HttpServerRequest.HttpServerRequest =>
  Object.create(request, {
    text: {
      value: Effect.suspend(() => {
        const read = StrictJson.parse(state.body, keepNull)
        if (read instanceof StrictJson.BadJson) return Effect.die(Answer.badShape(read))
        state.input = read
        return Effect.succeed(JSON.stringify(read))
      })
    },
    headers: { value: request.headers }
  }) as HttpServerRequest.HttpServerRequest

/** Fails if the query is no sound query; asked for after the credentials are known to be good. */
export const soundQuery = (state: RequestState) =>
  state.query instanceof StrictJson.BadJson ? Effect.fail(Answer.badShape(state.query)) : undefined

export const layer = Layer.succeed(
  Door,
  Door.of((endpoint, options) => {
    const takesBody = options.endpoint.payload.size > 0
    const keepNull = Context.get(options.endpoint.annotations, NullCounts)
    return Effect.withFiber((fiber) => {
      const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
      const state = Context.getUnsafe(fiber.context, CurrentRequest)
      const query = Query.parse(request.url)
      state.query = query
      let context = Context.add(
        fiber.context,
        HttpServerRequest.ParsedSearchParams,
        query instanceof StrictJson.BadJson ? {} : (query as Record<string, string | Array<string>>)
      )
      if (takesBody)
        context = Context.add(context, HttpServerRequest.HttpServerRequest, admitted(request, state, keepNull))
      else state.input = query
      const served = Effect.provideContext(endpoint, context as Context.Context<never>)
      const reading = readBody(request, state)
      // whatever fails is answered here, so that it is no error of the endpoint any more
      const whole = reading === undefined ? served : Effect.andThen(reading as Effect.Effect<void>, served)
      return Effect.catchCause(whole, (cause) => Answer.ofCause(cause, state))
    })
  })
)
