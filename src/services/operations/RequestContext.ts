/**
 * The current request, with the fields that services and adapters may use. Each server puts a larger object with its
 * own fields into the context under this key.
 */
import { Context } from "effect"

export const REQUEST_KEY = "gateway/services/RequestContext"

export class RequestContext extends Context.Service<
  RequestContext,
  {
    /** `X-Request-Id`: 1 to 64 of `[A-Za-z0-9_-]`. */
    readonly id: string
    /** Address of the client, behind trusted proxies. */
    readonly clientIp: string
  }
>()(REQUEST_KEY) {}
