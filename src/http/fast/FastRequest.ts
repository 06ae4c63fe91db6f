/**
 * A request as the checks of `http/security` see it, without the rest of the framework's: the same names over Node's own
 * object, and the body, which has arrived as a whole.
 */
import { Effect, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { IncomingMessage } from "node:http"

const NO_BODY = new Uint8Array()
const NO_TEXT = Effect.succeed("")

export class FastRequest {
  readonly source: IncomingMessage
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage["headers"]
  /** Replaced by the door with the body made strict. */
  text: Effect.Effect<string> = NO_TEXT
  private readonly body: Uint8Array
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

/** What the framework would have made of it, as far as the checks look. */
export const asServerRequest = (request: FastRequest): HttpServerRequest.HttpServerRequest =>
  request as unknown as HttpServerRequest.HttpServerRequest
