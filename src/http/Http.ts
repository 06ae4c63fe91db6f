/**
 * Every route as one Layer: the API, its document and its explorer, and the market page, inside the envelope that all answers
 * share.
 *
 * Source: docs/contract/conventions.md#json-and-http, #errors, docs/contract/rest.md.
 */
import { Context, Effect, identity, Layer, Tracer } from "effect"
import { HttpMiddleware, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { unhandled } from "effect/Types"
import { pathOf } from "../domain/RequestTarget.ts"
import * as ErrorResponse from "./ErrorResponse.ts"
import { Api } from "./api/Api.ts"
import { OPENAPI_PATH, taggedPaths } from "./api/EtagDocuments.ts"
import { openApi } from "./api/OpenApiDocument.ts"
import * as AccessCodesHandlers from "./handlers/AccessCodesHandlers.ts"
import * as AccessHandlers from "./handlers/AccessHandlers.ts"
import * as AccountHandlers from "./handlers/AccountHandlers.ts"
import * as AdminHandlers from "./handlers/AdminHandlers.ts"
import * as AuditHandlers from "./handlers/AuditHandlers.ts"
import * as AuthorizeHandlers from "./handlers/AuthorizeHandlers.ts"
import * as CompetitionHandlers from "./handlers/CompetitionHandlers.ts"
import * as ExecutionHandlers from "./handlers/ExecutionHandlers.ts"
import * as MarketHandlers from "./handlers/MarketHandlers.ts"
import * as MarketHistoryHandlers from "./handlers/MarketHistoryHandlers.ts"
import * as OrderHandlers from "./handlers/OrderHandlers.ts"
import * as PositionHandlers from "./handlers/PositionHandlers.ts"
import * as RewardHandlers from "./handlers/RewardHandlers.ts"
import * as ServiceHandlers from "./handlers/ServiceHandlers.ts"
import * as StatementHandlers from "./handlers/StatementHandlers.ts"
import * as WithdrawalAddressHandlers from "./handlers/WithdrawalAddressHandlers.ts"
import * as UserHandlers from "./handlers/UserHandlers.ts"
import * as Documents from "./Documents.ts"
import { etagOf, isKnown } from "./Etag.ts"
import { GZIP_BYTES_MIN, headersOf } from "./Headers.ts"
import * as MetricsRoute from "./MetricsRoute.ts"
import * as Page from "./Page.ts"
import { CurrentRequest, RequestState } from "./RequestState.ts"
import * as SwaggerPage from "./SwaggerPage.ts"
import * as RouteTable from "./RouteTable.ts"
import * as AccessChecks from "./security/AccessChecks.ts"
import { checkTarget } from "./security/Checks.ts"
import * as RequestBody from "./security/RequestBody.ts"
import { CALLS_PATH } from "../services/operations/RpcConnections.ts"
import { CurrentTracer, ofRequest } from "../services/operations/Tracing.ts"
import { ofReason } from "./WireError.ts"

export interface HttpOptions {
  /** Number of proxies in front of the gateway whose X-Forwarded-For is trusted. */
  readonly trustedProxies: number
  /** Documents of other modules by path, served as JSON. Each is derived once, at its first request. */
  readonly documents?: Readonly<Record<string, () => object>>
  /** Whether /metrics is for clients that are not on this machine too. */
  readonly metricsPublic?: boolean
  /** Files of the market page and of the documentation; without them there are none. */
  readonly page?: ReadonlyArray<Page.PageFile>
}

/** Paths match byte for byte, and aliases of them are refused before: signatures cover them. Give it to `HttpRouter.serve`. */
export const routerConfig = {
  caseSensitive: true,
  ignoreTrailingSlash: false,
  ignoreDuplicateSlashes: false,
  // a party id of 255 characters, each of them percent-encoded
  maxParamLength: 765
} as const

/** Repeats the headers of the preflight request: in browsers `*` does not cover `Authorization`. */
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
const upgrade = ofReason("UpgradeRequired")

/** The response to a request that matches no route. */
const unrouted = (request: HttpServerRequest.HttpServerRequest, state: RequestState, table: RouteTable.RouteTable) => {
  const path = pathOf(request.url)
  const methods = table.methodsOf(path)
  if (methods === undefined) return ErrorResponse.write(state, noSuchRoute)
  if (RouteTable.isSocket(path) && (request.method === "GET" || request.method === "HEAD")) {
    return HttpServerResponse.setHeaders(ErrorResponse.write(state, upgrade), {
      upgrade: "websocket",
      connection: "upgrade"
    })
  }
  // the method is right, but the router refused the path: a parameter is too long
  if (methods.has(request.method)) return ErrorResponse.write(state, noSuchRoute)
  const allowed = [...methods].join(", ")
  const refused = ofReason("MethodNotAllowed", {}, { message: `this path takes ${allowed}` })
  return HttpServerResponse.setHeader(ErrorResponse.write(state, refused), "allow", allowed)
}

const isRouteNotFound = (error: unknown): boolean =>
  HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound"

const etags = new WeakMap<Uint8Array, string>()
/** Adds an ETag to the response of a path that rarely changes; 304 where the client has that state. */
const tagged = (
  request: HttpServerRequest.HttpServerRequest,
  response: HttpServerResponse.HttpServerResponse
): HttpServerResponse.HttpServerResponse => {
  const { body, headers, status } = response
  if (status !== 200 || body._tag !== "Uint8Array") return response
  const etag = etags.get(body.body) ?? etagOf(body.body)
  etags.set(body.body, etag)
  if (!isKnown(request.headers["if-none-match"], etag)) return HttpServerResponse.setHeader(response, "etag", etag)
  const { "content-type": _, "content-length": __, ...kept } = headers
  return HttpServerResponse.empty({ status: 304, headers: { ...kept, etag, vary: "Accept-Encoding" } })
}
const isTagged = (path: string): boolean => taggedPaths.has(path) || path === SwaggerPage.SWAGGER_PATH

/** Gives a request its state and every answer its headers. */
const envelope = (
  options: HttpOptions,
  table: RouteTable.RouteTable,
  documentPaths: ReadonlySet<string>,
  documents: Documents.Documents
) =>
  HttpRouter.middleware(
    (app) =>
      Effect.withFiber((fiber) => {
        const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        const state = new RequestState(request, options.trustedProxies)
        const path = pathOf(request.url)
        const refused = checkTarget(request)
        if (refused !== undefined) return Effect.succeed(ErrorResponse.write(state, refused))
        if (request.method === "OPTIONS") return Effect.succeed(preflight(request, state))
        const isTraced = Context.get(fiber.context, CurrentTracer) !== undefined
        const span = isTraced ? ofRequest(request.source, state.id) : undefined
        return app.pipe(
          span === undefined ? identity : Effect.provideService(Tracer.ParentSpan, span),
          Effect.provideService(CurrentRequest, state),
          // the router wants the error channel of the routes left as it is
          Effect.catchCause((cause): Effect.Effect<HttpServerResponse.HttpServerResponse, unhandled> => {
            const found = cause.reasons.find((reason) => reason._tag === "Fail")
            return found !== undefined && isRouteNotFound(found.error)
              ? Effect.succeed(unrouted(request, state, table))
              : ErrorResponse.ofCause(cause, state)
          }),
          Effect.map((response) => HttpServerResponse.setHeaders(response, headersOf(state, response.status))),
          isTagged(path) ? Effect.map((response) => tagged(request, response)) : identity,
          documentPaths.has(path)
            ? Effect.flatMap((response) => {
                const acceptEncoding = request.headers["accept-encoding"]
                return documents({ path, acceptEncoding, address: state.clientIp }, response)
              })
            : identity
        )
      }),
    { global: true }
  )

const handlers = Layer.mergeAll(
  AuthorizeHandlers.layer,
  AccessHandlers.layer,
  MarketHandlers.layer,
  MarketHistoryHandlers.layer,
  OrderHandlers.layer,
  ExecutionHandlers.layer,
  ExecutionHandlers.offset,
  PositionHandlers.layer,
  AccountHandlers.layer,
  StatementHandlers.layer,
  WithdrawalAddressHandlers.layer,
  UserHandlers.layer,
  RewardHandlers.layer,
  CompetitionHandlers.layer,
  AdminHandlers.layer,
  AccessCodesHandlers.layer,
  AuditHandlers.layer,
  ServiceHandlers.layer
)

/** The envelope provides the state of every request, so it is no requirement of the layer. */
const discharged = <A, E, R>(routes: Layer.Layer<A, E, R>) =>
  routes as Layer.Layer<A, E, Exclude<R, HttpRouter.Request.From<"Requires", CurrentRequest>>>

/** Serves a document of another module. */
const given = (path: string, derive: () => object) => {
  let response: HttpServerResponse.HttpServerResponse | undefined
  return HttpRouter.add(
    "GET",
    path as HttpRouter.PathInput,
    Effect.sync(() => (response ??= HttpServerResponse.jsonUnsafe(derive())))
  )
}

const documentPathsOf = ({ documents = {} }: HttpOptions): ReadonlyArray<string> => [
  OPENAPI_PATH,
  SwaggerPage.SWAGGER_PATH,
  ...Object.keys(documents)
]

/** Every path that exists. */
export const tableOf = (options: HttpOptions): RouteTable.RouteTable =>
  RouteTable.make([
    ...RouteTable.ofApi(Api),
    ...[
      ...documentPathsOf(options),
      ...(options.page ?? []).map((file) => file.path),
      MetricsRoute.METRICS_PATH,
      ...RouteTable.socketPaths
    ].map((path) => ({ method: "GET", path })),
    { method: "POST", path: CALLS_PATH }
  ])

/** The REST surface. */
export const layer = (options: HttpOptions) => {
  const documentPaths = documentPathsOf(options)
  return discharged(
    Layer.mergeAll(
      HttpApiBuilder.layer(Api).pipe(
        Layer.provide(handlers),
        Layer.provide(AccessChecks.layer),
        Layer.provide(RequestBody.layer)
      ),
      SwaggerPage.layer,
      given(OPENAPI_PATH, openApi),
      ...Object.entries(options.documents ?? {}).map(([path, derive]) => given(path, derive)),
      MetricsRoute.layer({ metricsPublic: false, ...options }),
      Page.layer(options.page ?? []),
      HttpRouter.middleware(HttpMiddleware.compression({ algorithms: ["gzip"], minSize: GZIP_BYTES_MIN }), {
        global: true
      }),
      envelope(options, tableOf(options), new Set(documentPaths), Documents.make([...documentPaths]))
    )
  )
}
