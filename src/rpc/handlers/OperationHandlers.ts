/**
 * Handlers of the operations: each calls its endpoint with the credentials of the call, and returns its response. So no rule of
 * REST is repeated here.
 */
import { Context, Effect, Layer, Schema } from "effect"
import { Headers, HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient, HttpApiMiddleware } from "effect/http-api"
import type { Rpc } from "effect/rpc"
import { BadRequest, Internal } from "../../domain/ApiError.ts"
import { textOf } from "../../domain/Reason.ts"
import { Api } from "../../http/api/Api.ts"
import { BodyTooLarge, WrongMediaType } from "../../http/api/Errors.ts"
import { AdminAccess, BearerOnly, BearerOrApiKey } from "../../http/api/Security.ts"
import { ApiErrors } from "../api/Errors.ts"
import { derived, type Operation, Operations } from "../api/Operations.ts"
import { Endpoints } from "./Endpoints.ts"

/** The headers of a call that carry its credentials, as in REST. */
const CREDENTIALS = [
  "authorization",
  "x-api-key",
  "x-signature",
  "x-timestamp-ms",
  "x-nonce",
  "x-body-sha256",
  "x-request-id"
]

/** Headers of the current call. */
const CallHeaders = Context.Reference<Headers.Headers>("gateway/rpc/CallHeaders", { defaultValue: () => Headers.empty })

const credentialsOf = (headers: Headers.Headers): Record<string, string> =>
  Object.fromEntries(
    CREDENTIALS.flatMap((name) => {
      const value = headers[name]
      return value === undefined ? [] : [[name, value]]
    })
  )

/** The HTTP client below adds the credentials. */
const attached = Layer.mergeAll(
  HttpApiMiddleware.layerClient(BearerOrApiKey, ({ next, request }) => next(request)),
  HttpApiMiddleware.layerClient(BearerOnly, ({ next, request }) => next(request)),
  HttpApiMiddleware.layerClient(AdminAccess, ({ next, request }) => next(request))
)

const isApiError = Schema.is(ApiErrors)
const internal = new Internal({ message: textOf("InternalError"), details: { reason: "InternalError" } })

/** The error of a call. An error that no endpoint declares is logged, and the caller receives INTERNAL without details. */
const named = <A>(asked: Effect.Effect<A, unknown>): Effect.Effect<A, typeof ApiErrors.Type> =>
  Effect.catchCause(asked, (cause) => {
    const failed = cause.reasons.find((reason) => reason._tag === "Fail")?.error
    if (isApiError(failed)) return Effect.fail(failed)
    if (failed instanceof BodyTooLarge || failed instanceof WrongMediaType) {
      const { details = {}, message } = failed
      return Effect.fail(new BadRequest({ message, details }))
    }
    if (cause.reasons.every((reason) => reason._tag === "Interrupt")) return Effect.interrupt
    return Effect.andThen(Effect.logError("call failed", cause), Effect.fail(internal))
  })

/** The functions of the client, looked up by text. */
type Functions = Readonly<Record<string, Readonly<Record<string, (request: never) => Effect.Effect<unknown, unknown>>>>>

type Handlers = { readonly [O in Operation as O["_tag"]]: Rpc.ToHandlerFn<O, never> }

export const layer = Operations.toLayer(
  Effect.gen(function* () {
    const httpClient = HttpClient.mapRequestEffect(yield* Endpoints, (request) =>
      Effect.map(CallHeaders, (headers) => HttpClientRequest.setHeaders(request, credentialsOf(headers)))
    )
    const client = yield* HttpApiClient.makeWith(Api, { httpClient, baseUrl: "http://gateway" }).pipe(
      Effect.provide(attached)
    )
    const functions: Functions = client
    const handlers = derived.map(({ endpoint, group, rpc }) => {
      const ask = functions[group]![endpoint.identifier]!
      return [
        rpc._tag,
        (request: never, { headers }: { readonly headers: Headers.Headers }) =>
          named(Effect.provideService(ask(request), CallHeaders, headers))
      ] as const
    })
    // Sound: a procedure has the result and errors of the function that it calls (test/rpc/OperationTypes.test.ts).
    return Object.fromEntries(handlers) as unknown as Handlers
  })
)
