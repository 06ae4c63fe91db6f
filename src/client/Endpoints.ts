/** The endpoints of the REST API as functions, with signatures and repeats. */
import { Effect, Layer } from "effect"
import { HttpClientRequest, type HttpClientResponse } from "effect/http"
import { HttpApi, HttpApiClient, HttpApiMiddleware } from "effect/http-api"
import { Api } from "../http/api/Api.ts"
import { AdminAccess, BearerOnly, BearerOrApiKey } from "../http/api/Security.ts"
import * as OverloadRetry from "./OverloadRetry.ts"

// a field that the gateway does not take is an error: dropped, an order with `reduceOnly` would open a position
const strict = { onExcessProperty: "error" } as const
const StrictApi = Api.annotate(HttpApi.PayloadParseOptions, strict).annotate(HttpApi.QueryParseOptions, strict)

export type Endpoints = HttpApiClient.ForApi<typeof Api>
export type Sign = (request: HttpClientRequest.HttpClientRequest) => HttpClientRequest.HttpClientRequest

/** Sends a request, again where the gateway is overloaded. */
type WithRetry = <E, R>(
  next: (request: HttpClientRequest.HttpClientRequest) => Effect.Effect<HttpClientResponse.HttpClientResponse, E, R>,
  request: HttpClientRequest.HttpClientRequest
) => Effect.Effect<HttpClientResponse.HttpClientResponse, E, R>

/** Credentials of HTTP Basic. */
export interface Admin {
  readonly username: string
  readonly password: string
}

export const makeEndpoints = (baseUrl: string, sign: Sign, admin: Admin | undefined) => {
  // a nonce is valid for one request, so each attempt is signed separately
  const withRetry: WithRetry = (next, request) => OverloadRetry.untilAdmitted(Effect.suspend(() => next(sign(request))))
  return HttpApiClient.make(StrictApi, { baseUrl }).pipe(
    Effect.provide(
      Layer.mergeAll(
        HttpApiMiddleware.layerClient(BearerOrApiKey, ({ next, request }) => withRetry(next, request)),
        HttpApiMiddleware.layerClient(BearerOnly, ({ next, request }) => withRetry(next, request)),
        HttpApiMiddleware.layerClient(AdminAccess, ({ next, request }) =>
          next(admin === undefined ? request : HttpClientRequest.basicAuth(request, admin.username, admin.password))
        )
      )
    )
  )
}
