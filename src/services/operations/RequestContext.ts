/**
 * The request that is being served, as far as services and adapters may know it. A door puts it into the context under
 * this key, with whatever more the door itself needs: one entry, seen as less from further inside.
 */
import { Context } from "effect"

export const REQUEST_KEY = "gateway/services/RequestInHand"

export class RequestContext extends Context.Service<
  RequestContext,
  {
    /** `X-Request-Id`: 1 to 64 of `[A-Za-z0-9_-]`. */
    readonly id: string
  }
>()(REQUEST_KEY) {}
