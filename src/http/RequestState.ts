/** One request as the gateway sees it, from its first byte to the headers of its answer. */
import { Context, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { clientIpOf } from "../domain/ClientIp.ts"
import type { Rate } from "../services/operations/RateLimiter.ts"
import { REQUEST_KEY } from "../services/operations/RequestContext.ts"
import { valueAt } from "./StrictJson.ts"

const CLIENT_REQUEST_ID = /^[A-Za-z0-9_-]{1,64}$/u

export class RequestState {
  /** Echoed in `X-Request-Id` and in error bodies. */
  readonly id: string
  readonly clientIp: string
  /** Bytes of the body; `undefined`: the request has none. */
  body: Uint8Array | undefined = undefined
  /** The body as parsed, or the query: where {@link valueOf} looks first. */
  input: unknown = undefined
  /** The query, or why it is refused. */
  query: unknown = undefined
  /** The parameters of the path, decoded. */
  params: unknown = undefined
  /** What the tightest bucket says; told in the headers of every limited answer. */
  rate: Rate | undefined = undefined
  /** Credentials that a 401 asks for. */
  challenge = "Bearer"
  /** Age of market data in ms, told while the backend is away. */
  dataAge: number | undefined = undefined
  /** Since when the path is deprecated, Unix seconds; `undefined`: it is not. Source: RFC 9745. */
  deprecatedSince: number | undefined = undefined
  /** Seconds that an answer may be cached; 0: not at all. */
  maxAge = 0
  /** How an answer may be cached, where {@link maxAge} does not say it all. */
  cacheControl: string | undefined = undefined

  constructor(request: HttpServerRequest.HttpServerRequest, trustedProxies: number) {
    const asked = request.headers["x-request-id"]
    this.id = asked !== undefined && CLIENT_REQUEST_ID.test(asked) ? asked : crypto.randomUUID()
    const socketAddress = Option.getOrElse(request.remoteAddress, () => "127.0.0.1")
    this.clientIp = clientIpOf(socketAddress, request.headers["x-forwarded-for"], trustedProxies)
  }

  /** The value of a field as it was sent: of the body, the query or the path. `field` is a path such as `orders.0.qty`. */
  valueOf(field: string): unknown {
    return (
      valueAt(this.input, field, this.body) ??
      valueAt(this.query, field, undefined) ??
      valueAt(this.params, field, undefined)
    )
  }
}

/** The state of the request in hand; those further inside see its id, as `RequestInHand`. */
export class CurrentRequest extends Context.Service<CurrentRequest, RequestState>()(REQUEST_KEY) {}
