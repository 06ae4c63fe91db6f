/** The state of one request, from its first byte to the headers of its response. */
import { Context, type Effect, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { Administrator } from "../domain/Administrator.ts"
import { clientIpOf } from "../domain/ClientIp.ts"
import { valueAt } from "../domain/InputText.ts"
import type { Caller } from "../domain/User.ts"
import type { AuthError, SignatureReason } from "../services/identity/AuthErrors.ts"
import type { Rate } from "../services/operations/RateLimiter.ts"
import { REQUEST_KEY } from "../services/operations/RequestContext.ts"
import * as Query from "./Query.ts"
import { writtenAt } from "./StrictJson.ts"

const CLIENT_REQUEST_ID = /^[A-Za-z0-9_-]{1,64}$/u

export class RequestState {
  /** Echoed in `X-Request-Id` and in error bodies. */
  readonly id: string
  readonly clientIp: string
  /** Bytes of the body; `undefined`: the request has none. */
  body: Uint8Array | undefined = undefined
  /** The body as parsed, or the query: where {@link valueOf} looks first. */
  input: unknown = undefined
  /** The query, or why it is refused; `undefined`: it is not read yet. */
  query: Query.Query | undefined = undefined
  /** The parameters of the path, decoded. */
  params: unknown = undefined
  /** The caller whose credentials the checks accepted. */
  caller: Caller | undefined = undefined
  /** Claims the nonce of the caller's signature, which is due after the rate. */
  claimNonce: Effect.Effect<void, AuthError<SignatureReason>> | undefined = undefined
  /** The administrator whose password the checks accepted. */
  administrator: Administrator | undefined = undefined
  /** State of the fullest bucket, for the rate headers of the response. */
  rate: Rate | undefined = undefined
  /** `WWW-Authenticate` of a 401. */
  challenge = "Bearer"
  /** Age of market data in ms while the backend is unhealthy: the header X-Data-Age-Ms. */
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
      // first the query, whose lists are split at commas
      (this.query === undefined ? undefined : Query.valueAt(this.query, field)) ??
      writtenAt(this.input, field, this.body) ??
      valueAt(this.params, field)
    )
  }
}

/** The state of the current request. Services see its id, as `RequestInHand`. */
export class CurrentRequest extends Context.Service<CurrentRequest, RequestState>()(REQUEST_KEY) {}
