/**
 * GET /metrics: for those on this machine, unless it is opened to all; to others there is no such path.
 * Source: docs/contract/rest.md#service-endpoints.
 */
import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Metrics } from "../services/Metrics.ts"
import * as ErrorResponse from "./ErrorResponse.ts"
import { CurrentRequest } from "./RequestState.ts"
import { ofReason } from "./WireError.ts"

export const METRICS_PATH = "/metrics"
const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
const noSuchRoute = ofReason("NoSuchRoute")

const isLoopback = (address: string): boolean => address === "::1" || address.startsWith("127.")

export const layer = (options: { readonly metricsPublic: boolean; readonly trustedProxies: number }) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const metrics = yield* Metrics
      const answer = Effect.gen(function* () {
        const state = yield* CurrentRequest
        const { headers } = yield* HttpServerRequest.HttpServerRequest
        // a proxy on this machine that is not configured may forward clients from anywhere
        const isHidden = options.trustedProxies === 0 && headers["x-forwarded-for"] !== undefined
        const isHere = !isHidden && isLoopback(state.clientIp)
        if (!options.metricsPublic && !isHere) return ErrorResponse.write(state, noSuchRoute)
        return HttpServerResponse.text(yield* metrics.text, { contentType: CONTENT_TYPE })
      })
      yield* router.add("GET", METRICS_PATH, answer)
    })
  )
