/**
 * A request for the checks of `http/security`: the members of the framework's request that they read, over Node's own object, and
 * the body, which has arrived completely.
 */
import { Effect, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { IncomingMessage } from "node:http"

const NO_BODY = new Uint8Array()
const NO_TEXT = Effect.succeed("")

export class FastRequest {
  static readonly is = (request: object): request is FastRequest => request instanceof FastRequest
  readonly source: IncomingMessage
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage["headers"]
  /** Replaced by the outermost middleware by the body as strict JSON. */
  text: Effect.Effect<string> = NO_TEXT
  /** The body; no bytes: the request has none. */
  readonly body: Uint8Array
  constructor(source: IncomingMessage, body: Uint8Array = NO_BODY) {
    this.source = source
    this.method = source.method!
    this.url = source.url!
    this.headers = source.headers
    this.body = body
  }
  get arrayBuffer(): Effect.Effect<Uint8Array> {
    return Effect.succeed(this.body)
  }
  get originalUrl(): string {
    return this.url
  }
  get remoteAddress(): Option.Option<string> {
    return Option.fromNullishOr(this.source.socket.remoteAddress)
  }
  get peerAddress(): Option.Option<string> {
    return this.remoteAddress
  }
}

/** The request as the framework would have made it, as far as the checks read it. */
export const asServerRequest = (request: FastRequest): HttpServerRequest.HttpServerRequest =>
  request as unknown as HttpServerRequest.HttpServerRequest
