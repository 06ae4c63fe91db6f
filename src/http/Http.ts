/**
 * Every route as one Layer: the API, its document and its explorer, inside the envelope that all answers share.
 *
 * Source: contract 1.1, 1.2, 3.
 */
import { Context, Effect, identity, Layer } from "effect"
import { HttpMiddleware, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder, HttpApiSwagger } from "effect/http-api"
import { rateHeaders } from "../domain/RateHeaders.ts"
import * as Answer from "./Answer.ts"
import { Api } from "./api/Api.ts"
import * as AccountHandlers from "./handlers/AccountHandlers.ts"
import * as AdminHandlers from "./handlers/AdminHandlers.ts"
import * as AuthorizeHandlers from "./handlers/AuthorizeHandlers.ts"
import * as ExecutionHandlers from "./handlers/ExecutionHandlers.ts"
import * as MarketHandlers from "./handlers/MarketHandlers.ts"
import * as OrderHandlers from "./handlers/OrderHandlers.ts"
import * as PositionHandlers from "./handlers/PositionHandlers.ts"
import * as ServiceHandlers from "./handlers/ServiceHandlers.ts"
import * as UserHandlers from "./handlers/UserHandlers.ts"
import * as Documents from "./Documents.ts"
import { CurrentRequest, RequestState } from "./RequestState.ts"
import * as RouteTable from "./RouteTable.ts"
import * as Access from "./security/Access.ts"
import * as Door from "./security/Door.ts"
import { ofReason, WireError } from "./WireError.ts"

export interface HttpOptions {
  /** How many proxies in front are believed when they tell the client's address. */
  readonly trustedProxies: number
}

const OPENAPI_PATH = "/api-docs/openapi.json"
const SWAGGER_PATH = "/swagger-ui"
const documentPaths: ReadonlySet<string> = new Set([OPENAPI_PATH, SWAGGER_PATH])
/** Bodies above this are compressed when the client asks for it. */
const GZIP_BYTES_MIN = 1025

/** Paths match byte for byte: signatures cover them. Give it to `HttpRouter.serve`. */
export const routerConfig = {
  caseSensitive: true,
  ignoreTrailingSlash: false,
  ignoreDuplicateSlashes: false,
  // a party id of 255 characters, each of them percent-encoded
  maxParamLength: 765
} as const

const exposed = [
  "RateLimit",
  "RateLimit-Policy",
  "RateLimit-Limit",
  "RateLimit-Remaining",
  "RateLimit-Reset",
  "Retry-After",
  "X-Request-Id",
  "X-Data-Age-Ms"
].join(", ")

/** Headers that every answer carries. */
const headersOf = (state: RequestState, status: number): Record<string, string> => {
  const headers: Record<string, string> = {
    "x-request-id": state.id,
    "access-control-allow-origin": "*",
    "access-control-expose-headers": exposed,
    "cache-control": state.maxAge > 0 && status === 200 ? `max-age=${state.maxAge}` : "no-store"
  }
  if (state.dataAge !== undefined) headers["x-data-age-ms"] = String(state.dataAge)
  if (state.rate !== undefined) Object.assign(headers, rateHeaders(state.rate))
  return headers
}

/** Repeats what the preflight asks for: `*` does not cover `Authorization` in browsers. */
const preflight = (request: HttpServerRequest.HttpServerRequest, state: RequestState) => {
  const asked = request.headers["access-control-request-headers"]
  return HttpServerResponse.empty({
    status: 204,
    headers: {
      ...headersOf(state, 204),
      "access-control-allow-methods":
        request.headers["access-control-request-method"] ?? "GET, POST, PUT, PATCH, DELETE",
      ...(asked === undefined ? {} : { "access-control-allow-headers": asked }),
      "access-control-max-age": "86400",
      vary: "Access-Control-Request-Method, Access-Control-Request-Headers"
    }
  })
}

const noSuchRoute = ofReason("NoSuchRoute")
const upgrade = new WireError("BAD_REQUEST", "this path speaks WebSocket: ask for an upgrade", undefined, 426)

/** What a request that no route took is answered. */
const unrouted = (request: HttpServerRequest.HttpServerRequest, state: RequestState, table: RouteTable.RouteTable) => {
  const at = request.url.indexOf("?")
  const path = at === -1 ? request.url : request.url.slice(0, at)
  const methods = table.methodsOf(path)
  if (methods === undefined) return Answer.write(state, noSuchRoute)
  if (RouteTable.isSocket(path) && request.method === "GET") {
    return HttpServerResponse.setHeaders(Answer.write(state, upgrade), {
      upgrade: "websocket",
      connection: "upgrade"
    })
  }
  const refused = new WireError("BAD_REQUEST", `this path takes ${methods}`, undefined, 405)
  return HttpServerResponse.setHeader(Answer.write(state, refused), "allow", methods)
}

const isRouteNotFound = (error: unknown): boolean =>
  HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound"

const noHost = new WireError("BAD_REQUEST", "HTTP/1.1 needs a Host header")
/** RFC 9112, 3.2. */
const isHostMissing = ({ headers, source }: HttpServerRequest.HttpServerRequest): boolean =>
  headers["host"] === undefined && (source as { readonly httpVersion?: string }).httpVersion === "1.1"

/** Gives a request its state and every answer its headers. */
const envelope = (options: HttpOptions, table: RouteTable.RouteTable, documents: Documents.Documents) =>
  HttpRouter.middleware(
    (app) =>
      Effect.withFiber((fiber) => {
        const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        const state = new RequestState(request, options.trustedProxies)
        if (isHostMissing(request)) return Effect.succeed(Answer.write(state, noHost))
        if (request.method === "OPTIONS") return Effect.succeed(preflight(request, state))
        return app.pipe(
          Effect.provideService(CurrentRequest, state),
          Effect.catchCause((cause) => {
            const found = cause.reasons.find((reason) => reason._tag === "Fail")
            return found !== undefined && isRouteNotFound(found.error)
              ? Effect.succeed(unrouted(request, state, table))
              : Answer.ofCause(cause, state)
          }),
          Effect.map((response) => HttpServerResponse.setHeaders(response, headersOf(state, response.status))),
          documentPaths.has(request.url)
            ? Effect.flatMap((response) => documents(request.url, request.headers["accept-encoding"], response))
            : identity
        )
      }),
    { global: true }
  )

const handlers = Layer.mergeAll(
  AuthorizeHandlers.layer,
  MarketHandlers.layer,
  OrderHandlers.layer,
  ExecutionHandlers.layer,
  PositionHandlers.layer,
  AccountHandlers.layer,
  UserHandlers.layer,
  AdminHandlers.layer,
  ServiceHandlers.layer
)

/** The envelope gives every request its state, so nobody outside has to. */
const discharged = <A, E, R>(routes: Layer.Layer<A, E, R>) =>
  routes as Layer.Layer<A, E, Exclude<R, HttpRouter.Request.From<"Requires", CurrentRequest>>>

/** The REST surface. */
export const layer = (options: HttpOptions) => {
  const table = RouteTable.make([
    ...RouteTable.ofApi(Api),
    { method: "GET", path: OPENAPI_PATH },
    { method: "GET", path: SWAGGER_PATH },
    ...RouteTable.socketPaths.map((path) => ({ method: "GET", path }))
  ])
  return discharged(
    Layer.mergeAll(
      HttpApiBuilder.layer(Api, { openapiPath: OPENAPI_PATH }).pipe(
        Layer.provide(handlers),
        Layer.provide(Access.layer),
        Layer.provide(Door.layer)
      ),
      HttpApiSwagger.layer(Api, { path: SWAGGER_PATH }),
      HttpRouter.middleware(HttpMiddleware.compression({ algorithms: ["gzip"], minSize: GZIP_BYTES_MIN }), {
        global: true
      }),
      envelope(options, table, Documents.make([...documentPaths]))
    )
  )
}
