/**
 * Public market data, by the short way and from memory: the text of an answer is kept while the revision of the market
 * view stands that it was made of, and given out again without a fiber, with headers of its own, after the same rate
 * limit. Its `ts`, the time of the answer, is written anew. Where the limit has to be asked for over a wire, and while
 * the backend is ill, nothing is taken from memory, so that age and refusal are told.
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
import * as Refusal from "../ErrorResponse.ts"
import { Api } from "../api/Api.ts"
import { RequestBodyMiddleware, PublicAccess, RateBeside, RateInstead } from "../api/Security.ts"
import { taggedPaths } from "../api/EtagDocuments.ts"
import { etagOf } from "../Etag.ts"
import { reads } from "../handlers/MarketHandlers.ts"
import { CurrentRequest, RequestState } from "../RequestState.ts"
import { rateCharged } from "../security/AccessChecks.ts"
import { asServerRequest, FastRequest } from "./FastRequest.ts"
import * as ShortWay from "./FastPath.ts"

/** Answers kept, by request target; and the longest that is kept, in characters. */
const KEPT_MAX = 512
const KEPT_CHARS_MAX = 64 * 1024

/** An answer as it can be given out again. */
interface Kept {
  readonly revision: number
  /** The text, cut where the time of the answer goes. */
  readonly parts: ReadonlyArray<string>
  readonly etag: string | undefined
  readonly maxAge: number
}

/** Times of the answer itself; the other times in it are of the past. */
const TS = /(?<="ts":)\d+/gu
/** Endpoints whose answers tell it. */
const stamped: ReadonlySet<string> = new Set(["tickers", "orderbook"])
/** Endpoints that are answered from the market view and may be kept. */
const keepable: ReadonlySet<string> = new Set(["instruments", "tickers", "orderbook", "recentTrades", "kline"])

/** Whether a read is as plain as nearly all are. */
const isPlain = (request: IncomingMessage): boolean => {
  const { headers, method } = request
  return (
    method === "GET" &&
    headers.host !== undefined &&
    headers["content-length"] === undefined &&
    headers["transfer-encoding"] === undefined &&
    headers["if-none-match"] === undefined &&
    ShortWay.isCodingPlain(request)
  )
}

/** Whether rate and soundness of the query are all that is asked of a request. */
const isOpen = ({ annotations, middlewares }: ShortWay.FastPath["endpoint"]): boolean =>
  [...middlewares].every((each) => each.key === PublicAccess.key || each.key === RequestBodyMiddleware.key) &&
  Context.get(annotations, RateBeside) === undefined &&
  Context.get(annotations, RateInstead) === undefined

export interface Services {
  readonly clock: Clock.Clock
  readonly limiter: RateLimiter["Service"]
  readonly markets: MarketQueries["Service"]
  readonly view: MarketView["Service"]
  readonly health: BackendHealth["Service"]
  readonly meter: MetricsRegistry
}

export const make = (services: Services, context: Context.Context<never>, trustedProxies: number) => {
  const { clock, health, limiter, markets, meter, view } = services
  const { takeNow } = limiter
  const around = ShortWay.fastPathDeps(context, trustedProxies)
  const kept = new Lru<string, Kept>(KEPT_MAX)
  const lookups = meter.cache("answers")

  const ways = new Map(
    Object.entries(reads(markets)).map(([endpoint, handler]) => {
      const way = ShortWay.make(Api, { group: "market", endpoint }, handler, context)
      const tagged = taggedPaths.has(way.path)
      const mayKeep = keepable.has(endpoint) && isOpen(way.endpoint)
      const anew = Effect.withFiber((fiber) => {
        const state = Context.getUnsafe(fiber.context, CurrentRequest)
        const { url } = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        // what moves while the answer is made makes it old at once
        const revision = view.revision()
        return Effect.map(way.handled, (answer) => {
          const { text } = answer as ShortWay.Done
          const etag = tagged ? etagOf(text) : undefined
          if (mayKeep && state.dataAge === undefined && text.length <= KEPT_CHARS_MAX) {
            const parts = stamped.has(endpoint) ? text.split(TS) : [text]
            kept.set(url, { revision, parts, etag, maxAge: state.maxAge })
          }
          return new ShortWay.Done(text, etag)
        })
      })
      return [way.path, way.guarded(anew)]
    })
  )

  /** Gives an answer out again, with the time of now. */
  const again = (
    { etag, maxAge, parts }: Kept,
    take: NonNullable<typeof takeNow>,
    request: IncomingMessage,
    response: ServerResponse
  ): void => {
    const state = new RequestState(asServerRequest(new FastRequest(request)), trustedProxies)
    around.join(context, request, state.id)
    const refused = rateCharged(take("public", state.clientIp), state)
    if (refused !== undefined) return ShortWay.write(response, state, Refusal.write(state, refused))
    state.maxAge = maxAge
    const text = parts.length === 1 ? parts[0]! : parts.join(String(clock.currentTimeMillisUnsafe()))
    ShortWay.write(response, state, new ShortWay.Done(text, etag))
  }

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const url = request.url!
    const query = url.indexOf("?")
    const anew = ways.get(query === -1 ? url : url.slice(0, query))
    if (anew === undefined || !isPlain(request)) return false
    const found = takeNow === undefined ? undefined : kept.get(url)
    if (found !== undefined && found.revision === view.revision() && !health.sequencer().ill) {
      lookups.hit.add()
      again(found, takeNow!, request, response)
    } else {
      lookups.miss.add()
      ShortWay.run(request, response, anew, around)
    }
    return true
  }
}
