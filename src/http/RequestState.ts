/** One request as the gateway sees it, from its first byte to the headers of its answer. */
import { Context, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { Rate } from "../services/RateLimiter.ts"

const CLIENT_REQUEST_ID = /^[A-Za-z0-9_-]{1,64}$/u

export class RequestState {
  /** Echoed in `X-Request-Id` and in error bodies. */
  readonly id: string
  readonly clientIp: string
  /** Bytes of the body; `undefined`: the request has none. */
  body: Uint8Array | undefined = undefined
  /** The body as parsed, or the query: what a refused field is looked up in. */
  input: unknown = undefined
  /** The query, or why it is refused. */
  query: unknown = undefined
  /** What the tightest bucket says; told in the headers of every limited answer. */
  rate: Rate | undefined = undefined
  /** Credentials that a 401 asks for. */
  challenge = "Bearer"
  /** Age of market data in ms, told while the backend is away. */
  dataAge: number | undefined = undefined
  /** Seconds that an answer may be cached; 0: not at all. */
  maxAge = 0

  constructor(request: HttpServerRequest.HttpServerRequest, trustedProxies: number) {
    const asked = request.headers["x-request-id"]
    this.id = asked !== undefined && CLIENT_REQUEST_ID.test(asked) ? asked : crypto.randomUUID()
    this.clientIp = clientIpOf(request, trustedProxies)
  }
}

/** The state of the request in hand. */
export class CurrentRequest extends Context.Service<CurrentRequest, RequestState>()("gateway/http/CurrentRequest") {}

const MAPPED = "::ffff:"

/** The socket's address, or the `trustedProxies`-th X-Forwarded-For from the right. Source: contract 7. */
const clientIpOf = (request: HttpServerRequest.HttpServerRequest, trustedProxies: number): string => {
  const forwarded = trustedProxies === 0 ? undefined : request.headers["x-forwarded-for"]
  const hops = forwarded?.split(",")
  const address =
    hops?.[hops.length - trustedProxies]?.trim() || Option.getOrElse(request.remoteAddress, () => "127.0.0.1")
  return address.startsWith(MAPPED) ? address.slice(MAPPED.length) : address
}
