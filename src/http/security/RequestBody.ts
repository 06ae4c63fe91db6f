/**
 * The outermost middleware of every endpoint: it runs the checks, gives the endpoint its input, and answers every failure.
 *
 * Source: docs/contract/conventions.md#json-and-http, docs/contract/rest.md#order-of-the-checks.
 */
import { Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import * as ErrorResponse from "../ErrorResponse.ts"
import { RequestBodyMiddleware, NullCounts } from "../api/Security.ts"
import * as NearestName from "../../domain/NearestName.ts"
import * as Query from "../Query.ts"
import { CurrentRequest, type RequestState } from "../RequestState.ts"
import * as StrictJson from "../StrictJson.ts"
import { Checks } from "./Checks.ts"

const fieldsOf = (payload: HttpApiEndpoint.PayloadMap): ReadonlySet<string> =>
  NearestName.fieldsOf([...payload.values()].flatMap((body) => ("schemas" in body ? body.schemas : [])))

/**
 * Replaces the text of a request by its body as strict JSON, or by the refusal of it. The property is laid over the one of the
 * class, unless the request has one of its own: a copy of the request would cost more than all checks.
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

export const layer = Layer.effect(
  RequestBodyMiddleware,
  Effect.map(Checks, (checks) =>
    RequestBodyMiddleware.of((served, { endpoint }) => {
      const takesBody = endpoint.payload.size > 0
      const keepNull = Context.get(endpoint.annotations, NullCounts)
      const check = checks.of(endpoint)
      return Effect.withFiber((fiber) => {
        const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        const state = Context.getUnsafe(fiber.context, CurrentRequest)
        const query = (state.query = Query.parse(request.url, endpoint.query))
        if (endpoint.params !== undefined) {
          state.params = Context.getUnsafe(fiber.context, HttpRouter.RouteContext).params
        }
        if (takesBody) makeStrict(request, state, keepNull, endpoint.payload)
        else state.input = query
        const verdict = check(request, state)
        if (verdict !== undefined && !Effect.isEffect(verdict))
          return Effect.succeed(ErrorResponse.write(state, verdict))
        // as few additions to the context as possible: every request pays for each
        const withQuery =
          query === Query.NONE || query instanceof StrictJson.BadJson
            ? served
            : Effect.provideService(served, HttpServerRequest.ParsedSearchParams, query)
        const whole = verdict === undefined ? withQuery : Effect.andThen(verdict, withQuery)
        // every failure is answered here, so that it is no error of the endpoint any more
        return Effect.catchCause(whole, (cause) => ErrorResponse.ofCause(cause, state))
      })
    })
  )
).pipe(Layer.provide(Checks.layer))
