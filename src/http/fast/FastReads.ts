/**
 * Public market data on the fast path, from memory. The text of a response is kept while the market view has the revision that it
 * was made of. It is sent again without a fiber, with its own headers, after the same checks. Its `ts`, the time of the response,
 * is written anew. Nothing is taken from memory where the rate is counted by another server, or while the backend is unhealthy: the
 * response then carries the age of the data, or the refusal.
 * Source: docs/contract/rest-market.md, docs/contract/boundary.md#lagging.
 */
import { Clock, Context, Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { BackendHealth } from "../../services/operations/BackendHealth.ts"
import { Lru } from "../../services/operations/Lru.ts"
import type { MarketQueries } from "../../services/markets/MarketQueries.ts"
import type { MarketView } from "../../services/markets/MarketView.ts"
import type { MetricsRegistry } from "../../services/operations/MetricsRegistry.ts"
import type { RateLimiter } from "../../services/operations/RateLimiter.ts"
import * as ErrorResponse from "../ErrorResponse.ts"
import { Api } from "../api/Api.ts"
import { taggedPaths } from "../api/EtagDocuments.ts"
import { etagOf } from "../Etag.ts"
import { reads } from "../handlers/MarketHandlers.ts"
import { CurrentRequest, RequestState } from "../RequestState.ts"
import type { Check } from "../security/Check.ts"
import type { Checks } from "../security/Checks.ts"
import { asServerRequest, FastRequest } from "../FastRequest.ts"
import * as FastPath from "./FastPath.ts"

/** Responses kept, by request target; and the longest one that is kept, in characters. */
const KEPT_MAX = 512
const KEPT_CHARS_MAX = 64 * 1024

/** A response that can be sent again. */
interface Kept {
  readonly revision: number
  /** The text, split where the time of the response is written. */
  readonly parts: ReadonlyArray<string>
  readonly etag: string | undefined
  readonly maxAge: number
}

/** The time of the response itself; its other times are those of the data. */
const TS = /(?<="ts":)\d+/gu
/** Endpoints whose responses have `ts`. */
const stamped: ReadonlySet<string> = new Set(["tickers", "orderbook"])
/** Endpoints that read the market view only, so that their responses may be kept. */
const keepable: ReadonlySet<string> = new Set(["instruments", "tickers", "orderbook", "recentTrades", "kline"])

/** Whether a read has the form of nearly all reads. */
const isPlain = (request: IncomingMessage): boolean => {
  const { headers, method } = request
  return (
    method === "GET" &&
    headers.host !== undefined &&
    headers["content-length"] === undefined &&
    headers["transfer-encoding"] === undefined &&
    headers["if-none-match"] === undefined &&
    FastPath.isCodingPlain(request)
  )
}

export interface Services {
  readonly checks: Checks["Service"]
  readonly clock: Clock.Clock
  readonly limiter: RateLimiter["Service"]
  readonly markets: MarketQueries["Service"]
  readonly view: MarketView["Service"]
  readonly health: BackendHealth["Service"]
  readonly meter: MetricsRegistry
}

export const make = (services: Services, context: Context.Context<never>, trustedProxies: number) => {
  const { checks, clock, health, limiter, markets, meter, view } = services
  const mayKeepAny = limiter.takeAllNow !== undefined
  const around = FastPath.fastPathDeps(context, trustedProxies)
  const kept = new Lru<string, Kept>(KEPT_MAX)
  const lookups = meter.cache("answers")

  const routes = new Map(
    Object.entries(reads(markets)).map(([endpoint, handler]) => {
      const route = FastPath.make(Api, { group: "market", endpoint }, handler, context)
      const tagged = taggedPaths.has(route.path)
      const mayKeep = mayKeepAny && keepable.has(endpoint)
      const anew = Effect.withFiber((fiber) => {
        const state = Context.getUnsafe(fiber.context, CurrentRequest)
        const { url } = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        // a change of the market while the response is made makes it stale at once
        const revision = view.revision()
        return Effect.map(route.handled, (answer) => {
          const { text } = answer as FastPath.Done
          const etag = tagged ? etagOf(text) : undefined
          if (mayKeep && state.dataAge === undefined && text.length <= KEPT_CHARS_MAX) {
            const parts = stamped.has(endpoint) ? text.split(TS) : [text]
            kept.set(url, { revision, parts, etag, maxAge: state.maxAge })
          }
          return new FastPath.Done(text, etag)
        })
      })
      return [route.path, { served: route.guarded(anew), check: checks.of(route.endpoint) }]
    })
  )

  /** Sends a response again, with the current time; false: its checks do not answer at once. */
  const again = (
    { etag, maxAge, parts }: Kept,
    check: Check,
    source: IncomingMessage,
    response: ServerResponse
  ): boolean => {
    const request = asServerRequest(new FastRequest(source))
    const state = new RequestState(request, trustedProxies)
    around.join(context, source, state.id)
    const verdict = check(request, state)
    if (verdict !== undefined) {
      if (Effect.isEffect(verdict)) return false
      FastPath.write(response, state, ErrorResponse.write(state, verdict))
      return true
    }
    state.maxAge = maxAge
    const text = parts.length === 1 ? parts[0]! : parts.join(String(clock.currentTimeMillisUnsafe()))
    FastPath.write(response, state, new FastPath.Done(text, etag))
    return true
  }

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const url = request.url!
    const query = url.indexOf("?")
    const route = routes.get(query === -1 ? url : url.slice(0, query))
    if (route === undefined || !isPlain(request)) return false
    const found = kept.get(url)
    const isCurrent = found !== undefined && found.revision === view.revision() && !health.sequencer().unhealthy
    if (isCurrent && again(found, route.check, request, response)) lookups.hit.add()
    else {
      lookups.miss.add()
      FastPath.run(request, response, route.served, around)
    }
    return true
  }
}
