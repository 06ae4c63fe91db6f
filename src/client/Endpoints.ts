/** The endpoints of the REST API as functions, with signatures and repeats. */
import { Effect, Layer } from "effect"
import { HttpClientRequest, type HttpClientResponse } from "effect/http"
import { HttpApiClient, HttpApiMiddleware } from "effect/http-api"
import { Api } from "../http/api/Api.ts"
import { AdminAccess, BearerOnly, BearerOrApiKey } from "../http/api/Security.ts"
import * as OverloadRetry from "./OverloadRetry.ts"

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
  return HttpApiClient.make(Api, { baseUrl }).pipe(
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
